// SPDX-License-Identifier: BSD-2-Clause
// The view of the user's own code. All library frames between two frames of the user's own code are
// one box. The trunk (the calls that nearly all samples share) is also one box.

import {GC, MARK, PYTHON} from '../data/data.js';
import {remap, setSelf, valueOf} from '../data/tree.js';
import {moduleOf} from './view.js';

/** @typedef {import('../data/data.js').Fn} Fn */
/** @typedef {import('../data/tree.js').Tree} Tree */
/**
 * @typedef {{most: number, least: number, packages: Set<string>, only: number}} Run folded frames.
 * .most and .least: how many frames are folded in the deepest stack and in the shallowest; .only:
 * the function of the folded frames if all are of one function, else -1
 */

// TRUNK: a call belongs to the trunk (the calls that nearly all samples share) if it has at least
// this share of the picture's value. ROWS: the page begins with the view of the user's own code if
// the trunk has this many rows, or if so many wide rows are library code.
const TRUNK = 0.95, ROWS = 25;
const FEW = 2; // a trunk (the calls that nearly all samples share) with fewer boxes isn't folded
const NAMES_OF = 3; // how many packages the name of a folded box has, as in krait report --tree

/**
 * Returns the boxes below box @start, each the caller of the next, that have at least @share of
 * @start's value. The last such box is left out, because it calls several functions or none.
 * @param {Tree} t
 * @param {number} start
 * @param {(i: number) => number} value
 * @param {number} [share]
 * @returns {number[]}
 */
function trunk({end}, start, value, share = TRUNK) {
	const out = [], least = share * value(start);
	for (let at = start; least > 0;) {
		let next = at + 1;
		while (next < end[at] && value(next) < least)
			next = end[next];
		if (next >= end[at])
			break;
		out.push(at = next);
	}
	return out.slice(0, -1);
}

/**
 * Would the picture show little but calls that nearly all samples share? True if the picture begins
 * with many rows of nearly the same width, or if many of the rows that are wider than half of the
 * picture are library code.
 * @param {Tree} t @param {Fn[]} functions
 */
export function isDeep(t, functions) {
	const rows = (/** @type {number} */ share) => trunk(t, 0, (i) => valueOf(t, i), share)
		.map((i) => functions[t.fn[i]]).filter((f) => !f.root);
	return rows(TRUNK).length >= ROWS ||
		rows(0.51).filter((f) => f.kind === PYTHON && f.origin).length >= ROWS;
}

/** @param {number} least @param {number} most @param {Iterable<string>} packages */
function words(least, most, packages) {
	const all = [...packages], more = all.length > NAMES_OF ? ', ...' : '';
	return `[${least < most ? 'up to ' : ''}${most} frame${most === 1 ? '' : 's'}: ` +
		`${all.slice(0, NAMES_OF).join(', ')}${more}]`;
}

/** @param {string} name @param {Partial<Fn>} more @returns {Fn} */
const fold = (name, more) =>
	({name, file: '', path: '', module: '', imported: '', language: '', kind: PYTHON, origin: 0,
	member: 0, line: 0, root: false,
	folded: true, ...more});

/**
 * Decides where each box goes. Returns .fn, the function whose box it becomes (-1: it becomes part
 * of its caller's box), and .rank, its place in a chain of folded boxes (0: it isn't in one). An
 * import keeps its own name, and contains whatever it runs.
 * @param {Tree} t
 * @param {Fn[]} functions
 * @param {Int32Array} library of each function: what its boxes become, -1 = none
 */
function places(t, functions, library) {
	const fn = t.fn.slice(), rank = new Int32Array(t.n), imports = new Uint8Array(t.n);
	for (let i = 1; i < t.n; i++) {
		const p = t.parent[i], f = functions[fn[i]], of = library[fn[i]];
		if (f.root || of < 0 && (f.kind === PYTHON || f.kind === GC || f.kind === MARK ||
				!rank[p]))
			continue;
		const begins = !rank[p] || f.imports && !imports[p];
		imports[i] = begins ? f.imports ? 1 : 0 : imports[p];
		rank[i] = begins ? 1 : rank[p] + 1;
		fn[i] = !begins ? -1 : f.imports ? fn[i] : of;
	}
	return {fn, rank};
}

/**
 * Returns the runs: for each box into which other boxes were folded, the frames that the box stands
 * for.
 * @param {Tree} t
 * @param {Fn[]} functions
 * @param {Int32Array} library
 * @param {Int32Array} rank
 * @param {Int32Array} of
 * @param {Float64Array} self of boxes
 */
function runsIn(t, functions, library, rank, of, self) {
	/** @type {Map<number, Run>} */
	const runs = new Map();
	for (let i = 1; i < t.n; i++) {
		const p = t.parent[i];
		if (rank[p] && of[i] !== of[p])
			runs.get(of[p]).least = Math.min(runs.get(of[p]).least, rank[p]);
		if (!rank[i])
			continue;
		const r = runs.get(of[i]) || {most: 0, least: Infinity, packages: new Set(),
			only: t.fn[i]};
		runs.set(of[i], r);
		r.most = Math.max(r.most, rank[i]);
		r.least = self[i] ? Math.min(r.least, rank[i]) : r.least;
		r.only = r.only === t.fn[i] ? r.only : -1;
		if (library[t.fn[i]] >= 0)
			r.packages.add(moduleOf(functions[t.fn[i]]));
	}
	return runs;
}

/**
 * Joins the runs (frames that a box stands for) of boxes that became one box.
 * @param {Map<number, Run>} runs @param {Int32Array} of
 */
function joined(runs, of) {
	/** @type {Map<number, Run>} */
	const out = new Map();
	for (const [i, r] of runs) {
		const at = of[i], s = out.get(at);
		out.set(at, s ? {...s, most: Math.max(r.most, s.most),
			least: Math.min(r.least, s.least),
			packages: new Set([...s.packages, ...r.packages])} : r);
	}
	return out;
}

/**
 * Folds the trunk (the calls that nearly all samples share) into one box. If there are groups,
 * folds the trunk of each group.
 * @param {Tree} t
 * @param {Fn[]} functions
 * @param {number} f the function of the trunk's box
 * @param {Map<number, Run>} runs
 * @param {Float64Array} self
 */
function withoutTrunk(t, functions, f, runs, self) {
	const all = self.slice(), fn = t.fn.slice(), names = new Map();
	for (let i = t.n - 1; i > 0; i--)
		all[t.parent[i]] += all[i];
	for (let at = t.n > 1 && functions[fn[1]].root ? 1 : 0; at < t.n;
			at = at ? t.end[at] : t.n) {
		const boxes = trunk(t, at, (i) => all[i]), packages = new Set();
		if (boxes.length < FEW)
			continue;
		let least = 0, most = 0;
		for (const i of boxes) {
			const r = runs.get(i);
			least += r ? r.least : 1;
			most += r ? r.most : 1;
			for (const name of r ? r.packages :
					[moduleOf(functions[fn[i]]).replace(/.*\//, '')])
				packages.add(name);
			fn[i] = i === boxes[0] ? f : -1;
		}
		names.set(boxes[0], words(least, most, packages));
	}
	return {tree: remap({boxes: t.n, parent: t.parent, functions}, (i) => fn[i]), names};
}

/**
 * Folds each run of library frames in tree @t, and the trunk (the calls that nearly all samples
 * share), into one box.
 * @param {Tree} t
 * @param {Fn[]} functions extended by the functions of folded boxes
 * @param {Float64Array} self of its boxes, without any filter
 * @returns {Tree} .of: by box of @t; .folds: names of boxes
 */
export function folded(t, functions, self) {
	const library = new Int32Array(functions.length).fill(-1), ids = new Map(),
		n = functions.length;
	for (let i = 0; i < n; i++) {
		const f = functions[i], name = moduleOf(f);
		if (f.kind !== PYTHON || !f.origin || f.root)
			continue;
		if (!ids.has(name))
			ids.set(name, functions.push(fold(`[frames: ${name}]`,
				{module: name, origin: f.origin, member: f.member})) - 1);
		library[i] = ids.get(name);
	}
	const trunkFn = functions.push(fold('[frames]', {root: true})) - 1;
	const {fn, rank} = places(t, functions, library),
		first = remap({boxes: t.n, parent: t.parent, functions}, (i) => fn[i]);
	const runs = runsIn(t, functions, library, rank, first.of, self),
		sums = new Float64Array(first.n);
	for (let i = 0; i < t.n; i++)
		sums[first.of[i]] += self[i];
	for (const [i, r] of runs) {
		if (r.only >= 0)
			first.fn[i] = r.only; // a single frame of one function isn't folded
	}
	const {tree: out, names} = withoutTrunk(first, functions, trunkFn, runs, sums),
		folds = new Map();
	for (const [at, r] of joined(runs, out.of)) {
		const f = functions[out.fn[at]];
		if (f.folded && !f.root)
			folds.set(at, {...f, name: words(r.least, r.most, r.packages)});
	}
	for (const [i, name] of names)
		folds.set(out.of[i], {...functions[trunkFn], name});
	return Object.assign(out, {of: first.of.map((i) => out.of[i]), folds});
}

/**
 * Folds library frames and the trunk (the calls that nearly all samples share) of a tree that has
 * no samples yet.
 * @param {Tree} t @param {Fn[]} functions @param {Float64Array} self of its boxes
 */
export function foldedEarly(t, functions, self) {
	const out = folded(t, functions, self), sums = new Float64Array(out.n);
	self.forEach((value, i) => {
		sums[out.of[i]] += value;
	});
	setSelf(out, [sums]);
	return out;
}
