// SPDX-License-Identifier: BSD-2-Clause
// Other trees made of the same boxes: without library frames, with recursion in one place, callers
// and callees of a function, stacks from the leaf.

import {PYTHON} from './data.js';
import {leaves, sortSamples} from './samples.js';
import {makeTree, ordered, remap, selfOf, setSelf, sideOf, sideSelfOf, sumsFrom,
	valueOf} from './tree.js';

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./tree.js').Tree} Tree */

/**
 * Returns 1 for each box of a library, and for each box of native code that a library called.
 * @param {Data} d
 */
export function insideLibrary(d) {
	const inside = new Uint8Array(d.boxes),
		foreign = Uint8Array.from(d.functions, (f) => f.kind === PYTHON ? f.origin ? 1 : 0 :
		2);
	for (let i = 1; i < d.boxes; i++)
		inside[i] = foreign[d.fn[i]] === 1 || foreign[d.fn[i]] === 2 &&
			inside[d.parent[i]] ? 1 : 0;
	return inside;
}

/**
 * Tells remap() where to put a box of a function that called itself: into the function's outermost
 * box.
 * @param {number} f
 * @param {number} parent
 * @param {(n: number) => number} fnOf
 * @param {(n: number) => number} up
 */
function outerBox(f, parent, fnOf, up) {
	for (let n = parent; n > 0; n = up(n)) {
		if (fnOf(n) === f)
			return -3 - n;
	}
	return f;
}

/**
 * Returns for each node the node that shows its time while library frames are hidden. That is the
 * node of the nearest caller outside of libraries, as in krait report --hide. 0: there is no such
 * caller.
 * @param {Data} d
 */
export function callerNodes(d) {
	const inside = insideLibrary(d), out = new Int32Array(d.nodes);
	for (let i = 1; i < d.nodes; i++)
		out[i] = inside[d.nodeBox[i]] ? out[d.nodeParent[i]] : i;
	return out;
}

/**
 * @param {Data} d
 * @param {boolean} hidden library frames are left out, and their time is their caller's
 * @param {boolean} recursion is shown in one box
 */
export function shaped(d, hidden, recursion) {
	const inside = insideLibrary(d);
	return remap(d, (i, parent, fnOf, up) => {
		const f = d.fn[i];
		if (inside[i] && hidden)
			return -1;
		return recursion ? outerBox(f, parent, fnOf, up) : f;
	});
}

/**
 * Returns the tree of what a function calls, joined over all places that call the function.
 * Recursion counts once, because only the function's outermost boxes are used. .of has an entry for
 * each node of @t. .order has indexes into @t's .order; addUp() takes the sums from there.
 * @param {Tree} t @param {number} f @param {number[]} boxes its outermost ones
 * @param {number} keys number of functions
 */
export function callees(t, f, boxes, keys) {
	const parent = [0, 0], fn = [-1, f], at = new Map(), to = new Int32Array(t.n).fill(-1),
		places = new Int32Array(t.first[t.n]).fill(-1);
	for (const box of boxes) {
		to[box] = 1;
		for (let i = box + 1; i < t.end[box]; i++) {
			const key = to[t.parent[i]] * keys + t.fn[i];
			let node = at.get(key);
			if (node === undefined) {
				node = parent.length;
				at.set(key, node);
				parent.push(to[t.parent[i]]);
				fn.push(t.fn[i]);
			}
			to[i] = node;
		}
	}
	const out = ordered(parent, fn, to);
	for (const box of boxes) {
		for (let i = box; i < t.end[box]; i++)
			places.fill(to[i], t.first[i], t.first[i + 1]);
	}
	return Object.assign(out, sortSamples(places, out.n));
}

/**
 * Computes the sums of @out, which callees() made of @t, from the current sums of @t.
 * @param {Tree} out @param {Tree} t
 */
export function addUp(out, t) {
	out.scale = t.scale;
	out.sums = t.sums.map((of) =>
		sumsFrom(Float64Array.from(out.order, (k) => of[k + 1] - of[k])));
	return out;
}

/**
 * Copies tree @t so that a function that calls itself is one box. The copy's .of has an entry for
 * each node of the tree from which @t itself was made.
 * @param {Tree} t @param {import('./data.js').Fn[]} functions
 */
export function collapsed(t, functions) {
	const out = remap({boxes: t.n, parent: t.parent, functions},
		(i, parent, fnOf, up) => outerBox(t.fn[i], parent, fnOf, up));
	setSelf(out, t.sums.map((_, side) => {
		const self = new Float64Array(out.n);
		for (let i = 0; i < t.n; i++)
			self[out.of[i]] += sideSelfOf(t, i, side);
		return self;
	}));
	return {...out, scale: t.scale, upwards: t.upwards, around: t.around,
		of: t.of.map((i) => i < 0 ? -1 : out.of[i])};
}

/**
 * Returns a tree, with its sums, of nodes that are already in preorder. On a page that compares two
 * recordings, each has its own sums (a side).
 * @param {number[]} parent
 * @param {number[]} fn
 * @param {number[][]} self by side
 * @param {number[]} scale
 */
function filled(parent, fn, self, scale) {
	const depth = new Int32Array(parent.length);
	for (let i = 1; i < parent.length; i++)
		depth[i] = depth[parent[i]] + 1;
	const t = makeTree(parent.length, Int32Array.from(parent), Int32Array.from(fn), depth);
	setSelf(t, self);
	t.scale = scale;
	return t;
}

// the picture is thought to have this many columns; what is narrower than a column isn't seen
const PARTS = 4000;

/**
 * @typedef {{all: (t: Tree, i: number) => number, side: (t: Tree, i: number, side: number) =>
 *   number}} Weight of boxes
 */
/**
 * @typedef {{boxes: number[], all: number[], sides: number[][]}} Starts boxes at which stacks
 *   start, and the value of each, in all and by side (a comparison has two)
 */
/**
 * @typedef {{up: number, f: number, at: number[], from: number[], all: number, sides: number[]}}
 *   Stacks that continue alike so far. .up: the node of the new tree below which they continue;
 *   .f: their next function; .from: for each stack, the number of its start; .at: the box that it
 *   has reached
 */

/** @param {number} up @param {number} f @param {number} sides @returns {Stacks} */
const noStacks = (up, f, sides) =>
	({up, f, at: [], from: [], all: 0, sides: new Array(sides).fill(0)});

/**
 * @param {Stacks} g @param {Starts} starts @param {number} at the box that the stack has reached
 * @param {number} k the number of the stack's start
 */
function addStack(g, {all, sides}, at, k) {
	g.at.push(at);
	g.from.push(k);
	g.all += all[k];
	for (let side = 0; side < sides.length; side++)
		g.sides[side] += sides[side][k];
}

/**
 * Begins a stack at each of the given boxes that has a value.
 * @param {Tree} t
 * @param {Array<[number, number[]]>} boxesOf each function, and its boxes @param {Weight} weight
 * @returns {{starts: Starts, begun: Stacks[]}} .begun: the stacks of each function
 */
function begin(t, boxesOf, weight) {
	const starts = {boxes: /** @type {number[]} */ ([]), all: /** @type {number[]} */ ([]),
		sides: t.sums.map(() => /** @type {number[]} */ ([]))};
	const begun = boxesOf.map(([f, boxes]) => {
		const g = noStacks(0, f, t.sums.length);
		for (const i of boxes) {
			const value = weight.all(t, i);
			if (!(value > 0))
				continue;
			starts.all.push(value);
			starts.sides.forEach((list, side) => list.push(weight.side(t, i, side)));
			addStack(g, starts, i, starts.boxes.push(i) - 1);
		}
		return g;
	});
	return {starts, begun};
}

/**
 * Goes from each stack's box to the box of its caller, and groups the stacks by the function of
 * that box.
 * @param {Tree} t
 * @param {Stacks} stacks
 * @param {number} node the node of the new tree that these stacks have reached
 * @param {Starts} starts
 */
function byCaller(t, {at, from}, node, starts) {
	/** @type {Map<number, Stacks>} */
	const groups = new Map();
	for (let k = 0; k < at.length; k++) {
		const p = t.parent[at[k]];
		if (p <= 0)
			continue;
		let g = groups.get(t.fn[p]);
		if (!g)
			groups.set(t.fn[p], g = noStacks(node, t.fn[p], t.sums.length));
		addStack(g, starts, p, from[k]);
	}
	return groups.values();
}

/**
 * Makes a tree of stacks that begin at given boxes and go to their callers: below each node are its
 * callers. Anything narrower than 1/PARTS of the width isn't followed up, because nobody could see
 * it.
 * @param {Tree} t
 * @param {Array<[number, number[]]>} boxesOf each function, and its boxes at which stacks start
 * @param {Weight} weight @param {number[]} rest by side (a comparison has two), the value that
 *   belongs to no start
 * @param {Int32Array} of becomes .of of the new tree; has -1 for each node of @t
 */
function callers(t, boxesOf, weight, rest, of) {
	const {starts, begun} = begin(t, boxesOf, weight),
		least = begun.reduce((sum, g) => sum + g.all, 0) / PARTS;
	const todo = begun.filter((g) => g.all > least),
		narrow = begun.filter((g) => !(g.all > least));
	const parent = [0], fn = [-1],
		self = rest.map((x, side) => [narrow.reduce((sum, g) => sum + g.sides[side], x)]);
	const put = (/** @type {number} */ up, /** @type {number} */ f,
			/** @type {number[]} */ own) => {
		fn.push(f);
		self.forEach((list, side) => list.push(own[side]));
		return parent.push(up) - 1;
	};
	while (todo.length) {
		const g = todo.pop(), {at, sides: own} = g;
		// whether all stacks of the group have the same callers from this box on
		const alike = at.every((i) => i === at[0]);
		let node = put(g.up, g.f, own);
		if (alike) {
			for (let p = t.parent[at[0]]; p > 0; p = t.parent[p]) {
				self.forEach((list) => list[node] = 0);
				node = put(node, t.fn[p], own);
			}
		}
		for (const k of g.from)
			of[starts.boxes[k]] = node;
		for (const further of alike ? [] : byCaller(t, g, node, starts)) {
			if (!(further.all > least))
				continue;
			todo.push(further);
			self.forEach((list, side) => list[node] -= further.sides[side]);
		}
	}
	return {...filled(parent, fn, self, t.scale), of, upwards: true};
}

/**
 * Makes the tree of stacks that begin with their leaves.
 * @param {Tree} t
 */
export function inverted(t) {
	/** @type {Map<number, number[]>} */
	const starts = new Map();
	for (let i = 1; i < t.n; i++) {
		const f = t.fn[i];
		if (selfOf(t, i) <= 0)
			continue;
		if (!starts.has(f))
			starts.set(f, []);
		starts.get(f).push(i);
	}
	return callers(t, [...starts], {all: selfOf, side: sideSelfOf},
		t.sums.map((_, side) => sideSelfOf(t, 0, side)), new Int32Array(t.n).fill(-1));
}

/**
 * Returns the tree of a function's callers, which begins at the function's outermost boxes.
 * @param {Tree} t @param {number} f @param {number[]} boxes
 * @param {Int32Array} of becomes .of of the new tree; in the first call it has -1 for each node of
 *   @t, in later ones, with the same boxes, what the call before left in it
 */
export function callersOf(t, f, boxes, of) {
	for (const i of boxes)
		of[i] = -1;
	return {...callers(t, [[f, boxes]], {all: valueOf, side: sideOf}, t.sums.map(() => 0), of),
		around: true};
}

const COLUMNS = 2000; // at most so many columns are drawn, more than anyone could tell apart

/**
 * Returns a tree whose samples are drawn one after the other, in order of time. Neighbours share
 * the boxes of common callers; groups stay apart. .leaf: the node of each sample. Samples that are
 * too narrow to be seen share boxes.
 * @param {Data} d
 * @param {Tree & {leaf?: Int32Array}} t
 * @param {Float64Array} w of samples, 0 = not shown
 * @param {[number, number]|null} window the part that is drawn in full; the rest is as coarse as if
 *   everything were looked at
 * @returns {Tree & {leaf: Int32Array}}
 */
export function inTime(d, t, w, window) {
	const {n, time} = d.samples, leaf = leaves(d, t, t), top = new Int32Array(t.n),
		to = new Int32Array(n).fill(-1);
	let all = 0, end = 1;
	for (let i = 1; i < t.n; i++)
		top[i] = t.leaf && t.depth[i] > 1 ? top[t.parent[i]] : i;
	const kept = /** @type {number[]} */ ([]);
	for (let s = 0; s < n; s++) {
		if (w[s] > 0 && leaf[s] > 0) {
			kept.push(s);
			all += w[s];
			end = Math.max(end, time[s]);
		}
	}
	const bin = Float64Array.from(kept, (s) => (t.leaf ? top[leaf[s]] * 1e7 : 0) +
		Math.floor(time[s] / end * 1e6));
	const order = Uint32Array.from(kept.keys()).sort((a, b) => bin[a] - bin[b] ||
		leaf[kept[a]] - leaf[kept[b]]);
	const parent = [0], fn = [-1], self = [0], from = [0], path = [0], steps = [];
	const least = all / COLUMNS * 0.3,
		leastSeen = window ? (window[1] - window[0]) / COLUMNS * 0.3 : least;
	/**
	 * @param {number} a
	 * @param {number} b
	 * @returns {number} how many levels two stacks have in common
	 */
	const common = (a, b) => {
		while (a !== b) {
			if (t.depth[a] >= t.depth[b])
				a = t.parent[a];
			else
				b = t.parent[b];
		}
		return t.depth[a];
	};
	let last = 0, before = 0, gone = 0;
	for (let k = 0; k < order.length; k++) {
		const s = kept[order[k]], at = leaf[s],
			after = k + 1 < order.length ? common(at, leaf[kept[order[k + 1]]]) : 0;
		const seen = window && gone + w[s] > window[0] && gone < window[1];
		const depth = w[s] < (seen ? leastSeen : least) ?
			Math.max(before, after, t.leaf ? 1 : 0) : t.depth[at];
		steps.length = 0;
		for (let i = at; t.depth[i] > Math.min(before, last); i = t.parent[i]) {
			if (t.depth[i] <= depth)
				steps.push(i);
		}
		let have = Math.min(before, last);
		for (const i of steps.reverse()) {
			path[have + 1] = parent.length;
			parent.push(path[have++]);
			fn.push(t.fn[i]);
			self.push(0);
			from.push(gone);
		}
		self[path[have]] += w[s];
		gone += w[s];
		to[s] = path[have];
		last = have;
		before = after;
	}
	return {...filled(parent, fn, [self], t.scale), at: Float64Array.from(from), of: to,
		leaf: to, window};
}
