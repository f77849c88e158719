// SPDX-License-Identifier: BSD-2-Clause
// The tables of callers and callees in a sandwich (the view of one function). They say what the
// sandwich's two pictures show, also for readers who can't see these or have no mouse.

import {lastAnswer} from '../base/base.js';
import {fillOf} from '../picture/colour.js';
import {outermost, sideOf, valueOf} from '../data/tree.js';
import {above, page, state} from '../view/view.js';

/**
 * @typedef {Array<{next: Float64Array, all: Float64Array}>} Sums by side (a comparison has two),
 *   for each function: .next: the value of stacks in which it is next to the chosen function; .all:
 *   of all stacks in which it is a direct or indirect caller (or callee) of the chosen function
 */

/**
 * Returns the sums of the chosen function's callers, from its outermost boxes, including boxes that
 * are too narrow for the picture.
 * @returns {Sums}
 */
function callerSums() {
	const {functions, stacks, around} = page, {parent, fn, scale} = stacks,
		seen = new Int32Array(functions.length);
	const out = stacks.sums.map(() =>
		({next: new Float64Array(functions.length),
		all: new Float64Array(functions.length)}));
	const values = new Float64Array(out.length);
	for (const i of around.boxes) {
		if (!(valueOf(stacks, i) > 0))
			continue;
		for (let side = 0; side < out.length; side++)
			values[side] = sideOf(stacks, i, side) * scale[side];
		for (let k = parent[i]; k > 0; k = parent[k]) {
			const f = fn[k];
			if (functions[f].root || seen[f] === i)
				continue;
			seen[f] = i;
			for (let side = 0; side < out.length; side++) {
				out[side].all[f] += values[side];
				out[side].next[f] += k === parent[i] ? values[side] : 0;
			}
		}
	}
	return out;
}

const lastCallees = /** @type {typeof lastAnswer<Int32Array>} */ (lastAnswer)();

/**
 * Returns, for each box of what the chosen function calls, the box's function; -1: a box further
 * out is of the same function.
 */
function calleeBoxes() {
	const {functions, tree: t} = page;
	return lastCallees([t],
		() => outermost(t, Int32Array.from(functions, (f, i) => f.root ? -1 : i),
		functions.length, 2));
}

/**
 * Returns the sums of the callees. A function that calls itself counts as its own callee.
 * @returns {Sums}
 */
function calleeSums() {
	const {functions, tree: t} = page, keys = functions.length, outer = calleeBoxes();
	return t.sums.map((_, side) => {
		const next = new Float64Array(keys), all = new Float64Array(keys);
		for (let i = 2; i < t.n; i++) {
			if (outer[i] < 0)
				continue;
			const value = sideOf(t, i, side) * t.scale[side];
			all[outer[i]] += value;
			if (t.depth[i] === 2)
				next[outer[i]] += value;
		}
		return {next, all};
	});
}

/** @type {Record<string, () => Sums>} by table */
const SUMS = {callers: callerSums, callees: calleeSums};

/**
 * Does a table have something to show? The tables of callers and callees have rows only in the view
 * of one function (sandwich).
 * @param {string} table
 */
export const isThere = (table) => !SUMS[table] || above.tree !== null;

/**
 * @param {string} table @param {(f: number) => void} go
 * @param {(f: import('../data/data.js').Fn) => string} note
 * @returns {Array<import('../parts/table.js').Row & {sides: Array<{self: number, total: number}>}>}
 *   .self: the value of stacks in which the row's function is next to the chosen one
 */
export function relativeRows(table, go, note) {
	const bySide = SUMS[table](), mean = (/** @type {number[]} */ list) =>
		list.reduce((a, b) => a + b, 0) / list.length;
	return page.functions.map((f, i) => {
		const sides = bySide.map(({next, all}) => ({self: next[i], total: all[i]}));
		return {name: f.name, note: note(f), sides, self: mean(sides.map((s) => s.self)),
			total: mean(sides.map((s) => s.total)),
			chosen: i === state.chosen, fill: page.sides ? undefined : fillOf(f),
			choose: () => go(i)};
	}).filter((r) => r.total > 0);
}
