// SPDX-License-Identifier: BSD-2-Clause
// The controls around the picture: toolbar, breadcrumbs, legend, the list of keys.

import {byId, el, refill} from '../base/base.js';
import {FAMILIES, familyFills, family} from '../picture/colour.js';

/** @typedef {import('../data/data.js').Fn} Fn */

/**
 * @param {string} label
 * @param {string} title
 * @param {() => void} press
 * @param {boolean} [pressed]
 */
export function button(label, title, press, pressed) {
	return el('button', {type: 'button', title, onclick: press,
		...(pressed === undefined ? {} : {'aria-pressed': pressed ? 'true' : 'false'})},
			label);
}

/**
 * @param {string} label @param {Array<[string, string]>} options value and text
 * @param {string} value
 * @param {(v: string) => void} change @param {string} [title]
 */
export function choice(label, options, value, change, title) {
	const select = el('select', {'aria-label': label, onchange: () => change(select.value)},
		...options.map(([v, text]) =>
			el('option', {value: v, selected: v === value}, text)));
	return el('label', {title}, label, ' ', select);
}

/** @param {Array<{name: string, go: () => void}>} path @param {(() => void)|null} reset */
export function showCrumbs(path, reset) {
	const parts = [];
	if (reset)
		parts.push(el('button',
			{type: 'button', class: 'reset', id: 'reset',
			title: 'Show all (0 or Escape)', onclick: reset}, 'Reset zoom'));
	const kept = path.length > 9 ? [...path.slice(0, 3), null, ...path.slice(-5)] : path;
	kept.forEach((step, i) => {
		if (i)
			parts.push(el('span', {class: 'sep', 'aria-hidden': 'true'}, '\u203a'));
		parts.push(step ? el('button', {type: 'button', title: step.name, onclick: step.go},
			step.name) : '\u2026');
	});
	refill(byId('crumbs'), ...parts);
}

/**
 * @param {Fn[]} functions
 * @param {Array<[string, string[]]>|null} own names and colours; null: kinds of code
 * @param {Array<[string, string[]]>} [more]
 */
export function showLegend(functions, own, more = []) {
	const there = new Set(functions.map(family));
	const all = own || FAMILIES.filter(([k]) => there.has(k)).map(([k, name]) => {
		const fills = familyFills(k);
		return /** @type {[string, string[]]} */ ([name,
			fills.length > 4 ? [fills[1], fills[4], fills[8]] : fills]);
	});
	byId('legend').replaceChildren(...[...all, ...more]
			.map(([name, fills]) =>
			el('span', {}, ...(fills.length ? [el('i', {}, ...fills.map((c) => {
		const b = el('b');
		b.style.background = c;
		return b;
	}))] : []), name)));
}

const KEY_LIST = [['\u2190 \u2192', 'box beside'], ['\u2191 \u2193', 'caller, callee'],
	['Enter', 'zoom to the box'],
	['Backspace', 'zoom out one step'], ['+ \u2212', 'zoom in, out'],
	['0 or Escape', 'show all'], ['/', 'search'],
	['n N', 'next, previous match'], ['s', 'the function of the box alone'],
	['i', 'flip the picture'], ['?', 'this list']];

export function showHelp() {
	const d = byId('help');
	d.replaceChildren(el('h2', {}, 'Keys'), el('table', {}, ...KEY_LIST.map(([k, what]) =>
		el('tr', {}, el('th', {scope: 'row'}, el('kbd', {}, k)), el('td', {}, what)))),
		el('p', {},
			'The wheel zooms, a drag moves. Choose a name in the table to find it. ' +
			'In the timeline, a drag or \u2190 \u2192 chooses a range. With Shift, ' +
			'an arrow moves the end of the range. Escape removes the range.'),
		el('form', {method: 'dialog'}, el('button', {}, 'Close')));
	d.showModal();
}

/**
 * Shows the filters that are set, each as a button that removes it.
 * @param {Array<{text: string, off: () => void}>} list @param {string} note
 */
export function showChips(list, note) {
	refill(byId('chips'), ...list.map(({text, off}) =>
		el('button', {type: 'button', title: 'Remove: ' + text, onclick: off},
			el('span', {}, text), ' \u00d7')),
			...(note ? [el('span', {class: 'note'}, note)] : []));
}
