// SPDX-License-Identifier: BSD-2-Clause
// The label of a box: as much of the function's name as fits, then its file or module.

import {columns, fit} from '../base/base.js';

/** @typedef {import('../data/data.js').Fn} Fn */

// The first font in the list should exist on most machines: a browser that has just started takes 6
// ms to look for one that doesn't.
export const FONT =
	'12px "DejaVu Sans Mono", ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

/**
 * @type {WeakMap<Fn, {name: string, short: string, where: string, n: number, shortN: number,
 *   whereN: number}>}
 */
const labels = new WeakMap();

/**
 * Is the function code without a name? The page calls such code by its module and its address in
 * the module.
 * @param {Fn} f
 */
export const nameless = (f) => !f.file &&
	f.name.startsWith('[' + f.module.replace(/^\[|\].*$/g, '') + '+0x');

/** @param {Fn} f */
function labelOf(f) {
	let l = labels.get(f);
	if (!l) {
		const dot = f.kind === 0 && !f.root && !f.folded && !f.imports ?
			f.name.lastIndexOf('.') : -1;
		const short = dot >= 0 && dot + 1 < f.name.length ? f.name.slice(dot + 1) : f.name;
		const where = f.root || f.kind === 5 || nameless(f) ? '' :
			f.file || (f.kind ? f.module : '');
		l = {name: f.name, short, where, n: columns(f.name), shortN: columns(short),
			whereN: columns(where)};
		labels.set(f, l);
	}
	return l;
}

/**
 * @param {CanvasRenderingContext2D} g @param {number} charWidth @param {Fn} f
 * @param {number} x left @param {number} y middle @param {number} w
 * @param {string[]} inks colour of the name, colour of the file or module
 * @param {string} note drawn instead of the file or module
 */
export function drawLabel(g, charWidth, f, x, y, w, inks, note) {
	const l = labelOf(f), room = Math.floor((w - 8) / charWidth);
	let text = '';
	if (l.n <= room)
		text = l.name;
	else if (l.shortN <= room)
		text = l.short;
	else if (room >= 3)
		text = fit(l.short, room - 1) + '\u2026';
	else
		return;
	g.fillStyle = inks[0];
	g.fillText(text, x + 4, y);
	const where = note || l.where, whereN = note ? note.length : l.whereN;
	if (text === l.name && where && l.n + 1 + whereN <= room) {
		g.fillStyle = inks[1];
		g.fillText(where, x + 4 + (l.n + 1) * charWidth, y);
	}
}
