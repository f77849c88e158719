// SPDX-License-Identifier: BSD-2-Clause
// The table beside the picture: the same numbers in rows, also for readers who can't see the
// picture or have no mouse. Only the first rows are shown; further rows are shown on demand.

import {byId, counted, el, mark, percent, quantity, refill} from '../base/base.js';

const STEP = 60;

/**
 * @typedef {object} Row
 * @property {string} name @property {string} note @property {number} self @property {number} total
 * @property {string} [fill] colour of the swatch
 * @property {boolean} [chosen]
 * @property {() => void} [choose]
 * @property {() => string} [noteLater] a better note, which takes longer
 * @property {number} [rank] the group that it is in
 *
 * @typedef {object} Shown
 * @property {Row[]} rows @property {string} title @property {string} unit
 * @property {number} all @property {number} shown
 * @property {'self'|'total'|'name'} sort @property {(by: any) => void} onSort
 * @property {boolean} selfless rows have no .self
 * @property {string} [own] the heading of .self @property {string} [ownNote] and what it includes
 * @property {string} [caption]
 * @property {(r: Row, key: 'self'|'total') => HTMLElement} [cell] in place of the share and the
 *   value
 * @property {(key: string) => (a: Row, b: Row) => number} [order] in place of the largest first
 * @property {string[]} [groups] headings by .rank; each group is sorted separately, except by name
 */

/** @param {number} v @param {Shown} t */
function number(v, t) {
	const bar = el('i');
	bar.style.width = Math.min(100 * v / (t.shown || 1), 100).toFixed(1) + '%';
	return el('td', {title: percent(v, t.all) + ' of all, ' + percent(v, t.shown) +
		' of shown'},
		el('span', {class: 'share'}, percent(v, t.shown)), ' ',
		el('span', {class: 'amount'}, quantity(v, t.unit)), bar);
}

/**
 * Returns the parts of a note. In a narrow row the beginning of the file's name is cut off, and the
 * line number after it stays.
 * @param {string} note
 */
function noteParts(note) {
	const [lead] = /^(?:(?:all of it|[\d.]+ of [\d.]+\u00a0%) at )?/.exec(note) || [''];
	return [el('span', {}, lead),
		el('span', {class: 'place'}, el('bdi', {}, note.slice(lead.length)))];
}

let better = /** @type {{of: HTMLElement, text: () => string}[]} */ ([]);
let betterTimer = 0;
/**
 * Replaces notes by better ones, which take longer to make. This is called when the browser has
 * nothing else to do, because the table is made again at each step while a reader drags a range.
 */
function betterNotes() {
	for (const {of, text} of better)
		of.replaceChildren(...noteParts(text()));
	better = [];
	mark('krait:notes');
}

/** @param {Row} r @param {Shown} t */
function line(r, t) {
	const note = el('span', {class: 'note'}, ...noteParts(r.note));
	if (r.noteLater)
		better.push({of: note, text: r.noteLater});
	const swatch = el('span', {class: 'swatch'});
	if (r.fill)
		swatch.style.background = r.fill;
	const name = r.choose ?
		el('button', {type: 'button', class: 'name',
		title: r.name + (r.note ? '\n' + r.note : ''), onclick: r.choose}, r.name) :
		el('span', {class: 'name'}, r.name);
	const cell = (/** @type {'self'|'total'} */ key) => t.cell ? t.cell(r, key) :
		number(r[key], t);
	return el('tr', {class: r.chosen ? 'chosen' : false}, ...(t.selfless ? [] : [cell('self')]),
		cell('total'),
		el('th', {scope: 'row'}, ...(r.fill ? [swatch] : []), name, ' ', note));
}

/**
 * @param {Shown} t
 * @param {'self'|'total'|'name'} by
 * @param {string} text
 * @param {string} [note]
 */
function heading(t, by, text, note) {
	return el('th', {scope: 'col', 'aria-sort': t.sort === by ? by === 'name' ? 'ascending' :
		'descending' : 'none'},
		el('button', {type: 'button', onclick: () => t.onSort(by)}, text),
		...(note ? [el('span', {class: 'note'}, note)] : []));
}

/** @param {Row} r */
const rankOf = (r) => r.rank || 0;

/**
 * Returns the table's rows, with a heading before each group. Without the headings the order would
 * look wrong.
 * @param {Row[]} rows @param {number} from @param {number} to @param {Shown} t
 */
function groupedLines(rows, from, to, t) {
	return rows.slice(from, to).flatMap((r, i) => {
		const heads = t.groups && t.sort !== 'name' &&
			(from + i === 0 || rankOf(r) !== rankOf(rows[from + i - 1]));
		return [...(heads ? [el('tr', {class: 'group'},
			el('th', {scope: 'rowgroup', colspan: '3'}, t.groups[rankOf(r)]))] : []),
			line(r, t)];
	});
}

/** @param {Shown} t */
export function showTable(t) {
	clearTimeout(betterTimer);
	better = [];
	const key = t.selfless && t.sort === 'self' ? 'total' : t.sort;
	const rows = t.rows.filter((r) => r.total > 0 || r.self > 0);
	if (key === 'name')
		rows.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
	else if (t.order)
		rows.sort(t.order(key));
	else
		rows.sort((a, b) => (t.groups ? rankOf(a) - rankOf(b) : 0) || b[key] - a[key] ||
			b.total - a.total || (a.name < b.name ? -1 : 1));
	const body = el('tbody', {}, ...groupedLines(rows, 0, STEP, t));
	const table = el('table', {},
		el('caption', {class: 'hidden'},
		t.caption || t.title + ', percentages of what is shown'),
		el('thead', {}, el('tr', {},
			...(t.selfless ? [] : [heading(t, 'self', t.own || 'Own', t.ownNote)]),
			heading(t, 'total', 'Total'), heading(t, 'name', t.title))), body);
	const more = el('button', {type: 'button', class: 'more'});
	let shown = STEP;
	const tell = () => {
		more.hidden = shown >= rows.length;
		more.textContent = 'Show more: ' + counted(rows.length - shown, 'row') + ' left';
	};
	more.addEventListener('click', () => {
		body.append(...groupedLines(rows, shown, shown + 10 * STEP, t));
		shown += 10 * STEP;
		tell();
	});
	tell();
	betterTimer = setTimeout(betterNotes, 150);
	refill(byId('table'), table, more,
		...(rows.length ? [] : [el('p', {class: 'empty'}, 'Nothing is shown.')]));
}
