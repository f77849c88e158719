// SPDX-License-Identifier: BSD-2-Clause
// Code that means something else if a blank, an end of a line or a punctuation mark in it is read
// wrongly. packing.js makes ui/pack.awk read it. It is parsed only, never run.
import {a, b,
	c} from './a.js';
import './b.js';

// Strings.
export const quotes = ['it\'s  =  a', "say \"a , b\"", 'a // b', "/* a */ const b", '`', "`${a", '\\', "\\", '"', "'"];
const keys = {'const a': 1, "( x ) =>": 2, const: 3, 'b' : 4}; // 'not a string
const of_const = keys.const in keys + keys . const;	/* "nor this */ const after = 1;

// Templates.
const plain = `a  =  b ; // c
	const d = ( x ) => x ;
import x from 'y';
export const e = 1;

	it's  /* not a comment */ `;
const nested = `a ${ b ? `${ c + ' }` ' }  -  ${ {a : `}`} . a }` : '`' } z  ;` + `$` + `$$ {` + `$${ a }` + `\${ a  ${ `\`` } ` + `{  ${a}  }`;
const lines = `${ [1, 2].map((x) => {
	const y = { z : x };
	return `  ${ y . z } ;
  `;
}) } ;`;
const continued = `a \
	  b ; `;
tag `a  b`;

// Regular expressions and divisions.
const regexes = [/'/, /"/g, /`/, /[/'"]  +/u, /\/ '/, /[\]/ ']/, / a  b /, /\//, /(x) => y/, /const a/, /a/ .source];
const divided = a / b / c, called = f(a) / 2 / b, indexed = a[0] / 2 / 3, counted = a++ / 2 / b, held = (a) / 'x /'.length;
const tested = a ? /'  / : / "/, quotient = a.return / 2 / '/ '.length, one = 1 / 2 / 3;
if (a) /'  '/.test(b);
while (a) /"  /.test(b);
for (const x of /a  b/g [Symbol.split](a)) f(x);
const typed = typeof /'  /, inside = 'a' in /'  /, names = /a/g in b, kinds = /a/ instanceof b;
const closes = a < /script  >/.test(b), commented = a / /b  '/.c, opened = a < !--b;
a = b
	/ 2 / c;

// Blanks.
const signs = [a + +b, a - -b, a + ++b, a++ + b, a - --b, a-- - b, a+ + +b, - -a, + + a, a-- > b, a - +b];
const numbers = [1 .toString(), 1..toString(), 1. .toString(), 1.5 .toFixed(), 1. in a, 0x1f in a, 1e-5, 1e+5 + 1, .5, a ? .5 : 1, 1_000];
const words = [typeof a, void 0, a in b, a instanceof b, new a, delete a.b, é in ü, é . ü];
const optional = a ?. b ?? c ?. [d], spread = [... a, ...b], power = a ** - b;
const arrows = [(x) => x, ( x ) => ( x ), (x, y) => x, (x = 1) => x, (...x) => x, ({x}) => x, async (x) => x, async x => x, () => (x) => {},
	(async) => async, f((x) => x, (y)), ($x_1) => ({}), a ? (x) => x : (y) => y];
const [ first , ... rest ] = a, { x : renamed = 1 } = b;

// Truths.
const truths = [true, !false, - true, typeof true, a ? true : false, (true), a === true, f(true, false), `${ true }`, x => true, [ true ], true/2/3];
const names_of = [a.true, b . false, {true: 1, a: true, false : 2}, {true() {}, false () {}}, true_1, $true, truer, 'true', {a, true : 1}];

// Functions of Math.
const math = [Math.max(1, 2), a.Math.max, Math.maximum, Math . max, Math.PI, Math.min, ...a.map(Math.abs), Math.floor.name, Math.round / 2 / 3, -Math.max(1), `${ Math.max(1) }`, {Math: 1}, Math];

// Declarations.
let one_of = 1, two_of; const three_of = 3;
var old; let young = {let: 1}; const last_of = () => { const p = 1; let q; return p; };
let done = a.let; a = b; let next_to
a.let = 1; let [ other ] = a; const { x : y } = b; ; let apart
{ let u = 1 } { a = 1; let v; }
let unfinished = 1
a = b; let finished;
function declares(a) {
	let b; for (let c = 1, d; c < 2; ) { let e; const f = (g) => { let h; let i; }; }
	const j = 1; { let k; } let l; const m = 2
	a = m; const n = function () { let o; }; let p = [1]; const q = `${ (() => { let r; let s; })() }`; let t;
}

// Ends of lines and semicolons.
let bare
let next = 1
a = b
f()
a
++b
b
--a
a++
b = c
const made = function () { return 1 }
const listed = [1]
const text = 'a'
const expression = /a/
const template = `a`
{ f() }
function ends(a) {
	for (;;);
}
function empties(a) {
	if (a);
}
function otherwise(a) {
	if (a) f(); else;
}
function looped(a) {
	do f(); while (a)
	f();
	do ; while (a);
}
function whiles(a) {
	while (f(a));
}
function called_if(a) {
	a.if(b);
}
function labelled() {
	again: for (const x of a) {
		if (x)
			continue again
		else
			break
		again: ;
	}
}
function returned(a) {
	if (a)
		return
	f()
	return (
		a
	)
}
async function waited(a) {
	for await (const x of a) /'  /.test(x);
	for await (const x of a);
	const b = await (a) / 2 / 3;
	for (const c in b)
		if (c)
			f()
		else if (b)
			f();
		else {
			f();
		}
	try { f() } catch { f(); } finally { f(); }
	switch (a) {
	case 'a': case "b" :
		f();
	default :
	}
}
class Fields extends Object {
	#held = 1;
	static count = 2; other
	static { this.count = 3; }
	get [a]() { return #held in this; }
	'quoted'() {}
	async * generate() { yield * a; yield /'  /; }
	last = (x) => x;
}
function* generated() {
	const a = yield
	yield a
	yield (a);
}
