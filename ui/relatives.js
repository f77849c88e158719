// SPDX-License-Identifier: BSD-2-Clause
// The tables of callers and callees in a sandwich: what its two pictures show, without eyes or a mouse.

import {fillOf} from './colour.js';
import {outermost, sideOf} from './tree.js';
import {above, page, state} from './view.js';

/** @typedef {import('./tree.js').Tree} Tree */

/** @type {Record<string, () => Tree>} by table */
const TREES = {callers: () => above.tree, callees: () => above.tree && page.tree};

/**
 * Whether a table has something to be of: there are callers and callees in a sandwich only.
 * @param {string} table
 */
export const isThere = (table) => !TREES[table] || TREES[table]() !== null;

/**
 * What each function has next to the chosen one, and in all; as a caller or callee of itself too.
 * @param {Tree} t whose first box is the chosen function's
 */
function sumsAround(t) {
	const {functions} = page, keys = functions.length, outer = outermost(t, Int32Array.from(functions, (f, i) => f.root ? -1 : i), keys, 2);
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

/**
 * @param {string} table @param {(f: number) => void} go @param {(f: import('./data.js').Fn) => string} note
 * @returns {Array<import('./table.js').Row & {sides: Array<{self: number, total: number}>}>} .self: next to the chosen function
 */
export function relativeRows(table, go, note) {
	const bySide = sumsAround(TREES[table]()), mean = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0) / list.length;
	return page.functions.map((f, i) => {
		const sides = bySide.map(({next, all}) => ({self: next[i], total: all[i]}));
		return {name: f.name, note: note(f), sides, self: mean(sides.map((s) => s.self)), total: mean(sides.map((s) => s.total)),
			chosen: i === state.chosen, fill: page.sides ? undefined : fillOf(f), choose: () => go(i)};
	}).filter((r) => r.total > 0);
}
