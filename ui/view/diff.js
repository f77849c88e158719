// SPDX-License-Identifier: BSD-2-Clause
// What a page of two recordings shows of a box: its colour, its two bars, its details. Also what
// the page's header and legend say.

import {byId, el, fit} from '../base/base.js';
import {inks, kindName, mix} from '../picture/colour.js';
import {showLegend} from '../parts/controls.js';
import {place, putTip} from '../parts/details.js';
import {isFiltered} from '../data/samples.js';
import {matchedLine, matchedValues} from '../data/search.js';
import {costOf, costText, points, relative, selfCostOf, shareOf,
	sharesOnly} from '../data/sides.js';
import {flame, nodeSums, page, state, valueName} from './view.js';

/** @typedef {import('../data/data.js').Fn} Fn */
/** @typedef {import('../picture/flame.js').Flame} Flame */
/** @typedef {import('../data/sides.js').Cost} Cost */

// Bits of a verdict (whether a function changed by more than noise), as in
// src/picture/html/html_diff.h. SELF: the function's own cost changed; TOTAL: its total cost
// changed. The bit for the share of that cost is twice this value.
export const SELF = 1, TOTAL = 4;
/** @param {number} verdict @param {number} which */
export const surely = (verdict, which) => Boolean(verdict & 3 * which);

/**
 * Can the verdicts (which costs changed by more than noise) be used for what is shown? They were
 * made for whole recordings, and say nothing if filters are set.
 */
export const judged = () => !isFiltered(state.filter) && state.value === page.data.header.value &&
	state.library === 'shown';

/**
 * Tells which costs of a function changed by more than noise.
 * @param {number} f
 */
export const verdictOf = (f) => judged() && f >= 0 ? page.data.header.diff.changed[f] || 0 : 0;

const byShare = () => sharesOnly(page.data, state.value);

/**
 * Returns the direction of a box's change, from -1 (gone) to 1 (new).
 * @param {Flame} of @param {number} node
 */
function lean(of, node) {
	const cost = costOf(of.tree, node),
		{before, after} = byShare() ? shareOf(page.sides, cost) : cost;
	return before + after > 0 ? (after - before) / (after + before) : 0;
}

/** @param {number} x -1 to 1 */
function divergent(x) {
	const ink = inks();
	return mix(ink.same, x < 0 ? ink.less : ink.more, Math.sqrt(Math.abs(x)));
}

/**
 * Returns the fill of a box, which is pale if its function's change may be noise.
 * @param {Flame} of @param {number} node
 */
export function changeFill(of, node) {
	const f = of.tree.fn[node], x = lean(of, node);
	return divergent(judged() && f >= 0 && !verdictOf(f) ? x / 6 : x);
}

/** @param {Array<[string, string[]]>} more */
export function changeLegend(more) {
	const ink = inks(), pale = judged() ?
		[['pale: may be noise', [divergent(-1 / 6), divergent(1 / 6)]]] : [];
	const [smaller, larger] = byShare() ? ['smaller share after', 'larger share after'] :
		['less after', 'more after'];
	showLegend(page.functions,
		/** @type {Array<[string, string[]]>} */ ([[smaller,
		[divergent(-1), divergent(-0.3)]], ['the same', [divergent(0)]],
		[larger, [divergent(0.3), divergent(1)]], ...pale,
		['upper bar: before', [ink.before]], ['lower bar: after', [ink.after]]]), more);
}

/**
 * Returns the lengths of a box's two bars, for the cost before and after; the longer bar has length
 * 1.
 * @param {Flame} of @param {number} node @returns {[number, number]}
 */
export function barsOf(of, node) {
	const {before, after} = costOf(of.tree, node), most = Math.max(before, after) || 1;
	return [before / most, after / most];
}

/** @param {Flame} of @param {number} node */
export function changeNote(of, node) {
	const c = costOf(of.tree, node);
	return byShare() ? points(page.sides, c) : relative(c);
}

/** @param {number} x */
const cost = (x) => costText(page.data, state.value, x);

/** @param {string} name @param {Cost} c */
function costRow(name, c) {
	return el('tr', {}, el('th', {scope: 'row'}, name),
		...[cost(c.before), cost(c.after), relative(c), points(page.sides, c)]
		.map((text) => el('td', {}, text)));
}

/** @param {number} f */
function verdictText(f) {
	const v = verdictOf(f), parts = [];
	if (surely(v, SELF))
		parts.push('its own cost');
	if (surely(v, TOTAL))
		parts.push('its total');
	return parts.length ? 'More than noise in this function: ' + parts.join(' and ') : '';
}

/** @param {Flame} of @param {number} node @param {number} x @param {number} y of the pointer */
export function showChange(of, node, x, y) {
	const f = of.fnOf(node), t = of.tree;
	const where = [place(f),
		[f.root ? '' : f.module, kindName(f)].filter(Boolean).join(' \u00b7 '),
		verdictText(t.fn[node])].filter(Boolean);
	putTip([el('b', {}, f.name), ...where.map((text) => el('div', {class: 'where'}, text)),
		el('table', {}, el('tr', {},
			...['', 'before', 'after', 'change', 'share']
			.map((h) => el('th', {scope: 'col'}, h))),
			costRow('total', costOf(t, node)),
			...(page.early || t.upwards ? [] :
			[costRow('itself', selfCostOf(t, node))]))], x, y);
}

/**
 * Returns the spoken text for the box that the keyboard is on.
 * @param {Flame} of @param {number} node
 */
export function spokenChange(of, node) {
	const c = costOf(of.tree, node), f = of.fnOf(node);
	return `${fit(f.name, 300)}, ${place(f)}, before ${cost(c.before)}, ` +
		`after ${cost(c.after)}, ${relative(c)}`;
}

export function diffHeader() {
	const {header} = page.data, d = header.diff, how = d.timed ?
		'block permutation over time' : 'samples taken as independent';
	byId('title').textContent = byId('title').title = header.title;
	byId('numbers').replaceChildren(d.verdict, el('br'), d.sum + ' \u00b7 ' +
		(state.value === header.value ?
		`* is more than noise (${how}, corrected for all functions), ` +
		'a change without * may be chance' :
		`noise is judged for ${valueName(header.values[header.value][0])} only`));
	flame.canvas.setAttribute('aria-label',
		`Flame graph of ${fit(d.before, 200)} and ${fit(d.after, 200)} together: ` +
		'a box is a function, its width the mean of both. The table has the same numbers.');
}

/**
 * Says in words, for each side, which share of the cost @whole is the cost @part.
 * @param {(side: number) => number} part @param {number[]} whole
 */
function ofBoth(part, whole) {
	const share = (/** @type {number} */ side) => (100 * part(side) / (whole[side] || 1))
		.toFixed(1) + '\u00a0%';
	return `${share(0)} of before, ${share(1)} of after`;
}

/** Says in words which part of both sides the filters let through. */
export function shownOfBoth() {
	const c = costOf(page.stacks, 0);
	return ofBoth((side) => side ? c.after : c.before, page.sides.total) +
		' is shown; noise is judged for all only';
}

/** @param {number[]} values before and after */
export function ofBothShown(values) {
	const c = costOf(page.stacks, 0);
	return ofBoth((side) => values[side], [c.before, c.after]);
}

/** @param {Uint8Array} hit by function @param {number} line 0: any */
export function matchedOfBoth(hit, line) {
	const {data, stacks} = page, sums = line ? matchedLine(data, nodeSums(), hit, line) :
		matchedValues(stacks, hit);
	return ofBothShown(sums.map((sum, side) => sum * stacks.scale[side]));
}
