// SPDX-License-Identifier: BSD-2-Clause
// Call trees in flat arrays. Nodes are in preorder, so a subtree is a range. Samples are sorted by
// their box, so the samples of a subtree are a range too, and its value is a difference of two
// running sums. So when the reader chooses other samples or another value, one pass over the
// samples is enough, and no pass over the boxes, which are many more.

/** @typedef {import('./data.js').Data} Data */

/**
 * @typedef {object} Tree
 * @property {number} n
 * @property {Int32Array} parent
 * @property {Int32Array} fn index into functions; -1: root
 * @property {Int32Array} end one past the last node of the subtree
 * @property {Int32Array} depth
 * @property {number} maxDepth
 * @property {Int32Array|null} of for each box or node that the tree was made of: the node of this
 *   tree; null: the same
 * @property {Int32Array} order samples sorted by their node; samples without a node aren't in it
 * @property {Int32Array} first by node, and one more at the end: where its samples begin in .order
 * @property {Float64Array[]} sums of the samples before each one in .order, by side: one, or those
 *   of two recordings
 * @property {number[]} scale factor of each side's sums; see sides.js
 * @property {Runs|null} runs made when first asked for
 * @property {Float64Array} [at] in time order: the value before each box, which is its place
 * @property {[number, number]|null} [window] the part of time order, in the unit of .at, that is
 *   drawn in full, down to the last sample that can be distinguished
 * @property {boolean} [around] .of has nodes only for boxes of the function that the tree is about;
 *   what these called has the same node
 * @property {Map<number, import('./data.js').Fn>} [folds] names of boxes into which several frames
 *   are folded
 * @property {boolean} [upwards] below a box are its callers, so the part of its value that isn't
 *   below it isn't its function's own value
 *
 * @typedef {object} Runs chains of boxes with the same samples: most boxes have one child
 * @property {Int32Array} start first box of each; and .n at the end
 * @property {Int32Array} begin of its samples in .order; and their number at the end
 * @property {Int32Array} end of its samples
 */
/**
 * @typedef {{first: Int32Array, sums: Float64Array[]}} NodeSums as Tree's .first and .sums, but by
 *   node of the data (a line of a function under one line of its caller)
 */

const NONE = new Int32Array(0);

/**
 * @param {number} n
 * @param {Int32Array} parent
 * @param {Int32Array} fn
 * @param {Int32Array} depth
 * @returns {Tree}
 */
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
	return {n, parent, fn, end, depth, maxDepth, of: null, order: NONE, first: NONE, sums: [],
		scale: [1], runs: null};
}

/** @param {Data} d @returns {Tree} */
export const baseTree = ({boxes, parent, fn, end, depth, maxDepth}) =>
	({n: boxes, parent, fn, end, depth, maxDepth, of: null, order: NONE, first: NONE, sums: [],
		scale: [1], runs: null});

/**
 * @param {ArrayLike<number>} values
 * @returns {Float64Array} for each value the sum of those before it; at the end the sum of all
 */
export function sumsFrom(values) {
	const out = new Float64Array(values.length + 1);
	for (let i = 0; i < values.length; i++)
		out[i + 1] = out[i] + values[i];
	return out;
}

/**
 * Sets the tree's sums from given values of its nodes, for trees whose values don't come from
 * samples.
 * @param {Tree} t @param {ArrayLike<number>[]} self of its nodes, by side (a comparison has two)
 */
export function setSelf(t, self) {
	t.order = NONE;
	t.first = new Int32Array(t.n + 1);
	for (let i = 0; i <= t.n; i++)
		t.first[i] = i;
	t.sums = self.map(sumsFrom);
}

/** @param {Tree} t @param {number} i @param {number} side the result lacks its factor .scale */
export const sideOf = (t, i, side) => t.sums[side][t.first[t.end[i]]] - t.sums[side][t.first[i]];
/** @param {Tree} t @param {number} i @param {number} side */
export const sideSelfOf = (t, i, side) => t.sums[side][t.first[i + 1]] - t.sums[side][t.first[i]];

/**
 * Returns the chains of boxes that have the same samples, so that these are added up once.
 * @param {Tree} t @returns {Runs}
 */
export function runsOf(t) {
	if (t.runs)
		return t.runs;
	const {n, first, end} = t, start = [], begin = [], ends = [];
	for (let i = 1, from = -1, to = -1; i < n; i++) {
		const a = first[i], b = first[end[i]];
		if (a !== from || b !== to) {
			start.push(i);
			begin.push(from = a);
			ends.push(to = b);
		}
	}
	start.push(n);
	begin.push(first[n]);
	return t.runs = {start: Int32Array.from(start), begin: Int32Array.from(begin),
		end: Int32Array.from(ends)};
}

/**
 * @param {Tree} t
 * @param {number} a
 * @param {number} b
 * @returns {number} the value of the samples .order[a] to .order[b - 1]; with two sides, the mean
 *   of both
 */
function between({sums, scale}, a, b) {
	return sums.length === 1 ? sums[0][b] - sums[0][a] :
		((sums[0][b] - sums[0][a]) * scale[0] + (sums[1][b] - sums[1][a]) * scale[1]) / 2;
}

/** @param {Tree} t @param {number} i */
export const valueOf = (t, i) => between(t, t.first[i], t.first[t.end[i]]);
/** @param {Tree} t @param {number} i */
export const selfOf = (t, i) => between(t, t.first[i], t.first[i + 1]);

/**
 * @param {Tree} t @param {number[]} list of nodes
 * @param {(t: Tree, i: number) => number} size if it is equal, the value decides
 */
export function bySize(t, list, size) {
	if (list.length < 2)
		return list;
	const sizes = new Float64Array(list.length), order = [];
	for (let k = 0; k < list.length; k++) {
		sizes[k] = size(t, list[k]);
		order.push(k);
	}
	const tie = (/** @type {number} */ a, /** @type {number} */ b) => valueOf(t, b) - valueOf(t,
		a) || t.fn[a] - t.fn[b];
	return order.sort((a, b) => sizes[b] - sizes[a] || tie(list[a], list[b]))
		.map((k) => list[k]);
}

/**
 * Returns the children of a node that are shown, the widest first.
 * @param {Tree} t @param {number} i @param {number} [least] value
 */
export function children(t, i, least) {
	return bySize(t, inOrder(t, i, least), valueOf);
}

/**
 * Returns the children of a node that are shown, in the order that they have in the tree.
 * @param {Tree} t @param {number} i
 */
export function inOrder(t, i, least = 0) {
	const out = [];
	for (let k = i + 1; k < t.end[i]; k = t.end[k]) {
		const value = valueOf(t, k);
		if (value > 0 && value >= least)
			out.push(k);
	}
	return out;
}

/**
 * Returns the box that a path of functions from the root leads to; 0: none. If there are groups and
 * the path doesn't begin with one, it is the widest of the boxes to which the path leads in all
 * groups.
 * @param {Tree & {leaf?: Int32Array}} t @param {number[]} path
 */
export function follow(t, path) {
	let best = 0;
	for (const start of t.leaf ? [0, ...children(t, 0)] : [0]) {
		let at = start;
		for (const f of path)
			at = at < 0 ? at : children(t, at).find((k) => t.fn[k] === f) ?? -1;
		if (at > start && (!best || valueOf(t, at) > valueOf(t, best)))
			best = at;
	}
	return best;
}

/**
 * Returns the boxes of a function that aren't inside another box of this function.
 * @param {Tree} t @param {number} f @returns {number[]}
 */
export function boxesOf({n, fn, end}, f) {
	const out = [];
	for (let i = 1; i < n; i = fn[i] === f ? end[i] : i + 1) {
		if (fn[i] === f)
			out.push(i);
	}
	return out;
}

/**
 * Returns for each node its key, if no caller of the node has the same key; else -1.
 * @param {Tree} t
 * @param {Int32Array} keyOf the key of each function; -1: none
 * @param {number} keys
 * @param {number} [from] the first node that is looked at
 */
export function outermost(t, keyOf, keys, from = 1) {
	// until[key]: the first node after the subtree of the last node that has the key.
	const out = new Int32Array(t.n).fill(-1), {fn, end} = t, until = new Int32Array(keys);
	for (let i = from; i < t.n; i++) {
		const k = keyOf[fn[i]];
		if (k >= 0 && i >= until[k]) {
			until[k] = end[i];
			out[i] = k;
		}
	}
	return out;
}

/**
 * Returns a tree made of the data's boxes. Each box may become a child of another box, a part of
 * another box, or nothing.
 * @param {Pick<Data, 'boxes'|'parent'|'functions'>} d
 * @param {(i: number, parent: number, fnOf: (n: number) => number, up: (n: number) => number) =>
 *   number} place called with box i, whose parent became node @parent. Returns the function that it
 *   becomes a box of; -1: its parent's node; -2: nothing, nor anything below it; -3 - n: node n
 * @returns {Tree}
 */
export function remap(d, place) {
	const n = d.boxes, to = new Int32Array(n), parent = [0], fn = [-1], at = new Map();
	const fnOf = (/** @type {number} */ i) => fn[i],
		up = (/** @type {number} */ i) => parent[i];
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
 * Numbers nodes in preorder; parents come before children.
 * @param {number[]} parent @param {number[]} fn @param {Int32Array} to
 */
export function ordered(parent, fn, to) {
	const n = parent.length, first = new Int32Array(n).fill(-1),
		next = new Int32Array(n).fill(-1);
	// Each list of children is in reverse order, so that the first child is taken off the stack
	// first.
	for (let i = 1; i < n; i++) {
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
