// SPDX-License-Identifier: BSD-2-Clause
// Computes what depends on single samples and their labels: filters, groups, threads and processes.

import {lastAnswer} from '../base/base.js';
import {GC} from './data.js';
import {makeTree} from './tree.js';
import {endedOf, lengthsOf} from './waits.js';

// Groupings that aren't labels: they group samples by the name of the process, by the name of the
// thread, or by both labels together. No recording has labels with these names. html_header.c has
// the same words.
export const PROGRAM = 'process, by name', THREAD_NAME = 'thread, by name';
export const EACH_THREAD = 'thread, with its process';

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./data.js').Fn} Fn */
/** @typedef {import('./tree.js').Tree} Tree */

/**
 * @typedef {object} Filter
 * @property {Record<string, string>} labels value by key; '': samples without that label
 * @property {string} kind name of a kind of code that must be in the stack; '': any
 * @property {string} module name of a module that must be in the stack; '': any
 * @property {[number, number]|null} range of time, ns
 */

/**
 * Returns the name that a label set has in a grouping. @by: a label's key, PROGRAM or THREAD_NAME.
 * @param {Record<string, string>} set @param {string} by @returns {string}
 */
export function nameOf(set, by) {
	const name = (/** @type {string} */ text, /** @type {string} */ key) =>
		set[text] && set[key] ? `${set[text]} (${key} ${set[key]})` : set[text] ||
			(set[key] ? key + ' ' + set[key] : '');
	if (by === 'thread')
		return name('thread', 'tid') || '[no thread]';
	if (by === EACH_THREAD)
		return nameOf(set, 'process') + ' \u00b7 ' + nameOf(set, 'thread');
	if (by === THREAD_NAME)
		return set.thread || name('thread', 'tid') || '[no thread]';
	if (by === 'process')
		return name('process', 'pid') || '[no process]';
	if (by === PROGRAM)
		return set.process || name('process', 'pid') || '[no process]';
	return set[by] || `[no ${by}]`;
}

/**
 * Returns the title of a group of samples. A label's value alone says nothing, so the label's key
 * precedes it.
 * @param {string} by @param {string} name as nameOf() has it
 */
export const groupTitle = (by, name) => ['process', 'thread', PROGRAM, THREAD_NAME, EACH_THREAD]
	.includes(by) || name === `[no ${by}]` ? name : by + ' ' + name;

/**
 * Returns 1 for each label set that occurs in samples, 0 for the others.
 * @param {Data} d
 */
function usedLabels(d) {
	const used = new Uint8Array(d.labels.length).fill(1);
	for (const id of d.header.unusedLabels)
		used[id] = 0;
	return used;
}

/**
 * Groups label sets by their names. .names: the names of the groups; .of: for each set the number
 * of its group, -1 if no sample has the set.
 * @param {Data} d @param {string} by @returns {{of: Int32Array, names: string[]}}
 */
export function groupLabels(d, by) {
	const ids = new Map(), names = /** @type {string[]} */ ([]),
		of = new Int32Array(d.labels.length).fill(-1);
	const used = usedLabels(d);
	d.labels.forEach((set, i) => {
		if (!used[i])
			return;
		const name = nameOf(set, by);
		if (!ids.has(name)) {
			ids.set(name, names.length);
			names.push(name);
		}
		of[i] = ids.get(name);
	});
	return {of, names};
}

/**
 * Sorts groups below their processes, both in the order of their first samples; if two groups begin
 * together, the group with the larger weight is first.
 * @param {Data} d
 * @param {{of: Int32Array, names: string[]}} g
 * @param {Float64Array} first sample's time by label set
 * @param {ArrayLike<number>} weights of groups
 */
export function inTimeOrder(d, {of, names}, first, weights) {
	const above = groupLabels(d, 'process'), upper = new Int32Array(names.length).fill(-1);
	const begin = new Float64Array(names.length).fill(Infinity),
		start = new Float64Array(above.names.length).fill(Infinity),
		all = new Float64Array(above.names.length);
	of.forEach((g, set) => {
		const p = above.of[set];
		if (g < 0)
			return;
		begin[g] = Math.min(begin[g], first[set]);
		start[p] = Math.min(start[p], first[set]);
		if (upper[g] < 0 || start[p] < start[upper[g]])
			upper[g] = p;
	});
	names.forEach((_, g) => {
		all[upper[g]] += weights[g];
	});
	// Infinity minus Infinity isn't a number, so times aren't subtracted.
	const earlier = (/** @type {number} */ a, /** @type {number} */ b) => a < b ? -1 :
		a > b ? 1 : 0;
	return [...names.keys()].sort((a, b) => earlier(start[upper[a]], start[upper[b]]) ||
		all[upper[b]] - all[upper[a]] || upper[a] - upper[b] ||
		earlier(begin[a], begin[b]) || weights[b] - weights[a]);
}

/**
 * Returns for each label set the time of its first sample, in ns; Infinity: the set has no sample
 * with a time.
 * @param {Data} d
 */
export function firstTimes({samples: {n, labels, time}, labels: sets}) {
	const out = new Float64Array(sets.length).fill(Infinity);
	for (let s = 0; s < n; s++) {
		if (time[s] >= 0 && time[s] < out[labels[s]])
			out[labels[s]] = time[s];
	}
	return out;
}

// width of a picture in pixels; a thread that is narrower than a pixel can't be seen
const PIXELS = 1000;

/**
 * Groups threads below their processes, in order of time. If a thread would be narrower than a
 * pixel, it isn't shown alone: all such threads of one process form one group.
 * @param {Data} d @param {number} v value type
 */
export function threadsInTime(d, v) {
	const several = groupLabels(d, 'process').names.length > 1,
		g = groupLabels(d, several ? EACH_THREAD : 'thread'),
		weights = groupWeights(d, g, v, null);
	const least = weights.reduce((a, b) => a + b, 0) / PIXELS,
		processOf = (/** @type {string} */ name) => several ?
		name.slice(0, name.lastIndexOf(' \u00b7 ') + 3) : '';
	const thin = new Map(), number = new Int32Array(g.names.length),
		names = /** @type {string[]} */ ([]), counts = /** @type {number[]} */ ([]);
	for (const i of inTimeOrder(d, g, firstTimes(d), weights)) {
		const process = processOf(g.names[i]), at = weights[i] < least ? thin.get(process) :
			undefined;
		number[i] = at ?? names.length;
		if (at !== undefined) {
			names[at] = `${process}${++counts[at]} threads`;
			continue;
		}
		if (weights[i] < least)
			thin.set(process, names.length);
		names.push(g.names[i]);
		counts.push(1);
	}
	return {of: g.of.map((i) => i < 0 ? -1 : number[i]), names};
}

/**
 * Returns the keys of labels by which samples differ, except the keys of processes and threads.
 * @param {Data} d
 */
export function labelKeys(d) {
	/** @type {Map<string, {first: string, sets: number, several: boolean}>} */
	const keys = new Map();
	const used = usedLabels(d);
	let sets = 0;
	d.labels.forEach((set, i) => {
		sets += used[i];
		for (const k of used[i] ? Object.keys(set) : []) {
			const seen = keys.get(k) || {first: set[k], sets: 0, several: false};
			seen.sets++;
			seen.several = seen.several || set[k] !== seen.first;
			keys.set(k, seen);
		}
	});
	for (const k of ['pid', 'tid', 'process', 'thread'])
		keys.delete(k);
	return [...keys].filter(([, seen]) => seen.several || seen.sets < sets)
		.map(([k]) => k).sort();
}

/** @param {Filter} f */
export const isFiltered = (f) =>
	Boolean(f.range || f.kind || f.module || Object.keys(f.labels).length);

/**
 * Returns 1 for each sample that a filter lets through; null: the filter lets all through.
 * @param {Data} d
 * @param {Filter} f
 * @param {{kind: (f: Fn) => string, module: (f: Fn) => string}} words
 * @param {boolean} anyTime
 */
export function passing(d, f, words, anyTime) {
	const range = anyTime ? null : f.range, keys = Object.keys(f.labels);
	if (!range && !f.kind && !f.module && !keys.length)
		return null;
	const {n, node, labels, time} = d.samples, out = new Uint8Array(n);
	const sets = Uint8Array.from(d.labels,
		(set) => keys.every((k) => nameOf(set, k) === f.labels[k]) ? 1 : 0);
	const nodes = f.kind || f.module ? nodesWith(d, f, words) : null;
	const from = range ? range[0] : -Infinity, to = range ? range[1] : Infinity,
		length = lengthsOf(d), ended = range ? endedOf(d) : null;
	for (let s = 0; s < n; s++)
		out[s] = sets[labels[s]] && time[s] - (ended ? ended[s] : 0) < to &&
			(time[s] >= from || length && time[s] >= 0 && time[s] + length[s] > from) &&
			(!nodes || nodes[node[s]] === BOTH) ? 1 : 0;
	return out;
}

const lastWith = /** @type {typeof lastAnswer<Uint8Array>} */ (lastAnswer)();
const OF_KIND = 1, OF_MODULE = 2, BOTH = 3;

/**
 * Returns BOTH for each node whose stack has a frame of the filter's kind and a frame of its
 * module. These may be two frames.
 * @param {Data} d
 * @param {Filter} f
 * @param {{kind: (f: Fn) => string, module: (f: Fn) => string}} words
 */
function nodesWith(d, f, words) {
	return lastWith([f.kind, f.module], () => {
		const fits = Uint8Array.from(d.functions,
			(g) => (!f.kind || words.kind(g) === f.kind ? OF_KIND : 0) | (!f.module ||
			words.module(g) === f.module ? OF_MODULE : 0));
		const out = new Uint8Array(d.nodes);
		for (let i = 1; i < d.nodes; i++)
			out[i] = out[d.nodeParent[i]] | fits[d.spotFn[d.nodeSpot[i]]];
		return out;
	});
}

/**
 * Returns 1 for each node that has in its stack a function for which @is is true; null: there is no
 * such function.
 * @param {Data} d @param {(f: Fn) => boolean|undefined} is
 */
function nodesBelow(d, is) {
	const such = Uint8Array.from(d.functions, (f) => is(f) ? 1 : 0),
		out = new Uint8Array(d.nodes);
	if (!such.includes(1))
		return null;
	for (let i = 1; i < d.nodes; i++)
		out[i] = out[d.nodeParent[i]] | such[d.spotFn[d.nodeSpot[i]]];
	return out;
}

const lastCollected = /** @type {typeof lastAnswer<Uint8Array|null>} */ (lastAnswer)(),
	lastImporting = /** @type {typeof lastAnswer<Uint8Array|null>} */ (lastAnswer)();

/**
 * Returns 1 for each node that has the garbage collector in its stack: everything that the
 * collector calls counts for the collector, also finalizers.
 * @param {Data} d
 */
export const collected = (d) => lastCollected([d.nodeParent],
	() => nodesBelow(d, (f) => f.kind === GC));
/** @param {Data} d */
export const importing = (d) => lastImporting([d.nodeParent],
	() => nodesBelow(d, (f) => f.imports));

/**
 * Returns the sum of the recording's value in the nodes for which @nodes is 1.
 * @param {Data} d @param {Uint8Array|null} nodes @param {number} v value type
 */
export function sumOf(d, nodes, v) {
	const {samples, self} = d;
	let sum = 0;
	for (let i = 0; nodes && i < (samples ? samples.n : d.nodes); i++)
		sum += nodes[samples ? samples.node[i] : i] * (samples ? samples.values :
			self)[v][i];
	return sum;
}

/**
 * Sorts samples by the number that @at has for each, such as the number of its box. .order: the
 * samples; .first: for each number, where its samples begin in .order.
 * @param {Int32Array} at place of each sample, -1 = none @param {number} places number of places
 */
export function sortSamples(at, places) {
	const first = new Int32Array(places + 1);
	for (const i of at) {
		if (i >= 0)
			first[i]++;
	}
	let sum = 0;
	for (let i = 0; i <= places; i++)
		first[i] = sum += first[i];
	const order = new Int32Array(sum);
	for (let s = at.length - 1; s >= 0; s--) {
		if (at[s] >= 0)
			order[--first[at[s]]] = s;
	}
	return {order, first};
}

/**
 * Returns for each sample of @order the sum of a value over the samples before it, by side (a
 * comparison has two).
 * @param {Data} d
 * @param {Int32Array} order
 * @param {number} v
 * @param {Uint8Array|null} pass
 * @param {Uint8Array|null} sideOf label sets; null: there is one side
 */
export function sumSamples(d, order, v, pass, sideOf) {
	const {labels, values} = d.samples, w = values[v],
		first = new Float64Array(order.length + 1),
		second = sideOf && new Float64Array(order.length + 1);
	let one = 0, other = 0;
	for (let k = 0; k < order.length; k++) {
		const s = order[k], value = !pass || pass[s] ? w[s] : 0;
		if (sideOf && sideOf[labels[s]])
			other += value;
		else
			one += value;
		first[k + 1] = one;
		if (second)
			second[k + 1] = other;
	}
	return second ? [first, second] : [first];
}

/**
 * Returns the sum of value @v for each label set.
 * @param {Data} d @param {number} v @param {Uint8Array|null} pass
 * @param {Float64Array[]} [values] of samples, by type
 */
export function labelSums(d, v, pass, values = d.samples.values) {
	const out = new Float64Array(d.labels.length), {n, labels} = d.samples,
		w = values[v];
	for (let s = 0; s < n; s++) {
		if (!pass || pass[s])
			out[labels[s]] += w[s];
	}
	return out;
}

/**
 * Returns the sum of value @v for each group.
 * @param {Data} d
 * @param {ReturnType<groupLabels>} g
 * @param {number} v
 * @param {Uint8Array|null} pass
 */
export function groupWeights(d, g, v, pass) {
	const out = new Float64Array(g.names.length);
	labelSums(d, v, pass).forEach((x, i) => {
		if (g.of[i] >= 0)
			out[g.of[i]] += x;
	});
	return out;
}

/**
 * Returns a tree with the groups below its root. Below each group is the group's part of @inner.
 * .leaf: the node of each sample.
 * @param {Data} d
 * @param {Tree} inner
 * @param {Int32Array} group of label sets
 * @param {number} groups
 * @param {number} firstFn
 * @returns {Tree & {leaf: Int32Array}}
 */
export function groupTree(d, inner, group, groups, firstFn) {
	const {n, node, labels} = d.samples, counts = new Int32Array(groups + 1),
		order = new Int32Array(n);
	for (let s = 0; s < n; s++)
		counts[group[labels[s]] + 1]++;
	for (let g = 0; g < groups; g++)
		counts[g + 1] += counts[g];
	const next = counts.slice();
	for (let s = 0; s < n; s++)
		order[next[group[labels[s]]]++] = s;
	const leaf = new Int32Array(n), stamp = new Int32Array(inner.n).fill(-1),
		at = new Int32Array(inner.n);
	const parent = [0], fn = [-1], depth = [0];
	for (let g = 0; g < groups; g++) {
		const list = [], root = parent.length;
		parent.push(0);
		fn.push(firstFn + g);
		depth.push(1);
		at[0] = root;
		stamp[0] = g;
		for (let k = counts[g]; k < counts[g + 1]; k++) {
			const box = d.nodeBox[node[order[k]]];
			let i = inner.of ? inner.of[box] : box;
			leaf[order[k]] = i;
			for (; i > 0 && stamp[i] !== g; i = inner.parent[i]) {
				stamp[i] = g;
				list.push(i);
			}
		}
		for (const i of Int32Array.from(list).sort()) {
			at[i] = parent.length;
			parent.push(at[inner.parent[i]]);
			fn.push(inner.fn[i]);
			depth.push(inner.depth[i] + 1);
		}
		for (let k = counts[g]; k < counts[g + 1]; k++) {
			const s = order[k];
			leaf[s] = leaf[s] < 0 ? -1 : at[leaf[s]];
		}
	}
	return {...makeTree(parent.length, Int32Array.from(parent), Int32Array.from(fn),
		Int32Array.from(depth)), leaf};
}

/**
 * Returns for each sample its node in @t; -1: the sample is in no node.
 * @param {Data} d
 * @param {Tree & {leaf?: Int32Array}} whole
 * @param {Tree & {leaf?: Int32Array}} t @whole itself, or a tree made of it
 */
export function leaves(d, whole, t) {
	if (t.leaf)
		return t.leaf;
	const {n, node} = d.samples, out = new Int32Array(n), {leaf, of} = whole;
	for (let s = 0; s < n; s++) {
		const box = d.nodeBox[node[s]];
		let at = leaf ? leaf[s] : of ? of[box] : box;
		while (t.around && at > 0 && t.of[at] < 0)
			at = whole.parent[at];
		out[s] = t === whole || at < 0 ? at : t.of[at];
	}
	return out;
}

/**
 * Returns for each box the group that has more than half of the box's value, found by majority vote
 * from the leaves up. If no group has that much, the result for the box is one of the larger
 * groups.
 * @param {Data} d @param {number} v value type
 * @param {Tree} t
 * @param {Int32Array} leaf of samples
 * @param {Int32Array} group of label sets
 * @param {Uint8Array|null} pass
 */
export function majority(d, v, t, leaf, group, pass) {
	const of = new Int32Array(t.n).fill(-1), lead = new Float64Array(t.n),
		{n, labels, values} = d.samples, weights = values[v];
	const vote = (/** @type {number} */ i, /** @type {number} */ g,
			/** @type {number} */ w) => {
		if (of[i] === g)
			lead[i] += w;
		else if (lead[i] >= w)
			lead[i] -= w;
		else {
			of[i] = g;
			lead[i] = w - lead[i];
		}
	};
	for (let s = 0; s < n; s++) {
		if (leaf[s] >= 0 && (!pass || pass[s]))
			vote(leaf[s], group[labels[s]], weights[s]);
	}
	for (let i = t.n - 1; i > 0; i--) {
		if (of[i] >= 0)
			vote(t.parent[i], of[i], lead[i]);
	}
	return of;
}
