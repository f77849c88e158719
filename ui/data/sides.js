// SPDX-License-Identifier: BSD-2-Clause
// Two recordings in one page. Values of both sides are compared in one measure: per second of wall
// time, per unit of work that the user counted, or as shares. The value of a box is the mean of
// both sides' values in this measure, so a path that only one side has gets a box too.

import {percent, quantity} from '../base/base.js';
import {labelSums} from './samples.js';
import {inOrder, bySize, sideOf, sideSelfOf} from './tree.js';

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./tree.js').Tree} Tree */

/**
 * @typedef {object} Sides
 * @property {Uint8Array} of side of each label set: 0 before, 1 after
 * @property {number[][]} all sums by value type and side
 * @property {number[]} scale of the shown value type: what each side's values are multiplied by
 * @property {number[]} total of both sides in the measure
 *
 * @typedef {object} Cost in the measure
 * @property {number} before @property {number} after
 */

/** @param {Data} d @returns {Sides} without sums */
export function sidesOf(d) {
	const key = d.header.diff.label;
	return {of: Uint8Array.from(d.labels, (set) => set[key] === 'after' ? 1 : 0), all: [],
		scale: [1, 1], total: [0, 0]};
}

/** @param {Sides} sides @param {Data} d */
export function sumSides(sides, d) {
	sides.all = d.samples.values.map((_, v) => {
		const sum = [0, 0];
		labelSums(d, v, null).forEach((x, i) => {
			sum[sides.of[i]] += x;
		});
		return sum;
	});
}

/**
 * Sets .scale (by what each side's values are multiplied) before the samples are read, from each
 * side's sum of one value type.
 * @param {Sides} sides
 * @param {Data} d
 * @param {number} v
 * @param {Tree} t of the widest boxes
 * @param {Float64Array[]} values of these boxes, before and after; that of box 0 is the sum
 */
export function scaleEarly(sides, d, v, t, values) {
	sides.all[v] = values.map((of) => of[0]);
	scaleSides(sides, d, v, null);
	t.scale = sides.scale;
}

/**
 * Returns how values of a type are compared: per unit of work, per second, or as shares.
 * @param {Data} d @param {number} v @returns {'per'|'rate'|'share'}
 */
export function measureOf(d, v) {
	const {per, durationNs} = d.header.diff;
	return per ? 'per' : d.header.values[v][1] === 'nanoseconds' && durationNs[0] > 0 &&
		durationNs[1] > 0 ? 'rate' : 'share';
}

/**
 * Sets .scale (by what each side's values are multiplied) and .total. In a range of time, a rate
 * refers to the range.
 * @param {Sides} sides
 * @param {Data} d
 * @param {number} v
 * @param {[number, number]|null} range
 */
export function scaleSides(sides, d, v, range) {
	const {counts, durationNs} = d.header.diff, by = measureOf(d, v);
	sides.scale = [0, 1].map((side) => {
		if (by === 'share')
			return 1 / (sides.all[v][side] || 1);
		if (by === 'per')
			return 1 / counts[side];
		const seen = range ? Math.min(range[1], durationNs[side]) - Math.max(range[0], 0) :
			durationNs[side];
		return 1 / Math.max(seen, 1);
	});
	const whole = by === 'rate' ? durationNs : by === 'per' ? counts :
		sides.all[v].map((x) => x || 1);
	sides.total = [0, 1].map((side) => sides.all[v][side] / whole[side]);
}

/**
 * Tells whether a change is judged by the shares of each side's total. This is so if the user
 * didn't count the work, because a higher rate may then come from more work.
 * @param {Data} d @param {number} v
 */
export const sharesOnly = (d, v) => measureOf(d, v) !== 'per';

/** @param {Sides} s @param {Cost} c @returns {Cost} as shares of each side's total */
export const shareOf = (s, c) =>
	({before: c.before / (s.total[0] || 1), after: c.after / (s.total[1] || 1)});

/** @param {Tree} t @param {number} i @returns {Cost} */
export const costOf = (t, i) =>
	({before: sideOf(t, i, 0) * t.scale[0], after: sideOf(t, i, 1) * t.scale[1]});
/** @param {Tree} t @param {number} i @returns {Cost} */
export const selfCostOf = (t, i) =>
	({before: sideSelfOf(t, i, 0) * t.scale[0], after: sideSelfOf(t, i, 1) * t.scale[1]});

/** @param {Tree} t @param {number} i */
const effectOf = (t, i) => Math.abs(sideOf(t, i, 1) * t.scale[1] - sideOf(t, i, 0) * t.scale[0]);

/**
 * Returns the children of a node that are shown, the child with the largest change first.
 * @param {Tree} t @param {number} i
 */
export function byEffect(t, i) {
	return bySize(t, inOrder(t, i), effectOf);
}

/**
 * Returns a cost as text, as in src/cli/diff/print.c: "338 ms/s", "1.2 ms", "33.8 %".
 * @param {Data} d @param {number} v @param {number} x
 */
export function costText(d, v, x) {
	const by = measureOf(d, v);
	if (by === 'share')
		return percent(x, 1);
	if (by === 'per')
		return quantity(x, d.header.values[v][1]);
	return (1000 * x).toFixed(Math.abs(x) < 0.01 && x ? 2 : 0) + '\u00a0ms/s';
}

/** @param {number} x @param {string} text the number without its sign */
export const signed = (x, text) => (x < 0 ? '\u2212' : x > 0 ? '+' : '') + text;

/**
 * Returns the change of a cost. A difference as small as rounding makes it, when numbers are added
 * in another order, counts as no change.
 * @param {Cost} c
 */
export function changeOf(c) {
	const change = c.after - c.before;
	return Math.abs(change) > 1e-9 * (c.before + c.after) ? change : 0;
}

/**
 * Returns the change as a text: "+15.7 %", "new", "gone".
 * @param {Cost} c
 */
export function relative(c) {
	const change = changeOf(c);
	if (!(c.before > 0))
		return c.after > 0 ? 'new' : '';
	return c.after > 0 ? signed(change, (100 * Math.abs(change) / c.before).toFixed(1) +
		'\u00a0%') : 'gone';
}

/**
 * Returns the share after minus the share before, in percentage points: "+1.2 pt".
 * @param {Sides} s @param {Cost} c
 */
export function points(s, c) {
	const share = shareOf(s, c), pt = 100 * (share.after - share.before);
	return signed(Math.abs(pt) > 1e-7 ? pt : 0, Math.abs(pt).toFixed(1) + '\u00a0pt');
}
