// SPDX-License-Identifier: BSD-2-Clause
// The lines of a function: their shares, their source text if the page has it, and below the text
// the expression that was executed.

import {byId, el, lastAnswer, percent} from '../base/base.js';
import {PYTHON} from '../data/data.js';

/** @typedef {import('../data/data.js').Data} Data */
/** @typedef {import('../data/data.js').Fn} Fn */
/** @typedef {import('../data/tree.js').NodeSums} NodeSums */
/** @typedef {import('../data/tree.js').Tree} Tree */
/**
 * @typedef {{column: number, more: number, end: number, sum: number}} Part an expression; .more:
 *   how many lines further on it ends; .end: the column after it
 */
/** @typedef {{self: number, total: number, parts: Map<number, Part>}} Line */

/**
 * Returns the value of each node of a box, with everything below the node. (A node is a line of the
 * box's function, under one line of the caller.) If all nodes of a callee's box are below one node,
 * one subtraction gives the callee's value. Most callees are called from one line, so this is
 * usual. Otherwise the callee's nodes are added up one by one.
 * @param {Data} d
 * @param {Tree} t of the data's boxes
 * @param {NodeSums} sums
 * @param {number} box
 * @param {number} side
 * @returns {number[]}
 */
export function nodesOf(d, t, {first, sums}, box, side) {
	const {firstNode, nodeParent} = d, from = firstNode[box], to = firstNode[box + 1],
		of = sums[side], out = /** @type {number[]} */ ([]);
	const between = (/** @type {number} */ a, /** @type {number} */ b) =>
		of[first[b]] - of[first[a]];
	if (to - from === 1)
		return [between(from, firstNode[t.end[box]])];
	for (let i = from; i < to; i++)
		out.push(between(i, i + 1));
	for (let k = box + 1; k < t.end[box]; k = t.end[k]) {
		const a = firstNode[k], b = firstNode[k + 1];
		let one = a + 1;
		while (one < b && nodeParent[one] === nodeParent[a])
			one++;
		if (one === b)
			out[nodeParent[a] - from] += between(a, firstNode[t.end[k]]);
		else
			nodesOf(d, t, {first, sums}, k, side).forEach((sum, i) => {
				out[nodeParent[a + i] - from] += sum;
			});
	}
	return out;
}

/**
 * Returns the own value of each node of a box (a line of its function under one line of the
 * caller); with @native, native code that the node called also counts.
 * @param {Data} d
 * @param {Tree} t of the data's boxes
 * @param {NodeSums} sums
 * @param {number} box
 * @param {number} side
 * @param {boolean} native
 * @returns {number[]}
 */
function ownOf(d, t, {first, sums}, box, side, native) {
	const {firstNode, nodeParent} = d, from = firstNode[box], of = sums[side],
		out = /** @type {number[]} */ ([]);
	for (let i = from; i < firstNode[box + 1]; i++)
		out.push(of[first[i + 1]] - of[first[i]]);
	for (let k = box + 1; native && k < t.end[box]; k = t.end[k]) {
		if (d.functions[d.fn[k]].kind === PYTHON)
			continue;
		ownOf(d, t, {first, sums}, k, side, native).forEach((sum, i) => {
			out[nodeParent[firstNode[k] + i] - from] += sum;
		});
	}
	return out;
}

/**
 * Does the stack of a node (a line under one line of its caller) have this line once more, further
 * out? If so, the function calls itself from this line.
 * @param {Data} d @param {number} node
 */
function sameAbove({nodeParent, nodeSpot, spotLine, spotFn}, node) {
	const s = nodeSpot[node];
	for (let i = nodeParent[node]; i > 0; i = nodeParent[i]) {
		if (spotFn[nodeSpot[i]] === spotFn[s] && spotLine[nodeSpot[i]] === spotLine[s])
			return true;
	}
	return false;
}

const lastBoxes = /** @type {typeof lastAnswer<number[]>} */ (lastAnswer)();

/**
 * Returns all boxes of a function.
 * @param {Int32Array} fn of the boxes @param {number} f
 */
function allBoxesOf(fn, f) {
	return lastBoxes([fn, f], () => {
		const boxes = [];
		for (let box = 1; box < fn.length; box++) {
			if (fn[box] === f)
				boxes.push(box);
		}
		return boxes;
	});
}

/**
 * Returns the values of each line of a function. .self: of samples whose innermost frame is in the
 * line; with @native, of samples whose innermost Python frame is in it. .total: of samples with the
 * line in their stack, each counted once.
 * @param {Data} d
 * @param {Tree} t of the data's boxes
 * @param {number} f
 * @param {NodeSums} sums
 * @param {number} side
 * @param {boolean} native
 * @returns {Map<number, Line>}
 */
export function lineSums(d, t, f, sums, side, native) {
	const {fn, firstNode, nodeSpot, spotLine, spotColumn, spotEnd} = d, {first} = sums,
		out = new Map();
	let outer = 0; // the index of the first box after the subtree of the outermost call
	for (const box of allBoxesOf(fn, f)) {
		if (first[firstNode[box]] === first[firstNode[t.end[box]]])
			continue;
		const inner = box < outer, all = nodesOf(d, t, sums, box, side),
			own = ownOf(d, t, sums, box, side, native);
		outer = inner ? outer : t.end[box];
		for (let k = 0; k < all.length; k++) {
			const node = firstNode[box] + k, s = nodeSpot[node], n = spotLine[s];
			if (!all[k])
				continue;
			const line = out.get(n) || {self: 0, total: 0, parts: new Map()};
			line.self += own[k];
			line.total += inner && sameAbove(d, node) ? 0 : all[k];
			const part = line.parts.get(s) ||
				{column: spotColumn[s], more: spotEnd[2 * s],
				end: spotEnd[2 * s + 1], sum: 0};
			part.sum += all[k];
			line.parts.set(s, part);
			out.set(n, line);
		}
	}
	return out;
}

/**
 * Returns the index in @text at which a column begins. Columns count bytes of UTF-8.
 * @param {string} text @param {number} column from 1
 */
function placeOf(text, column) {
	const bytes = new TextEncoder().encode(text).subarray(0, column - 1);
	return new TextDecoder().decode(bytes).length;
}

/**
 * Returns the number of blanks with which all lines begin, and which aren't shown.
 * @param {string[]} all
 */
export function indentation(all) {
	const texts = all.filter((text) => text.trim()), [first = ''] = texts;
	let n = first.length - first.trimStart().length;
	for (const text of texts) {
		while (!text.startsWith(first.slice(0, n)))
			n--;
	}
	return n;
}

/**
 * Returns a line's text, in which the expression that takes most of its time is marked.
 * @param {string} whole
 * @param {Line|undefined} line
 * @param {number} indent how many characters at its beginning aren't shown
 */
function code(whole, line, indent) {
	const text = whole.slice(indent),
		best = line ? [...line.parts.values()].filter((p) => p.end)
		.sort((a, b) => b.sum - a.sum)[0] : undefined;
	if (!best)
		return el('code', {}, text);
	const place = (/** @type {number} */ column) => Math.max(placeOf(whole, column) - indent,
		0), from = place(best.column), to = best.more ? text.length : place(best.end);
	return el('code', {}, text.slice(0, from), el('u', {}, text.slice(from, to)),
		text.slice(to));
}

/**
 * Says why there is no source text; '' if there is.
 * @param {import('../data/data.js').Source|undefined} source
 */
export const sourceNote = (source) => !source ? '' :
	source.changed ? 'The file changed after this was recorded: its text isn\u2019t shown.' :
	source.foreign ?
		'A file that isn\u2019t yours: krait\u2019s option --source shows its text.' : '';

/** @typedef {{sandwich: () => void, close: () => void}} LineActions */

/**
 * Shows the table of a function's lines.
 * @param {Fn} f @param {LineActions} act @param {string[]} where sentences above the table
 * @param {string[]} heads of the columns
 * @param {string} of what the numbers mean @param {HTMLElement[]} rows
 */
export function putLines(f, act, where, heads, of, rows) {
	byId('lines').hidden = false;
	byId('lines').replaceChildren(
		el('div', {class: 'head'}, el('h2', {title: f.name}, f.name),
			el('button', {type: 'button', onclick: act.sandwich},
			'Callers and callees'),
			el('button', {type: 'button', 'aria-label': 'Close the lines',
				onclick: act.close}, '\u00d7')),
		...where.filter(Boolean).map((text) => el('p', {class: 'where'}, text)),
		rows.length ? el('table', {},
			el('caption', {class: 'hidden'}, `Lines of ${f.name}, ${of}`),
			el('thead', {}, el('tr', {},
				...heads.map((h) => el('th', {scope: 'col'}, h)))),
			el('tbody', {}, ...rows)) :
				el('p', {class: 'where'}, 'No lines are known.'));
}

/**
 * @param {Fn} f
 * @param {Map<number, Line>} lines
 * @param {import('../data/data.js').Source|undefined} source
 * @param {number} shown value of what is shown @param {LineActions} act
 */
export function showLines(f, lines, source, shown, act) {
	const seen = [...lines.keys()].filter((n) => n > 0),
		last = seen.reduce((a, b) => Math.max(a, b), 0);
	const first = seen.reduce((a, b) => Math.min(a, b), f.line > 0 ? f.line : Infinity),
		numbers = [];
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
	const indent = text ? indentation(numbers.map((n) => source.lines.get(n) || '')) : 0;
	const rows = numbers.map((n) => {
		const l = lines.get(n),
			row = el('tr', {}, el('td', {class: 'n'},
			l && l.self ? percent(l.self, shown) : ''),
			el('td', {class: 'n'}, l && l.total ? percent(l.total, shown) : ''),
			el('th', {scope: 'row'}, String(n)),
			...(text ? [el('td', {class: 'text'},
				code(source.lines.get(n) || '', l, indent))] : []));
		if (l && l.total)
			row.style.setProperty('--heat', (l.total / most).toFixed(3));
		return row;
	});
	putLines(f, act, [f.path, sourceNote(source)],
		['Own', 'Total', 'Line', ...(text ? ['Source'] : [])],
		'percentages of what is shown', rows);
	const hot = rows.find((r) => r.style.getPropertyValue('--heat') === '1.000');
	if (hot && numbers.length > 12)
		hot.scrollIntoView({block: 'center'});
	const mark = hot && hot.querySelector('u'), panel = byId('lines');
	if (mark) { // The marked text may be far to the right. At least its beginning is shown.
		const m = mark.getBoundingClientRect(), {left} = panel.getBoundingClientRect(),
			edge = 16, before = hot.querySelector('.text').offsetLeft;
		panel.scrollLeft += Math.max(Math.min(m.right + edge - left - panel.clientWidth,
			m.left - edge - left - before), 0);
	}
}
