// SPDX-License-Identifier: BSD-2-Clause
// The details of a box: shown beside the pointer, and spoken for the box that the keyboard is on.

import {byId, el, percent, quantity} from '../base/base.js';
import {kindName} from '../picture/colour.js';

/** @typedef {import('../data/data.js').Fn} Fn */

/**
 * @typedef {object} Numbers of a box
 * @property {number} value
 * @property {number} self of the value type shown; -1: not known yet, or not in this kind of
 *   picture
 * @property {number} count
 * @property {number} selfCount number of samples, in the function itself; -1: not known yet, as
 *   .self; NaN: never known
 * @property {number} all value of the recording
 * @property {number} shown value of what is on the screen
 * @property {string} part name of what is on the screen
 * @property {number} gc
 * @property {number} gcCount .gc and .gcCount: the garbage collector's part of .value and .count,
 *   including code that it called; -1: as in .self
 * @property {string} unit @property {string} type of the values
 * @property {string} counted what .count counts
 * @property {Array<[string, number]>} lines the hottest, with their values
 * @property {import('../data/waits.js').Wait[]} waits what was waited for in it, the longest first
 */

/**
 * Returns the place of a function, such as "app.py:42".
 * @param {Fn} f
 */
export function place(f) {
	return f.path && f.line && f.kind === 0 ? f.path + ':' + f.line : f.path;
}

/** @param {Numbers} n */
const hasCount = (n) => !Number.isNaN(n.count);

/**
 * @param {Numbers} n of a box. Returns true if the value isn't the count itself, so that both are
 * shown
 */
const hasValue = (n) => n.type !== n.counted || !hasCount(n);

/** @param {string} name @param {number} value @param {number} count @param {Numbers} n */
function row(name, value, count, n) {
	const cells = [el('th', {scope: 'row'}, name)];
	if (hasValue(n))
		cells.push(el('td', {}, quantity(value, n.unit)));
	if (hasCount(n))
		cells.push(el('td', {}, count < 0 ? '\u2026' : quantity(count, 'count')));
	cells.push(el('td', {}, percent(value, n.all)));
	if (n.shown !== n.all)
		cells.push(el('td', {}, percent(value, n.shown)));
	return el('tr', {}, ...cells);
}

/**
 * Returns three cells: the number of waits, the longest wait, and the median wait. Since a sample
 * may be several waits, the number and the longest are only bounds.
 * @param {import('../data/waits.js').Wait} w
 */
function waitCells({count, longest, median}) {
	return Number.isNaN(count) ? ['\u2013', '\u2013', '\u2013'] :
		['\u2265\u00a0' + quantity(count, 'count'),
			'\u2264\u00a0' + quantity(longest, 'nanoseconds'),
			'\u2248\u00a0' + quantity(median, 'nanoseconds')];
}

/** @param {import('../data/waits.js').Wait[]} waits */
function waitTable(waits) {
	return el('table', {class: 'waits'}, el('tr', {},
		...['waits for', 'time', 'times', 'longest', 'median'].map((h) =>
			el('th', {scope: 'col'}, h))),
		...waits.map((w) => el('tr', {}, el('th', {scope: 'row'}, w.name),
		...[quantity(w.ns, 'nanoseconds'), ...waitCells(w)]
		.map((text) => el('td', {}, text)))));
}

/** @param {Fn} f @param {Numbers} n */
function content(f, n) {
	const head = ['', ...(hasValue(n) ?
		[n.unit === 'nanoseconds' ? 'time' : n.unit === 'count' ? n.type : 'value'] : []),
		...(hasCount(n) ? [n.counted] : []),
		'of all', ...(n.shown === n.all ? [] : [n.part])];
	const parts = [el('b', {}, f.name)];
	const about = [f.root ? '' : f.module, kindName(f)].filter(Boolean).join(' \u00b7 ');
	for (const text of [place(f), about]) {
		if (text)
			parts.push(el('div', {class: 'where'}, text));
	}
	parts.push(el('table', {}, el('tr', {}, ...head.map((h) => el('th', {scope: 'col'}, h))),
		row('total', n.value, n.count, n),
		...(n.self < 0 ? [] : [row('itself', n.self, n.selfCount, n)]),
		...(n.gc > 0 ? [row('including GC', n.gc, n.gcCount, n)] : [])));
	if (n.waits.length)
		parts.push(waitTable(n.waits));
	if (n.lines.length) {
		parts.push(el('table', {class: 'lines'}, ...n.lines.map(([name, value]) => {
			const bar = el('i');
			bar.style.width = (90 * Math.min(value / (n.value || 1), 1)).toFixed(1) +
				'px';
			return el('tr', {}, el('th', {scope: 'row'}, name),
				el('td', {class: 'bar'}, bar),
				el('td', {}, percent(value, n.value)));
		})));
	}
	return parts;
}

/** @param {Fn} f @param {Numbers} n @param {number} x @param {number} y of the pointer */
export function showTip(f, n, x, y) {
	putTip(content(f, n), x, y);
}

/**
 * Shows the whole tooltip. If it is higher than the window, it gets the window's whole width, and
 * smaller text, because the pointer can't scroll it.
 * @param {HTMLElement[]} parts the first is the name
 * @param {number} x
 * @param {number} y of the pointer
 */
export function putTip(parts, x, y) {
	const tip = byId('tip');
	tip.replaceChildren(...parts);
	tip.hidden = false;
	tip.style.maxWidth = tip.style.fontSize = '';
	for (let size = 12; tip.offsetHeight > innerHeight - 8 && size > 2; size--) {
		tip.style.maxWidth = 'calc(100vw - 8px)';
		tip.style.fontSize = parts[0].style.fontSize = size + 'px';
	}
	const r = tip.getBoundingClientRect(), gap = 14;
	const left = x + gap + r.width > innerWidth ? Math.max(x - gap - r.width, 4) : x + gap;
	const top = y + gap + r.height > innerHeight ? Math.max(y - gap - r.height, 4) : y + gap;
	tip.style.left = left + 'px';
	tip.style.top = top + 'px';
}

export function hideTip() {
	byId('tip').hidden = true;
}

/** @param {string} text */
export function say(text) {
	byId('live').textContent = text;
}
