// SPDX-License-Identifier: BSD-2-Clause
// Call trees in flat arrays: preorder, so that a subtree is a range and sums need one pass back.

/** @typedef {import('./data.js').Data} Data */

/**
 * @typedef {object} Tree
 * @property {number} n
 * @property {Int32Array} parent
 * @property {Int32Array} fn index into functions, -1 = root
 * @property {Int32Array} end one past the last node of the subtree
 * @property {Int32Array} depth
 * @property {Float64Array} self
 * @property {Float64Array} value
 * @property {number} maxDepth
 * @property {Int32Array|null} of node of this tree for each box, or each node that it was made of; null = the same
 * @property {Uint8Array|null} outer 1 = no caller is the same function
 * @property {Float64Array|null} before of two recordings, the first one's part of .value; sides.js
 * @property {Float64Array|null} beforeSelf and of .self
 */

/** @param {number} n @param {Int32Array} parent @param {Int32Array} fn @param {Int32Array} depth @returns {Tree} */
export function makeTree(n, parent, fn, depth) {
	const end = new Int32Array(n);
	let maxDepth = 0;
	for (let i = n - 1; i > 0; i--) {
		if (end[i] <= i)
			end[i] = i + 1;
		const p = parent[i];
		if (end[p] < end[i])
			end[p] = end[i];
		if (depth[i] > maxDepth)
			maxDepth = depth[i];
	}
	if (!end[0])
		end[0] = 1;
	return {n, parent, fn, end, depth, self: new Float64Array(n), value: new Float64Array(n),
		maxDepth, of: null, outer: null, before: null, beforeSelf: null};
}

/** @param {Data} d */
export const baseTree = (d) => makeTree(d.boxes, d.parent, d.fn, d.depth);

/**
 * Sums from leaves to the root, after .self was set.
 * @param {Tree} t
 */
export function sumUp(t) {
	const {value, parent} = t;
	value.set(t.self);
	for (let i = t.n - 1; i > 0; i--)
		value[parent[i]] += value[i];
}

/**
 * Values of nodes (spots) to a tree's boxes.
 * @param {Data} d @param {Tree} t @param {Float64Array} weights
 */
export function setSelf(d, t, weights) {
	const {nodeBox} = d, {self, of} = t;
	self.fill(0);
	for (let i = 0; i < weights.length; i++) {
		if (weights[i]) {
			const box = nodeBox[i], at = of ? of[box] : box;
			if (at >= 0)
				self[at] += weights[i];
		}
	}
	sumUp(t);
}

/**
 * Children that are shown, the widest first.
 * @param {Tree} t @param {number} i
 */
export function children(t, i) {
	const out = [], {end, value, fn} = t;
	for (let k = i + 1; k < end[i]; k = end[k]) {
		if (value[k] > 0)
			out.push(k);
	}
	return out.length > 1 ? out.sort((a, b) => value[b] - value[a] || fn[a] - fn[b]) : out;
}

/**
 * Children that are shown, as they come.
 * @param {Tree} t @param {number} i
 */
export function inOrder(t, i) {
	const out = [];
	for (let k = i + 1; k < t.end[i]; k = t.end[k]) {
		if (t.value[k] > 0)
			out.push(k);
	}
	return out;
}

/**
 * The box that a path of functions from the root leads to, 0 = none; with groups, the widest of those,
 * if the path doesn't begin with one.
 * @param {Tree & {leaf?: Int32Array}} t @param {number[]} path
 */
export function follow(t, path) {
	let best = 0;
	for (const start of t.leaf ? [0, ...children(t, 0)] : [0]) {
		let at = start;
		for (const f of path)
			at = at < 0 ? at : children(t, at).find((k) => t.fn[k] === f) ?? -1;
		if (at > start && (!best || t.value[at] > t.value[best]))
			best = at;
	}
	return best;
}

/**
 * 1 for nodes with no caller of the same key.
 * @param {Tree} t @param {(i: number) => number} key @param {number} keys
 */
export function outermost(t, key, keys) {
	const out = new Uint8Array(t.n), on = new Int32Array(keys), path = new Int32Array(t.maxDepth + 1);
	let top = 0;
	path[0] = -1;
	for (let i = 1; i < t.n; i++) {
		for (; top >= t.depth[i]; top--) {
			if (path[top] >= 0)
				on[path[top]]--;
		}
		const k = key(i);
		top = t.depth[i];
		path[top] = k;
		if (k >= 0 && !on[k]++)
			out[i] = 1;
	}
	return out;
}

/**
 * A tree in which each box may become another's child, a part of another, or nothing.
 * @param {Data} d
 * @param {(i: number, parent: number, fnOf: (n: number) => number, up: (n: number) => number) => number} place
 *   of box i, whose parent became node @parent: the function that it is a box of; -1: what its parent
 *   is; -2: nothing, with all below; else, -3 - n: node n
 * @returns {Tree}
 */
export function remap(d, place) {
	const n = d.boxes, to = new Int32Array(n), parent = [0], fn = [-1], at = new Map();
	const fnOf = (/** @type {number} */ i) => fn[i], up = (/** @type {number} */ i) => parent[i];
	for (let i = 1; i < n; i++) {
		const p = to[d.parent[i]];
		if (p < 0) {
			to[i] = -1;
			continue;
		}
		const f = place(i, p, fnOf, up);
		if (f < 0) {
			to[i] = f === -1 ? p : f === -2 ? -1 : -3 - f;
			continue;
		}
		const key = p * d.functions.length + f;
		let node = at.get(key);
		if (node === undefined) {
			node = parent.length;
			at.set(key, node);
			parent.push(p);
			fn.push(f);
		}
		to[i] = node;
	}
	return ordered(parent, fn, to);
}

/**
 * Numbers nodes, parents before children, in preorder.
 * @param {number[]} parent @param {number[]} fn @param {Int32Array} to
 */
export function ordered(parent, fn, to) {
	const n = parent.length, first = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
	for (let i = 1; i < n; i++) { // so that the first child is taken off the stack first
		next[i] = first[parent[i]];
		first[parent[i]] = i;
	}
	const number = new Int32Array(n), outParent = new Int32Array(n), outFn = new Int32Array(n);
	const depth = new Int32Array(n), todo = [0];
	let count = 0;
	while (todo.length) {
		const i = todo.pop(), at = count++;
		number[i] = at;
		outFn[at] = fn[i];
		if (at) {
			outParent[at] = number[parent[i]];
			depth[at] = depth[outParent[at]] + 1;
		}
		for (let c = first[i]; c >= 0; c = next[c])
			todo.push(c);
	}
	const t = makeTree(n, outParent, outFn, depth);
	for (let i = 0; i < to.length; i++) {
		if (to[i] >= 0)
			to[i] = number[to[i]];
	}
	t.of = to;
	return t;
}
