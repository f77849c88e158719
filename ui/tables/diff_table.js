// SPDX-License-Identifier: BSD-2-Clause
// The tables of a page of two recordings: each row's cost before and after, its change, and whether
// the change is more than noise. As in the terminal, native code counts for the own cost of its
// Python caller.

import {el} from '../base/base.js';
import {choose, filterBy, lookFor} from '../change/change.js';
import {SELF, TOTAL, judged, surely, verdictOf} from '../view/diff.js';
import {TABLES, fnGroup, groupSums, owners, rowsAround, showRows, tableName} from './rows.js';
import {PROGRAM, THREAD_NAME, groupLabels, labelSums} from '../data/samples.js';
import {changeOf, costText, points, relative, shareOf, sharesOnly, signed} from '../data/sides.js';
import {page, state} from '../view/view.js';

/** @typedef {import('../data/sides.js').Cost} Cost */
/**
 * @typedef {import('../parts/table.js').Row & {cost: Record<string, Cost>, verdict: number}} Change a
 *   row; its self and total are the mean of both sides
 */

/**
 * Returns the key of labels by which rows are grouped: for threads and processes the grouping by
 * name, because their numbers differ from run to run, and names don't.
 * @param {string} key of labels
 */
const lasting = (key) => key === 'thread' ? THREAD_NAME : key === 'process' ? PROGRAM : key;

/** @param {number} before @param {number} after @returns {Cost} */
const costs = (before, after) => ({before, after});
/** @param {Cost} c */
const mean = (c) => (c.before + c.after) / 2;

/** @param {string} which @returns {Change[]} */
function functionChanges(which) {
	const {functions, stacks: {scale}} = page, g = fnGroup(which), {note} = TABLES[which];
	const [a, b] = groupSums(g, owners());
	return g.example.map((f, i) => {
		const cost = {self: costs(a.self[i] * scale[0], b.self[i] * scale[1]),
			total: costs(a.all[i] * scale[0], b.all[i] * scale[1])};
		return {
			name: g.names[i], note: note(functions[f]), cost, self: mean(cost.self),
			total: mean(cost.total),
			verdict: which === 'functions' ? verdictOf(f) : 0,
			chosen: which === 'functions' && f === state.chosen,
			choose: which === 'functions' ? () => choose(f, false) :
				which === 'modules' ? () => filterBy({module: g.names[i]}) :
				() => lookFor(g.names[i]),
		};
	});
}

/** @param {string} which @returns {Change[]} */
function changesAround(which) {
	return rowsAround(which).map(({sides: [a, b], ...r}) =>
		({...r, verdict: 0, cost: {self: costs(a.self, b.self),
			total: costs(a.total, b.total)}}));
}

/** @param {string} by @param {string} title before each name @returns {Change[]} */
function labelChanges(by, title) {
	const {data, pass, sides} = page, g = groupLabels(data, by),
		[before, after] = [0, 1].map(() => new Float64Array(g.names.length));
	labelSums(data, state.value, pass).forEach((x, i) => {
		if (g.of[i] >= 0)
			(sides.of[i] ? after : before)[g.of[i]] += x * sides.scale[sides.of[i]];
	});
	return g.names.map((name, i) => {
		const c = costs(before[i], after[i]);
		return {name: title + name, note: '', cost: {self: costs(0, 0), total: c}, self: 0,
			total: mean(c), verdict: 0, chosen: state.filter.labels[by] === name,
			choose: () => filterBy({labels: {...state.filter.labels, [by]: name}})};
	});
}

/**
 * @param {Cost} c
 * @param {number} sure bits: 1: the cost, 2: the share changed by more than noise; -1: not judged
 * @param {number} most the cost whose bar has the full width
 */
function changeCell(c, sure, most) {
	if (!c.before && !c.after)
		return el('td', {class: 'change'}, el('span', {class: 'amount'}, '\u2013'));
	const text = (/** @type {number} */ x) => costText(page.data, state.value, x);
	const share = sharesOnly(page.data, state.value),
		change = changeOf(share ? shareOf(page.sides, c) : c);
	const bars = [c.before, c.after].map((x, i) => {
		const b = el('i', {class: i ? 'after' : 'before'});
		b.style.width = (100 * x / (most || 1)).toFixed(1) + '%';
		return b;
	});
	// The change of a share is shown in percentage points, except for functions that are gone
	// or new.
	const pt = points(page.sides, c), part = relative(c);
	return el('td', {class: 'change', title: sure < 0 ? false : sure ? '* is more than noise' :
		'without *: may be chance'},
		el('span', {class: 'share ' + (change > 0 ? 'up' : change < 0 ? 'down' : '')},
			share ? pt : signed(change, text(Math.abs(change))),
			sure > 0 && sure & (share ? 3 : 1) ? '\u00a0*' : ''),
		' ', el('span', {class: 'amount'}, share ? c.before && c.after ? '' : part :
			[part, pt].filter(Boolean).join(' \u00b7 '),
			!share && sure > 0 && sure & 2 ? '\u00a0*' : ''),
		' ', el('span', {class: 'amount both'}, text(c.before), ' \u2192 ', text(c.after)),
		...bars);
}

/**
 * Orders rows as the terminal's table does: changes beyond noise come first; then larger changes
 * come first.
 * @param {string} key 'self' or 'total' @returns {(a: any, b: any) => number}
 */
function byChange(key) {
	const other = key === 'self' ? 'total' : 'self', bits = key === 'self' ? [SELF, TOTAL] :
		[TOTAL, SELF];
	const rank = (/** @type {Change} */ r) => surely(r.verdict, bits[0]) ? 0 :
		surely(r.verdict, bits[1]) ? 1 : 2;
	const size = (/** @type {Change} */ r) => {
		const cost = r.cost[rank(r) === 1 ? other : key],
			c = sharesOnly(page.data, state.value) ? shareOf(page.sides, cost) : cost;
		return Math.abs(c.after - c.before);
	};
	return (a, b) => rank(a) - rank(b) || size(b) - size(a) || (a.name < b.name ? -1 : 1);
}

export function changeTable() {
	const name = tableName(), kind = TABLES[name], title = (/** @type {string} */ k) =>
		name === 'labels' ? k + ': ' : '';
	const rows = kind.own ? changesAround(name) : !kind.of ? functionChanges(name) :
		kind.of().flatMap((k) => labelChanges(lasting(k), title(k)));
	const most = (/** @type {string} */ key) =>
		rows.reduce((a, r) => Math.max(a, r.cost[key].before, r.cost[key].after), 0);
	const here = name === 'functions' && judged(); // only functions are judged against noise
	const longest = {self: most('self'), total: most('total')};
	showRows(rows, {
		order: byChange,
		caption: `${kind.title}: change of the ${(kind.own || 'own').toLowerCase()} cost ` +
			'and of the total' +
			(here ? '; * is more than noise, a change without * may be chance' : ''),
		cell: (r, key) => changeCell(/** @type {Change} */ (r).cost[key],
			here ? /** @type {Change} */ (r).verdict / (key === 'self' ? SELF :
			TOTAL) & 3 : -1, longest[key]),
	});
}
