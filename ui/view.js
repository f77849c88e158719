// SPDX-License-Identifier: BSD-2-Clause
// What is shown: state is what a reader chose, page what was read and made of it. structure() makes the
// tree, weigh() its numbers, picture() what is drawn of it; a change calls the first that it concerns.

import {byId} from './base.js';
import {FAMILIES, family} from './colour.js';
import {Flame} from './flame.js';
import {groupLabels, groupTree, nodeWeights, passing} from './samples.js';
import {byEffect, fillSides, scaleSides} from './sides.js';
import {callees, callersOf, inTime, inverted, shaped} from './shape.js';
import {baseTree, children, inOrder, outermost, setSelf, sumUp} from './tree.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./data.js').Fn} Fn */
/** @typedef {Record<'header'|'tools'|'chips'|'table'|'linesSoon', () => void>} Parts show themselves anew */

export const state = {
	value: 0, flip: false, query: '', table: 'functions', sort: /** @type {any} */ ('self'), chosen: -1,
	view: 'flame', by: '', library: /** @type {any} */ ('shown'), recursion: false, colour: 'kind',
	filter: /** @type {import('./samples.js').Filter} */ ({labels: {}, kind: '', module: '', range: null}),
};

export const page = {
	/** @type {Data} */
	data: null,
	early: false, // only the widest boxes are there: to be zoomed and searched, without sums
	/** @type {Map<string, import('./data.js').Source>} */
	source: new Map(),
	/** @type {import('./strip.js').Strip|null} */
	strip: null,
	/** @type {string[]} */
	labelKeys: [],
	/** @type {Parts} */
	parts: null, // set by main.js: the parts import change.js, not the other way round
	/** @type {Tree} */
	base: null,
	/** @type {Tree & {leaf?: Int32Array}} */
	whole: null, // all stacks that are shown
	/** @type {Tree} */
	tree: null, // what is drawn: the same, or made of it
	/** @type {Fn[]} */
	functions: null,
	/** @type {Map<string, {of: Int32Array, names: string[], example: number[], outer: Uint8Array, sums?: {serial: number, self: Float64Array, all: Float64Array}}>} */
	groups: new Map(), // of functions, by table
	/** @type {Uint8Array|null} */
	outer: null,
	/** @type {Uint8Array|null} */
	pass: null,
	total: 0,
	/** @type {import('./sides.js').Sides|null} */
	sides: null, // of a page of two recordings
	/** @type {{tree: Tree, v: number, pass: Uint8Array|null, serial: number, changes: Array<[number, number]>|null}|null} */
	filled: null, // what the sums in .whole are of; boxes that were changed since the serial before, and by what
	/** @type {Float64Array|null} */
	weights: null,
	/** @type {Float64Array|null} */
	counts: null, // samples of each node of the tree, made when first asked for
	/** @type {WeakMap<Tree, {of: Int32Array, names: string[]}>} */
	votes: new WeakMap(), // the group that most of each box is of, for colours
};

/** @type {Flame} */
export const flame = new Flame(byId('flame'));
/** @type {Flame} */
export const above = new Flame(byId('above'));

export const unit = () => page.data.header.values[state.value][1];

export const WORDS = {kind: (/** @type {Fn} */ f) => FAMILIES.find(([k]) => k === family(f))[1], module: moduleOf};

/**
 * Python's packages by their top directory or file, others by their mapping.
 * @param {Fn} f
 */
export function moduleOf(f) {
	if (f.root)
		return '';
	if (f.kind || !f.file)
		return f.module || f.name;
	const part = f.file.split('/').filter(Boolean);
	return f.origin ? part[0].replace(/\.py$/, '') : f.file;
}

/** What root frames are made of, '' = none. */
export function grouping() {
	const {data} = page;
	if (state.by === 'none')
		return '';
	if (state.by)
		return state.by;
	if (state.view === 'time' && groupLabels(data, 'thread').names.length > 1)
		return 'thread';
	if (page.sides)
		return programsOfSides() ? 'program' : '';
	return groupLabels(data, 'program').names.length > 1 ? 'program' : '';
}

/** Two programs that are compared aren't two programs that ran. */
function programsOfSides() {
	const {of} = page.sides, g = groupLabels(page.data, 'program');
	return [0, 1].some((side) => new Set(g.of.filter((id, i) => id >= 0 && of[i] === side)).size > 1);
}

/**
 * All functions and, behind them, the groups.
 * @param {string[]} names @returns {Fn[]}
 */
export const withGroups = (names) => page.data.functions.concat(names.map((name) => ({name, file: '', path: '', module: '', language: '',
	kind: 0, origin: 0, member: 0, line: 0, root: true})));

export function structure() {
	const {data} = page, by = data.samples ? grouping() : '';
	page.base = page.base || baseTree(data);
	page.functions = data.functions;
	page.whole = state.library === 'shown' && !state.recursion ? page.base : shaped(data, state.library, state.recursion);
	if (by) {
		const g = groupLabels(data, by);
		page.functions = withGroups(g.names);
		page.whole = groupTree(data, page.whole, g.of, g.names.length, data.functions.length);
	}
	page.outer = null;
	page.groups.clear();
}

/**
 * Sums of a value type in a tree like the shown one.
 * @param {Tree & {leaf?: Int32Array}} t @param {number} v
 */
export function fill(t, v) {
	const {data, pass} = page;
	if (page.sides) {
		fillSides(data, t, v, pass, page.sides);
		return;
	}
	const last = page.filled, same = last && last.tree === t && last.v === v && data.samples;
	const changes = same ? fillChanged(t, v, last.pass) : null;
	if (!changes)
		fillAll(t, v);
	if (t === page.whole)
		page.filled = {tree: t, v, pass, serial: last ? last.serial + 1 : 0, changes};
}

/** @param {Tree & {leaf?: Int32Array}} t @param {number} v */
function fillAll(t, v) {
	const {data, pass} = page;
	if (!t.leaf && !pass) {
		setSelf(data, t, data.self[v]);
		return;
	}
	const {n, node, values} = data.samples, w = values[v], {leaf, of, self} = t, {nodeBox} = data;
	self.fill(0);
	for (let s = 0; s < n; s++) {
		if (pass && !pass[s])
			continue;
		const box = nodeBox[node[s]], at = leaf ? leaf[s] : of ? of[box] : box;
		if (at >= 0)
			self[at] += w[s];
	}
	sumUp(t);
}

/**
 * Adds and takes off the samples that came and went since; null if that are too many.
 * @param {Tree & {leaf?: Int32Array}} t @param {number} v @param {Uint8Array|null} before which were in
 */
function fillChanged(t, v, before) {
	const {data, pass} = page, {n, node, values} = data.samples, w = values[v], changed = [], {leaf, of, self, value, parent} = t;
	for (let s = 0; s < n; s++) {
		if ((pass ? pass[s] : 1) !== (before ? before[s] : 1))
			changed.push(s);
	}
	if (changed.length * t.maxDepth > t.n)
		return null;
	const changes = /** @type {Array<[number, number]>} */ ([]);
	for (const s of changed) {
		const box = data.nodeBox[node[s]], at = leaf ? leaf[s] : of ? of[box] : box, d = !pass || pass[s] ? w[s] : -w[s];
		if (at < 0)
			continue;
		changes.push([at, d]);
		self[at] += d;
		for (let i = at; i > 0; i = parent[i])
			value[i] += d;
		value[0] += d;
	}
	return changes;
}

/** Sums by node, made when lines are asked for: most brushes don't. */
export function nodeSums() {
	page.weights = page.weights || nodeWeights(page.data, state.value, page.pass);
	return page.weights;
}

export function weigh() {
	const {data} = page;
	page.total = data.totals[state.value];
	page.pass = data.samples ? passing(data, state.filter, WORDS, false) : null;
	page.weights = null;
	if (page.sides) {
		scaleSides(page.sides, data, state.value, state.filter.range);
		page.total = (page.sides.total[0] + page.sides.total[1]) / 2;
	}
	fill(page.whole, state.value);
	page.counts = null;
	page.votes = new WeakMap();
	picture();
}

/** The tree that is drawn. */
export function picture() {
	const {data, whole, functions, pass} = page, samples = data.samples, f = state.chosen;
	above.tree = null;
	flame.order = page.sides ? byEffect : state.view === 'time' ? inOrder : children;
	if (state.view === 'time' && samples)
		page.tree = inTime(data, whole, samples.values[state.value].map((w, s) => !pass || pass[s] ? w : 0), 2000);
	else if (state.view === 'callers')
		page.tree = inverted(whole);
	else if (state.view === 'sandwich' && f >= 0)
		page.tree = callees(whole, f, functions.length);
	else
		page.tree = whole;
	if (state.view === 'sandwich' && f >= 0) {
		page.outer = page.outer || outermost(whole, (i) => whole.fn[i], functions.length);
		above.set(callersOf(whole, f, page.outer), functions, 'all callers');
		above.flip = true;
	}
	byId('above').hidden = !above.tree;
	flame.set(page.tree, functions, state.view === 'sandwich' && f >= 0 ? 'all callees' : data.header.title);
}
