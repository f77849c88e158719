// SPDX-License-Identifier: BSD-2-Clause
// What a box shows of itself: its colour, the meaning of colours, its numbers, its hottest lines.

import {fit, lastAnswer} from '../base/base.js';
import {GIL, fillOf, gilFill, heat, laneFill, nthFill, stateFill} from '../picture/colour.js';
import {showLegend} from '../parts/controls.js';
import {isCounted} from '../data/data.js';
import {changeFill, changeLegend} from './diff.js';
import {nodesOf} from '../parts/lines.js';
import {collected, groupLabels, groupWeights, leaves, majority} from '../data/samples.js';
import {selfOf, valueOf} from '../data/tree.js';
import {flame, moduleOf, nodeSums, page, shown, state, sumsOf, unit} from './view.js';
import {WAIT_STATES, isOfWaits, stateIndex, waitsIn} from '../data/waits.js';

/** @typedef {import('../picture/flame.js').Flame} Flame */

/**
 * Returns the share of a box's value that is its function's own value.
 * @param {Flame} of @param {number} node
 */
function ownShare(of, node) {
	if (!of.tree.upwards)
		return selfOf(of.tree, node) / (valueOf(of.tree, node) || 1);
	if (of.tree.depth[node] > 1)
		return 0;
	// in the view of callers and callees (sandwich), each of the two pictures begins with the
	// box of the chosen function itself
	return of === flame ? 1 : selfOf(flame.tree, 1) / (valueOf(flame.tree, 1) || 1);
}

/** @param {Flame} flame @param {number} node */
export function colourOf(flame, node) {
	const f = flame.fnOf(node), mode = state.colour;
	if (mode === 'change')
		return changeFill(flame, node);
	if (mode === 'kind' || f.root && mode !== 'thread')
		return fillOf(f);
	if (mode === 'self')
		return heat(ownShare(flame, node));
	if (!page.data.samples)
		return fillOf(f);
	if (mode === 'module')
		return nthFill(moduleRanks().get(moduleOf(f)));
	const votes = votesOf(flame.tree, mode), g = votes.of[node];
	return g < 0 ? fillOf(f) : fillOfGroup(mode, votes.names[g], g);
}

/** @param {string} mode @param {string} name of the group @param {number} i its number */
const fillOfGroup = (mode, name, i) => mode === 'gil' ? gilFill(name) : mode === 'state' ?
	stateFill(name) : nthFill(i);

/**
 * Groups label sets by their names, like groupLabels(). Sorts the groups by value: the largest is
 * number 0, and gets the first colour.
 * @param {string} by
 */
function largestFirst(by) {
	const g = groupLabels(page.data, by), rank = new Int32Array(g.names.length),
		sums = groupWeights(page.data, g, state.value, null);
	const order = [...sums.keys()].sort((a, b) => sums[b] - sums[a]);
	order.forEach((i, k) => {
		rank[i] = k;
	});
	return {of: g.of.map((i) => i < 0 ? -1 : rank[i]), names: order.map((i) => g.names[i])};
}

const lastRanks = /** @type {typeof lastAnswer<Map<string, number>>} */ (lastAnswer)();

/**
 * Returns the number of each module. The module whose code took most of the recording is number 0,
 * and gets the first colour.
 */
function moduleRanks() {
	const {data} = page, {n, node, values} = data.samples, w = values[state.value];
	return lastRanks([w], () => {
		const own = new Float64Array(data.functions.length),
			sums = new Map(data.functions.map((f) => [moduleOf(f), 0]));
		for (let s = 0; s < n; s++)
			own[data.fn[data.nodeBox[node[s]]]] += w[s];
		data.functions.forEach((f, i) =>
			sums.set(moduleOf(f), sums.get(moduleOf(f)) + own[i]));
		return new Map([...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a))
			.map((name, i) => [name, i]));
	});
}

const lastLeaves = /** @type {typeof lastAnswer<Int32Array>} */ (lastAnswer)();

/** @param {import('../data/tree.js').Tree} t the tree that is drawn */
const leavesOf = (t) =>
	lastLeaves([t], () => leaves(page.data, state.view === 'sandwich' ? page.stacks :
	page.whole, t));

/** @param {import('../data/tree.js').Tree} t @param {string} by */
function votesOf(t, by) {
	const {data, pass} = page;
	if (!page.votes.has(t)) {
		const g = largestFirst(by);
		page.votes.set(t, {of: majority(data, state.value, t, leavesOf(t), g.of, pass),
			names: g.names});
	}
	return page.votes.get(t);
}

const NAMED = 10; // how many groups the legend names; each has a fill colour of its own

/**
 * Returns the legend of the largest groups.
 * @param {string[]} names
 * @param {(name: string, i: number) => string} fill
 * @returns {Array<[string, string[]]>}
 */
function groupLegend(names, fill) {
	const more = names.length - NAMED;
	return [...names.slice(0, NAMED)
		.map((name, i) => /** @type {[string, string[]]} */ ([fit(name, 30),
		[fill(name, i)]])),
		...(more > 0 ? [/** @type {[string, string[]]} */ (['and ' + more + ' more',
			[fill('', NAMED)]])] : [])];
}

/**
 * Returns the legend of the timeline's colours.
 * @returns {Array<[string, string[]]>}
 */
function laneLegend() {
	return laneMode() === 'state' ? stateLegend() : gilLegend();
}

/**
 * Returns which states the colours of the timeline stand for: those of threads or those of the GIL.
 */
const laneMode = () => isOfWaits(page.data.header, state.value) ? 'state' : 'gil';

/** @returns {Array<[string, string[]]>} */
function stateLegend() {
	const there = new Set(page.data.labels.map(stateIndex));
	return [['Timeline, state of threads:', []], ...WAIT_STATES.filter((_, i) => there.has(i))
		.map((name) => /** @type {[string, string[]]} */ ([name, [stateFill(name)]]))];
}

/** @returns {Array<[string, string[]]>} */
function gilLegend() {
	const there = new Set(page.data.labels.map((l) => l.gil)),
		known = GIL.filter((name) => there.has(name));
	// in the timeline two states may have the same colour
	const fills = [...new Set(known.map(laneFill))];
	return known.length ? [['Timeline, state of the GIL:', []],
		...fills.map((fill) => /** @type {[string, string[]]} */ ([known.filter((name) =>
			laneFill(name) === fill).join(' or '), [fill]]))] : [];
}

export function legend() {
	const mode = state.colour;
	/** @type {Array<[string, string[]]>} */
	let own = null;
	if (mode === 'change') {
		changeLegend(laneLegend());
		return;
	}
	if (mode === 'self')
		own = [['own share: none', [heat(0)]], ['half', [heat(0.5)]], ['all', [heat(1)]]];
	else if (mode !== 'kind' && page.data.samples)
		own = mode === 'module' ? groupLegend([...moduleRanks().keys()],
			(_, i) => nthFill(i)) :
			groupLegend(largestFirst(mode).names,
				(name, i) => fillOfGroup(mode, name, i));
	showLegend(page.functions, own, mode === laneMode() ? [] : laneLegend());
}

/**
 * Returns the number of samples in a subtree (.count) and in its top box alone (.selfCount).
 * @param {Flame} of @param {number} node
 */
function samplesOf(of, node) {
	if (!isCounted(page.data.header, state.value))
		return {count: NaN, selfCount: NaN};
	if (page.early)
		return {count: -1, selfCount: -1};
	const {data, whole} = page;
	if (of.tree !== whole) {
		// the sum of the values tells the number of samples only if all samples have the
		// same value
		const one = data.samples && data.samples.each[state.value] || NaN;
		return {count: valueOf(of.tree, node) / one,
			selfCount: selfOf(of.tree, node) / one};
	}
	page.counts = page.counts || {...whole, sums: sumsOf(whole, 0)};
	return {count: valueOf(page.counts, node), selfCount: selfOf(page.counts, node)};
}

/**
 * Returns the hottest lines of a box.
 * @param {number} node @returns {Array<[string, number]>}
 */
function linesOf(node) {
	const {data, base} = page, {firstNode, nodeSpot, spotLine} = data;
	/** @type {Map<number, number>} */
	const lines = new Map();
	if (page.early || flame.tree !== base || node === 0)
		return [];
	nodesOf(data, base, nodeSums(), node, 0).forEach((sum, k) => {
		const n = spotLine[nodeSpot[firstNode[node] + k]];
		lines.set(n, (lines.get(n) || 0) + sum);
	});
	return [...lines].filter(([n, v]) => n && v).sort((a, b) => b[1] - a[1]).slice(0, 8)
		.map(([n, v]) => /** @type {[string, number]} */ (['line ' + n, v]));
}

/**
 * Returns the garbage collector's part of a box's value and of the box's samples. Code that the
 * collector called counts for the collector. -1: this part isn't known, or this kind of picture
 * doesn't show it.
 * @param {Flame} of @param {number} node
 */
function collectedIn(of, node) {
	const {data, pass} = page, in_gc = data.samples && !page.early && !of.tree.upwards ?
		collected(data) : null, t = of.tree;
	if (!in_gc)
		return {gc: -1, gcCount: -1};
	const leaf = leavesOf(t), {n, node: at, values} = data.samples, w = values[state.value];
	let gc = 0, gcCount = 0;
	for (let s = 0; s < n; s++) {
		if (in_gc[at[s]] && leaf[s] >= node && leaf[s] < t.end[node] &&
				(!pass || pass[s])) {
			gc += w[s];
			gcCount += values[0][s];
		}
	}
	return {gc, gcCount};
}

/** @param {Flame} of @param {number} node */
function waitsOf({tree}, node) {
	const {data, pass} = page;
	return !data.samples || page.early || tree.upwards ? [] :
		waitsIn(data, leavesOf(tree), node, tree.end[node], pass);
}

/** @param {Flame} of @param {number} node */
export function numbersOf(of, node) {
	const t = of.tree, {values} = page.data.header;
	return {value: valueOf(t, node), self: page.early || t.upwards ? -1 : selfOf(t, node),
		...samplesOf(of, node), all: page.total,
		shown: shown() === page.total && !of.zoom ? page.total : valueOf(t, of.zoom),
		part: of.zoom ? 'of the zoomed box' : 'of shown', unit: unit(),
		type: values[state.value][0],
		counted: values[0][0], ...collectedIn(of, node), waits: waitsOf(of, node),
		lines: of === flame ? linesOf(node) : []};
}
