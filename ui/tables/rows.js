// SPDX-License-Identifier: BSD-2-Clause
// The rows of the tables: functions, files and modules from the boxes, threads and processes from
// the samples, lines of the chosen function.

import {byId, percent} from '../base/base.js';
import {choose, filterBy, lookFor, saveSoon} from '../change/change.js';
import {family, fillOf} from '../picture/colour.js';
import {GC, PYTHON} from '../data/data.js';
import {changeLines} from './diff_lines.js';
import {changeTable} from './diff_table.js';
import {gilSoon} from './gil.js';
import {nameless} from '../picture/label.js';
import {lineSums, showLines} from '../parts/lines.js';
import {isThere, relativeRows} from './relatives.js';
import {groupLabels, groupWeights} from '../data/samples.js';
import {showTable} from '../parts/table.js';
import {outermost, runsOf} from '../data/tree.js';
import {WORDS, flame, moduleOf, nodeSums, page, shown, state, unit} from '../view/view.js';
import {isOfWaits, waitValue} from '../data/waits.js';

/** @typedef {import('../data/data.js').Fn} Fn */

const whereOf = (/** @type {Fn} */ f) => f.file + (f.file && f.line ? ':' + f.line : '') ||
	(nameless(f) ? '' : f.module);

/**
 * @type {Record<string, {title: string, key?: (f: Fn) => string, note?: (f: Fn) => string, of?: ()
 *   => string[], own?: string}>} .of: label keys; .own: heading
 */
export const TABLES = {
	functions: {title: 'Function', note: whereOf},
	callers: {title: 'Caller', note: whereOf, own: 'Direct'},
	callees: {title: 'Callee', note: whereOf, own: 'Direct'},
	files: {title: 'File', key: (f) => f.file, note: (f) => f.path === f.file ? '' : f.path},
	modules: {title: 'Module', key: moduleOf, note: (f) => WORDS.kind(f)},
	threads: {title: 'Thread', of: () => ['thread']},
	processes: {title: 'Process', of: () => ['process']},
	labels: {title: 'Label', of: () => page.labelKeys},
};

/** Returns the table that is shown: the chosen table, if it has something to show. */
export const tableName = () => isThere(state.table) ? state.table : 'functions';

/**
 * Does the function belong to the row of its library? In the view of the user's own code, each
 * library is one row.
 * @param {string} which @param {Fn} f
 */
const isFolded = (which, f) => which === 'functions' && state.library === 'folded' && !page.sides &&
	f.kind === PYTHON && f.origin > 0 && !f.imports;

/**
 * Groups functions by a key. .outer: for each box the number of its group; -1: a box of the same
 * group is above it.
 * @param {string} which
 */
export function fnGroup(which) {
	let g = page.groups.get(which);
	if (g)
		return g;
	const {functions, stacks} = page, {key} = TABLES[which], ids = new Map(),
		of = new Int32Array(functions.length).fill(-1);
	const names = /** @type {string[]} */ ([]), example = /** @type {number[]} */ ([]);
	functions.forEach((f, i) => {
		const k = f.root || f.folded ? '' : key ? key(f) :
			isFolded(which, f) ? moduleOf(f) : i;
		if (k === '')
			return;
		if (!ids.has(k)) {
			ids.set(k, example.length);
			example.push(i);
			names.push(typeof k === 'string' ? k : f.name);
		}
		of[i] = ids.get(k);
	});
	g = {of, names, example, outer: outermost(stacks, of, example.length), sums: null};
	page.groups.set(which, g);
	return g;
}

/**
 * @typedef {{self: Float64Array, all: Float64Array}} Sums by group
 * @typedef {(box: number) => number} Owner the function that a box's own value counts for; -1: none
 */

/**
 * @param {ReturnType<fnGroup>} g @param {Owner} owner
 * @returns {Sums[]} by side (a comparison has two)
 */
function allSums({of, outer, example}, owner) {
	const {sums} = page.stacks, {start, begin, end} = runsOf(page.stacks);
	const out = sums.map(() =>
		({self: new Float64Array(example.length), all: new Float64Array(example.length)}));
	for (let r = 0; r < end.length; r++) {
		for (let side = 0; side < sums.length; side++) {
			const sum = sums[side], {self, all} = out[side], before = sum[begin[r]],
				value = sum[end[r]] - before;
			if (!value)
				continue;
			for (let i = start[r]; i < start[r + 1]; i++) {
				if (outer[i] >= 0)
					all[outer[i]] += value;
			}
			// A run is a chain of boxes with the same samples. Only the last box of a
			// run has a value of its own.
			const own = sum[begin[r + 1]] - before, f = own ? owner(start[r + 1] - 1) :
				-1;
			if (f >= 0 && of[f] >= 0)
				self[of[f]] += own;
		}
	}
	return out;
}

/**
 * Returns the samples for which the filters' answer has changed since @before; null: such samples
 * are too many to be added or subtracted one by one.
 * @param {Uint8Array|null} before
 */
function changedSince(before) {
	const {data, pass, stacks} = page, out = [];
	for (let s = 0; before !== pass && s < data.samples.n; s++) {
		if ((pass ? pass[s] : 1) !== (before ? before[s] : 1))
			out.push(s);
	}
	return out.length * stacks.maxDepth > stacks.n / 4 ? null : out;
}

/**
 * Returns the own and total value of each group. When the reader changes the range, only samples
 * that came or went are added or subtracted. A comparison has two sides.
 * @param {ReturnType<fnGroup>} g @param {Owner} owner @returns {Sums[]} by side
 */
export function groupSums(g, owner) {
	const {data, pass, stacks, leaf, sides} = page, v = state.value;
	// The values of waits depend on the range, so another range changes more than which samples
	// are chosen.
	const known = leaf && !isOfWaits(data.header, v) && g.sums && g.sums.value === v &&
		g.sums.code === state.code;
	const changed = known ? changedSince(g.sums.pass) : null,
		bySide = changed ? g.sums.bySide : allSums(g, owner);
	for (const s of changed || []) {
		const w = data.samples.values[v][s] * (!pass || pass[s] ? 1 : -1),
			{self, all} = bySide[sides ? sides.of[data.samples.labels[s]] : 0];
		const f = leaf[s] > 0 ? owner(leaf[s]) : -1;
		if (f >= 0 && g.of[f] >= 0)
			self[g.of[f]] += w;
		for (let i = leaf[s]; i > 0; i = stacks.parent[i]) {
			if (g.outer[i] >= 0)
				all[g.outer[i]] += w;
		}
	}
	g.sums = {pass, value: v, code: state.code, bySide};
	return bySide;
}

/**
 * Returns a function that says who owns a box. Native code that Python called belongs to its Python
 * caller. Other native code belongs to the garbage collector if that called it, otherwise to
 * itself.
 * @returns {(box: number) => number}
 */
export function owners() {
	const {functions, stacks: {fn, parent}} = page,
		python = Uint8Array.from(functions, (f) => f.kind === PYTHON && !f.root ? 1 : 0);
	const root = Uint8Array.from(functions, (f) => f.root ? 1 : 0);
	return (/** @type {number} */ box) => {
		let at = box, gc = 0;
		for (; at > 0 && !python[fn[at]]; at = parent[at])
			gc = gc || (functions[fn[at]].kind === GC ? at : 0);
		const f = fn[at > 0 ? at : gc || box];
		return root[f] ? -1 : f;
	};
}

/**
 * Tells whether the recording has Python functions and also other code, so that readers can choose
 * what the table shows.
 */
export function hasBoth() {
	const there = new Set(page.data.functions.map((f) => f.kind === PYTHON));
	return there.size === 2;
}

/**
 * Tells whether the table has rows only for Python functions and for code that runs without any
 * Python function.
 */
export const isOfPython = () => state.code === 'python' && hasBoth();

// only this many rows of the user's functions get a note about lines, because making a note means
// to look at every box
const WITH_LINES = 12;

/**
 * Returns a note with the line that has most of a function's own value, which says more than the
 * function's first line.
 * @param {number} f @param {number} own the function's own value
 */
function hottestLine(f, own) {
	const {data, functions, base} = page;
	let line = 0, most = 0;
	for (const [n, {self}] of lineSums(data, base, f, nodeSums(), 0, isOfPython()))
		[line, most] = n > 0 && self > most ? [n, self] : [line, most];
	const place = functions[f].file + ':' + line,
		[part, whole] = [percent(most, shown()), percent(own, shown())];
	return !most ? whereOf(functions[f]) : part === whole ? 'all of it at ' + place :
		part.replace('\u00a0%', '') + ' of ' + whole + ' at ' + place;
}

/** @param {string} which */
function frameRows(which) {
	const {functions, stacks} = page, g = fnGroup(which), python = isOfPython(),
		{note} = TABLES[which];
	const [{self, all}] = groupSums(g, python ? owners() : (i) => stacks.fn[i]);
	const mine = which === 'functions' ? g.example.map((_, i) => i)
		.filter((i) => family(functions[g.example[i]]) === 'p' && self[i] > 0) : [];
	const withLines = new Set(mine.sort((a, b) => self[b] - self[a]).slice(0, WITH_LINES));
	const rows = g.example.map((f, i) => {
		const one = which === 'functions' && !isFolded(which, functions[f]);
		return {
			name: g.names[i], note: (one || which === 'files' ? note :
				TABLES.modules.note)(functions[f]), self: self[i], total: all[i],
				chosen: one && f === state.chosen,
			noteLater: withLines.has(i) ? () => hottestLine(f, self[i]) : undefined,
			// in the view of the user's own code, the user's functions come first
			rank: family(functions[f]) === 'p' ? 0 : 1,
			fill: which === 'functions' ? fillOf(functions[f]) : undefined,
			choose: one ? () => choose(f, false) : which === 'files' ? () =>
				lookFor(g.names[i]) : () => filterBy({module: g.names[i]}),
		};
	});
	return python ? rows.filter((r, i) => functions[g.example[i]].kind === PYTHON ||
		r.self > 0) : rows;
}

/** @param {string} which */
export const rowsAround = (which) => relativeRows(which, (f) => choose(f, true),
	TABLES[which].note);

/** Does the value have a part that is waiting? Tables of threads also show this part. */
const hasWaiting = () => page.data.header.values[state.value][0] === 'wall' &&
	waitValue(page.data.header) >= 0;

/** @param {string} by @param {string} title before each name */
function labelRows(by, title) {
	const {data, pass} = page, g = groupLabels(data, by),
		sums = groupWeights(data, g, state.value, pass);
	const waited = hasWaiting() ? groupWeights(data, g, waitValue(data.header), pass) : null;
	return g.names.map((name, i) =>
		({name: title + name, note: '', self: waited ? waited[i] : 0, total: sums[i],
		chosen: state.filter.labels[by] === name,
		choose: () => filterBy({labels: {...state.filter.labels, [by]: name}})}));
}

let lineTimer = 0;
/** Shows the lines of the chosen function, or of the box that the picture is zoomed to. */
function lines() {
	const {data, functions, base} = page, f = state.chosen >= 0 ? state.chosen :
		flame.zoom > 0 ? flame.tree.fn[flame.zoom] : -1;
	clearTimeout(lineTimer);
	byId('lines').hidden = true;
	if (page.early || f < 0 || f >= data.functions.length)
		return;
	const act = {sandwich: () => choose(f, true),
		close: () => state.chosen >= 0 ? choose(f, false) : byId('lines').hidden = true};
	if (page.sides)
		changeLines(f, act);
	else
		showLines(functions[f],
			lineSums(data, base, f, nodeSums(), 0,
			isOfPython() && functions[f].kind === PYTHON),
			page.sources[0]?.get(functions[f].path), shown(), act);
}

/**
 * Shows the lines after the picture has been drawn, because a reader who zooms wants the picture
 * first.
 */
export function linesSoon() {
	clearTimeout(lineTimer);
	lineTimer = setTimeout(lines, 0);
}

export function table() {
	lines();
	fillTable();
}

/** Fills the table, but not the lines of the chosen function. */
export function fillTable() {
	const name = tableName(), kind = TABLES[name];
	clearTimeout(tableTimer);
	gilSoon();
	if (page.early || kind.of && !page.data.samples)
		return;
	if (page.sides)
		changeTable();
	else
		showRows(kind.of ? kind.of()
			.flatMap((k) => labelRows(k, name === 'labels' ? k + ': ' : '')) :
			kind.own ? rowsAround(name) : frameRows(name),
			name === 'functions' && state.library === 'folded' ?
				{groups: ['Your functions', 'Libraries and other code']} : {});
}

/**
 * @param {import('../parts/table.js').Row[]} rows
 * @param {Partial<import('../parts/table.js').Shown>} [more]
 */
export function showRows(rows, more) {
	const kind = TABLES[tableName()];
	const waiting = kind.of && hasWaiting();
	showTable({
		title: kind.title, own: waiting ? 'Waiting' : kind.own,
		ownNote: kind.own || waiting || !isOfPython() ? '' : 'with native',
		unit: unit(), all: page.total, shown: shown(),
		sort: state.sort, selfless: Boolean(kind.of) && !waiting,
		onSort: (by) => {
			state.sort = by;
			table();
			saveSoon();
		},
		rows, ...more,
	});
}

let tableTimer = 0;
/**
 * Fills the table after the picture was drawn: the first sums of many boxes take longer than
 * readers should wait for the picture.
 */
export function tableSoon() {
	clearTimeout(tableTimer);
	tableTimer = setTimeout(table, 30);
}
