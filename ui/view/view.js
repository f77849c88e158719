// SPDX-License-Identifier: BSD-2-Clause
// What the page shows. `state` has the reader's choices. `page` has the data that were read, and
// what is computed from the data and the choices. structure() makes the tree, weigh() computes its
// numbers, picture() chooses what is drawn of it. After a change, the first of these three
// functions that the change concerns is called.

import {byId} from '../base/base.js';
import {FAMILIES, family} from '../picture/colour.js';
import {PYTHON} from '../data/data.js';
import {Flame} from '../picture/flame.js';
import {folded} from './fold.js';
import {PROGRAM, groupLabels, groupTitle, groupTree, leaves, passing, sortSamples, sumSamples,
	threadsInTime} from '../data/samples.js';
import {byEffect, scaleSides} from '../data/sides.js';
import {addUp, callees, callerNodes, callersOf, collapsed, inTime, inverted,
	shaped} from '../data/shape.js';
import {baseTree, boxesOf, children, inOrder, sumsFrom, valueOf} from '../data/tree.js';
import {cutWaits} from '../data/waits.js';

/** @typedef {import('../data/tree.js').Tree} Tree */
/** @typedef {import('../data/data.js').Data} Data */
/** @typedef {import('../data/data.js').Fn} Fn */
/**
 * @typedef {Record<'header'|'tools'|'chips'|'table'|'fillTable'|'linesSoon', () => void>} Parts
 *   functions that show a part again
 */

export const state = {
	value: 0, flip: false, query: '', table: 'functions', sort: /** @type {any} */ ('self'),
	code: 'python', chosen: -1,
	view: 'flame', by: '', library: /** @type {any} */ ('shown'), recursion: false,
	colour: 'kind', side: 0,
	filter: /** @type {import('../data/samples.js').Filter} */ ({
		labels: {}, kind: '', module: '', range: null}),
};

export const page = {
	/** @type {Data} */
	data: null,
	// the page is being printed
	paper: false,
	// only the widest boxes have been read, and can be zoomed and searched; there are no sums
	early: false,
	/** @type {import('../data/data.js').Sources[]} */
	sources: [], // source texts; a comparison has those of both sides
	/** @type {import('./strip.js').Strip|null} */
	strip: null,
	/** @type {string[]} */
	labelKeys: [],
	// functions that show a part again; set by main.js, because the parts import change.js, not
	// the other way round
	/** @type {Parts} */
	parts: null,
	/** @type {Tree} */
	base: null,
	// the tree of all stacks that are shown; sums refer to it
	/** @type {Tree & {leaf?: Int32Array}} */
	stacks: null,
	// .stacks, perhaps with recursion in one box; all pictures are made of it, except those of
	// the view of one function's callers and callees
	/** @type {Tree & {leaf?: Int32Array}} */
	whole: null,
	/** @type {Int32Array|null} */
	leaf: null, // node in .stacks for each sample; -1: none
	/** @type {Tree} */
	tree: null, // the tree that is drawn: .whole, or a tree that is made of .whole
	/** @type {Fn[]} */
	functions: null,
	/**
	 * Groups of functions, by table.
	 * @type {Map<string, {of: Int32Array, names: string[], example: number[], outer:
	 *   Int32Array, sums: {pass: Uint8Array|null, value: number, code: string, bySide:
	 *   Array<{self: Float64Array, all: Float64Array}>}|null}>} .outer: for each box the number
	 *   of its group, -1 if another box of that group is above it; .sums: the latest sums, and
	 *   the samples, value and code that they are of
	 */
	groups: new Map(),
	// What the view of one function's callers and callees (sandwich) is made of, whatever is
	// filtered: the function's outermost boxes, the tree of their callees, and .of of the tree
	// of its callers.
	/** @type {{f: number, boxes: number[], callees: Tree, ofCallers: Int32Array}|null} */
	around: null,
	/** @type {Uint8Array|null} */
	pass: null,
	total: 0,
	// sums of both sides; only on a page of two recordings
	/** @type {import('../data/sides.js').Sides|null} */
	sides: null,
	// Samples by node of the data, and their sums; made when first asked for. .hidden: library
	// frames are hidden.
	/**
	 * @type {{order: Int32Array, first: Int32Array, sums: Float64Array[], hidden:
	 *   boolean}|null}
	 */
	nodes: null,
	// a tree with the boxes of .whole, whose values are numbers of samples; made when it is
	// first needed
	/** @type {Tree|null} */
	counts: null,
	// in time order: the part of the picture that is drawn in full detail
	/** @type {[number, number]|null} */
	window: null,
	// for each box the group that has most of its value, by which it is coloured
	/** @type {WeakMap<Tree, {of: Int32Array, names: string[]}>} */
	votes: new WeakMap(),
};

/** @type {Flame} */
export const flame = new Flame(byId('flame'));
/** @type {Flame} */
export const above = new Flame(byId('above'));

export const unit = () => page.data.header.values[state.value][1];
/** @type {Record<string, string>} */
const VALUE_NAMES = {cpu: 'CPU time', off_cpu: 'time waiting', wall: 'wall time',
	gil_wait: 'GIL wait', gil_blame: 'GIL blame', lock_blame: 'lock blame'};

/** @param {string} type of a value */
export const valueName = (type) => VALUE_NAMES[type] || type;

export const WORDS = {kind: (/** @type {Fn} */ f) => FAMILIES.find(([k]) => k === family(f))[1],
	module: moduleOf};

/**
 * Returns the module of a function: for a Python package its top directory or file, for other code
 * its mapping.
 * @param {Fn} f
 */
export function moduleOf(f) {
	if (f.root)
		return '';
	if (f.kind || !f.file)
		return f.module || f.name;
	return f.origin ? f.imported.split('.')[0] : f.file;
}

/** Returns by which labels the root frames group samples; '': there are no root frames. */
export function grouping() {
	const {data} = page;
	if (state.by === 'none')
		return '';
	if (state.by)
		return state.by;
	if (state.view === 'time' && groupLabels(data, 'thread').names.length > 1)
		return 'thread';
	if (page.sides)
		return programsOfSides() ? PROGRAM : '';
	return groupLabels(data, PROGRAM).names.length > 1 ? PROGRAM : '';
}

/**
 * Does either side have several programs? (The two programs that are compared don't count as
 * several.)
 */
function programsOfSides() {
	const {of} = page.sides, g = groupLabels(page.data, PROGRAM);
	return [0, 1].some((side) =>
		new Set(g.of.filter((id, i) => id >= 0 && of[i] === side)).size > 1);
}

/**
 * Returns all functions, followed by root frames for the groups.
 * @param {string[]} names @param {string} by what @returns {Fn[]}
 */
export const withGroups = (names, by) =>
	page.data.functions.concat(names.map((name) =>
	({name: by === page.data.header.diff?.label ? name : groupTitle(by, name), file: '',
	path: '', module: '', imported: '', language: '',
	kind: 0, origin: 0, member: 0, line: 0, root: true})));

export function structure() {
	const {data} = page, by = data.samples ? grouping() : '';
	page.base = page.base || baseTree(data);
	page.functions = data.functions;
	const g = !by ? null : by === 'thread' && state.view === 'time' ?
		threadsInTime(data, state.value) : groupLabels(data, by);
	if (g)
		page.functions = withGroups(g.names, by);
	const made = (/** @type {boolean} */ recursion) => {
		const t = state.library === 'shown' && !recursion ? page.base :
			shaped(data, state.library === 'hidden', recursion);
		return g ? groupTree(data, t, g.of, g.names.length, data.functions.length) : t;
	};
	page.stacks = made(false);
	page.whole = state.recursion ? made(true) : page.stacks;
	if (state.library === 'folded')
		page.whole = foldWhole(page.whole);
	page.leaf = data.samples && leaves(data, page.stacks, page.stacks);
	for (const t of trees()) {
		const leaf = data.samples && leaves(data, t, t);
		Object.assign(t, leaf ? sortSamples(leaf, t.n) : {first: data.firstNode},
			{runs: null});
	}
	page.around = null;
	page.groups.clear();
	// the choice came from an address, which may be that of another page
	if (state.chosen >= page.functions.length)
		state.chosen = -1;
}

/**
 * Makes the view of the user's own code. Which boxes are folded doesn't depend on filters.
 * @param {Tree & {leaf?: Int32Array}} t with samples
 */
function foldWhole(t) {
	const {data} = page, self = new Float64Array(t.n), leaf = leaves(data, t, t),
		w = data.samples.whole[state.value];
	leaf.forEach((at, s) => {
		self[Math.max(at, 0)] += w[s];
	});
	page.functions = page.functions.slice();
	const out = folded(t, page.functions, self), of = (/** @type {number} */ i) => i < 0 ? -1 :
		out.of[i];
	return t.leaf ? {...out, leaf: leaf.map(of)} : {...out, of: t.of ? t.of.map(of) : out.of};
}

/** Returns the trees that have sums of the samples. */
const trees = () => new Set([page.stacks, page.whole]);

/**
 * Returns running sums of a value over a tree's samples or, before the samples are read, over the
 * data's nodes.
 * @param {{order: Int32Array}} t @param {number} v
 */
export const sumsOf = ({order}, v) => page.data.samples ? sumSamples(page.data, order, v, page.pass,
	page.sides && page.sides.of) :
	[sumsFrom(page.data.self[v])];

/**
 * Returns the node of each sample or, if library frames are hidden, the node of the user's line
 * that called them.
 */
function shownNodes() {
	const {data} = page, {node} = data.samples;
	if (state.library !== 'hidden')
		return node;
	const to = callerNodes(data);
	return node.map((at) => to[at]);
}

/**
 * Is the function a library's Python function, and are such functions hidden? (Native code isn't,
 * because anything may call it.)
 * @param {Fn} f
 */
export const isHidden = (f) => state.library === 'hidden' && f.kind === PYTHON && !f.root &&
	f.origin > 0;

/**
 * Returns the value of samples without any code that is shown, by side (a comparison has two). A
 * sample can be without such code only if library frames are hidden.
 */
export function withoutCode() {
	if (state.library !== 'hidden')
		return [];
	const {first, sums} = nodeSums();
	return sums.map((of, side) => (of[first[1]] - of[first[0]]) * page.stacks.scale[side]);
}

/**
 * Returns the sums by node. They are made only when lines are shown, because most choices of a
 * range don't need them.
 */
export function nodeSums() {
	const {data} = page, hidden = state.library === 'hidden';
	if (page.nodes && page.nodes.hidden !== hidden)
		page.nodes = null;
	if (!page.nodes && data.samples)
		page.nodes = {...sortSamples(shownNodes(), data.nodes), sums: null, hidden};
	else if (!page.nodes)
		page.nodes = {order: null,
			first: Int32Array.from({length: data.nodes + 1}, (_, i) => i),
			sums: null, hidden};
	page.nodes.sums = page.nodes.sums || sumsOf(page.nodes, state.value);
	return page.nodes;
}

/** Returns the value of all samples that are shown. */
export const shown = () => valueOf(page.stacks, 0);

export function weigh() {
	const {data} = page;
	// The total adds up all values without their signs, as the report's shares do.
	page.total = data.totals[state.value] + 2 * data.less[state.value];
	page.pass = data.samples ? passing(data, state.filter, WORDS, false) : null;
	cutWaits(data, state.filter.range);
	if (page.nodes)
		page.nodes.sums = null;
	if (page.sides) {
		scaleSides(page.sides, data, state.value, state.filter.range);
		page.total = (page.sides.total[0] + page.sides.total[1]) / 2;
	}
	for (const t of trees()) {
		t.sums = sumsOf(t, state.value);
		t.scale = page.sides ? page.sides.scale : [1];
	}
	page.counts = page.window = null;
	page.votes = new WeakMap();
	picture();
}

/** @param {number} f */
function makeAround(f) {
	const {stacks, functions} = page, boxes = boxesOf(stacks, f);
	return {f, boxes, callees: callees(stacks, f, boxes, functions.length),
		ofCallers: new Int32Array(stacks.n).fill(-1)};
}

/** Makes the tree that the picture shows, page.tree. */
export function picture() {
	const {data, stacks, whole, functions, pass} = page, samples = data.samples,
		f = state.chosen;
	// Recursion is collapsed last, because afterwards a function may have no box of its own
	// from which the view of its callers and callees (sandwich) could be made.
	const made = (/** @type {Tree} */ t) => state.recursion ? collapsed(t, functions) : t;
	above.tree = null;
	flame.order = page.sides ? byEffect : state.view === 'time' ? inOrder : children;
	if (state.view === 'time' && samples)
		page.tree = inTime(data, whole,
			samples.values[state.value].map((w, s) => !pass || pass[s] ? w : 0),
			page.window);
	else if (state.view === 'callers')
		page.tree = inverted(whole);
	else
		page.tree = whole;
	if (state.view === 'sandwich' && f >= 0) {
		if (!page.around || page.around.f !== f)
			page.around = makeAround(f);
		page.tree = made(addUp(page.around.callees, stacks));
		above.set(made(callersOf(stacks, f, page.around.boxes, page.around.ofCallers)),
			functions, 'all callers');
		above.flip = true;
	}
	above.middle = flame.middle = above.tree ? 1 : -1;
	byId('above').hidden = !above.tree;
	flame.set(page.tree, functions, state.view === 'sandwich' && f >= 0 ? 'all callees' :
		data.header.title);
}
