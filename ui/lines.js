// SPDX-License-Identifier: BSD-2-Clause
// The lines of a function: their shares, the source text where the file has it, and below it what was
// being executed.

import {byId, el, percent} from './base.js';

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./data.js').Fn} Fn */
/** @typedef {{column: number, more: number, end: number, sum: number}} Part an expression; end: the column behind it, more lines further */
/** @typedef {{self: number, total: number, parts: Map<number, Part>}} Line */

/**
 * What each line of a function has, a sample counted once, at the outermost call.
 * @param {Data} d @param {number} f @param {Float64Array} weights of nodes @returns {Map<number, Line>}
 */
export function lineSums(d, f, weights) {
	const sums = Float64Array.from(weights), inside = new Uint8Array(d.nodes), out = new Map();
	for (let i = d.nodes - 1; i > 0; i--)
		sums[d.nodeParent[i]] += sums[i];
	for (let i = 1; i < d.nodes; i++) {
		const s = d.nodeSpot[i], up = inside[d.nodeParent[i]], mine = d.spotFn[s] === f;
		inside[i] = up || mine ? 1 : 0;
		if (!mine || !sums[i])
			continue;
		const n = d.spotLine[s], line = out.get(n) || {self: 0, total: 0, parts: new Map()};
		line.self += weights[i];
		line.total += up ? 0 : sums[i];
		const part = line.parts.get(s) || {column: d.spotColumn[s], more: d.spotEnd[2 * s], end: d.spotEnd[2 * s + 1], sum: 0};
		part.sum += sums[i];
		line.parts.set(s, part);
		out.set(n, line);
	}
	return out;
}

/**
 * The place in a text of a column, which counts bytes of UTF-8.
 * @param {string} text @param {number} column from 1
 */
function placeOf(text, column) {
	const bytes = new TextEncoder().encode(text).subarray(0, column - 1);
	return new TextDecoder().decode(bytes).length;
}

/**
 * A line with the expression marked that most of its time is in.
 * @param {string} text @param {Line|undefined} line
 */
function code(text, line) {
	const best = line ? [...line.parts.values()].filter((p) => p.end).sort((a, b) => b.sum - a.sum)[0] : undefined;
	if (!best)
		return el('code', {}, text);
	const from = placeOf(text, best.column), to = best.more ? text.length : placeOf(text, best.end);
	return el('code', {}, text.slice(0, from), el('u', {}, text.slice(from, to)), text.slice(to));
}

/**
 * @param {Fn} f @param {Map<number, Line>} lines @param {import('./data.js').Source|undefined} source
 * @param {number} shown value of what is shown @param {{sandwich: () => void, close: () => void}} act
 */
export function showLines(f, lines, source, shown, act) {
	const seen = [...lines.keys()].filter((n) => n > 0), last = seen.reduce((a, b) => Math.max(a, b), 0);
	const first = seen.reduce((a, b) => Math.min(a, b), f.line > 0 ? f.line : Infinity), numbers = [];
	if (source && !source.changed && last - first < 4000) {
		for (let n = first; n <= last + 2; n++) {
			if (source.lines.has(n))
				numbers.push(n);
		}
	}
	if (!numbers.length)
		numbers.push(...seen.sort((a, b) => lines.get(b).total - lines.get(a).total));
	const most = Math.max(...[...lines.values()].map((l) => l.total), 1);
	const text = Boolean(source && !source.changed && source.lines.size);
	const rows = numbers.map((n) => {
		const l = lines.get(n), row = el('tr', {}, el('td', {class: 'n'}, l && l.self ? percent(l.self, shown) : ''),
			el('td', {class: 'n'}, l && l.total ? percent(l.total, shown) : ''), el('th', {scope: 'row'}, String(n)),
			...(text ? [el('td', {class: 'text'}, code(source.lines.get(n) || '', l))] : []));
		if (l && l.total)
			row.style.setProperty('--heat', (l.total / most).toFixed(3));
		return row;
	});
	const note = !source ? '' : source.changed ? 'The file changed after this was recorded: its text isn\u2019t shown.' :
		source.foreign ? 'A file that isn\u2019t yours: krait\u2019s option --source shows its text.' : '';
	byId('lines').hidden = false;
	byId('lines').replaceChildren(
		el('div', {class: 'head'}, el('h2', {title: f.name}, f.name), el('button', {type: 'button', onclick: act.sandwich}, 'Callers and callees'),
			el('button', {type: 'button', 'aria-label': 'Close the lines', onclick: act.close}, '\u00d7')),
		el('p', {class: 'where'}, f.path), ...(note ? [el('p', {class: 'where'}, note)] : []),
		seen.length ? el('table', {}, el('caption', {class: 'hidden'}, 'Lines of ' + f.name + ', percentages of what is shown'),
			el('thead', {}, el('tr', {}, ...['Self', 'Total', 'Line', ...(text ? ['Source'] : [])].map((h) => el('th', {scope: 'col'}, h)))),
			el('tbody', {}, ...rows)) : el('p', {class: 'where'}, 'No lines are known.'));
	const hot = rows.find((r) => r.style.getPropertyValue('--heat') === '1.000');
	if (hot && numbers.length > 12)
		hot.scrollIntoView({block: 'center'});
}
