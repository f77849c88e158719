// SPDX-License-Identifier: BSD-2-Clause
// The lines of a function in a page of two recordings: the cost of each line before and after. The
// two sides number lines differently, so lines with the same text are one row. A line whose text
// isn't known has its own row. If no text is known at all, lines with the same number are one row.

import {el} from '../base/base.js';
import {indentation, lineSums, putLines, sourceNote} from '../parts/lines.js';
import {costText, relative} from '../data/sides.js';
import {nodeSums, page, state} from '../view/view.js';

/** @typedef {import('../data/sides.js').Cost} Cost */
/**
 * @typedef {{n: number, cost: number, text: string|undefined}} Side a line on one side; text:
 *   undefined if it isn't known
 */
/** @typedef {[Side|undefined, Side|undefined]} Pair */

const MOST = 500; // the most rows

/**
 * Returns the source text of a function's file on one side.
 * @param {number} f @param {number} side
 */
function sourceOf(f, side) {
	const {data: {header}, functions, sources} = page;
	return sources[side]?.get(header.diff.files[side][f] ?? functions[f].path);
}

/**
 * Returns a function's lines that have a value, in the order of the file.
 * @param {number} f @param {number} side @returns {Side[]}
 */
function linesOfSide(f, side) {
	const {data, base, whole} = page, source = sourceOf(f, side);
	return [...lineSums(data, base, f, nodeSums(), side, false)]
		.filter(([n, line]) => n > 0 && line.total).sort(([a], [b]) => a - b).slice(0, MOST)
		.map(([n, line]) => ({n, cost: line.total * whole.scale[side],
			text: source && !source.changed ? source.lines.get(n) : undefined}));
}

/**
 * Pairs lines by their text. The lines of the longest common subsequence of both texts are pairs.
 * Every other line has a row of its own.
 * @param {Side[]} before @param {Side[]} after @returns {Pair[]}
 */
function byText(before, after) {
	const width = after.length + 1, longest = new Uint16Array((before.length + 1) * width),
		out = /** @type {Pair[]} */ ([]);
	const same = (/** @type {number} */ a, /** @type {number} */ b) =>
		before[a].text !== undefined && before[a].text === after[b].text;
	for (let a = before.length - 1; a >= 0; a--) {
		for (let b = after.length - 1; b >= 0; b--)
			longest[a * width + b] = same(a, b) ? longest[(a + 1) * width + b + 1] + 1 :
				Math.max(longest[(a + 1) * width + b], longest[a * width + b + 1]);
	}
	for (let a = 0, b = 0; a < before.length || b < after.length;) {
		if (a < before.length && b < after.length && same(a, b))
			out.push([before[a++], after[b++]]);
		else if (b === after.length || a < before.length &&
				longest[(a + 1) * width + b] >= longest[a * width + b + 1])
			out.push([before[a++], undefined]);
		else
			out.push([undefined, after[b++]]);
	}
	return out;
}

/**
 * Pairs lines by number, for functions without any text.
 * @param {Side[]} before @param {Side[]} after @returns {Pair[]}
 */
function byNumber(before, after) {
	const numbers = new Set([...before, ...after].map(({n}) => n));
	return [...numbers].map((n) => [before.find((l) => l.n === n),
		after.find((l) => l.n === n)]);
}

/** @param {Pair} pair */
function lineNumber([a, b]) {
	return a && b ? a.n === b.n ? String(a.n) : `${a.n} \u2192 ${b.n}` : String((a || b).n);
}

/** @param {number} f @param {import('../parts/lines.js').LineActions} act */
export function changeLines(f, act) {
	const {data, functions} = page,
		[before, after] = [0, 1].map((side) => linesOfSide(f, side)), said = new Set();
	const known = [...before, ...after].some(({text}) => text !== undefined),
		cost = (/** @type {Pair} */ [a, b]) =>
		({before: a ? a.cost : 0, after: b ? b.cost : 0});
	const size = (/** @type {Pair} */ pair) => Math.abs(cost(pair).after - cost(pair).before),
		text = (/** @type {number} */ x) => x ? costText(data, state.value, x) : '';
	const pairs = (known ? byText : byNumber)(before, after).sort((a, b) => size(b) - size(a) ||
		(a[1] || a[0]).n - (b[1] || b[0]).n).slice(0, MOST);
	for (const [side, word] of ['Before', 'After'].entries()) {
		const note = sourceNote(sourceOf(f, side));
		said.add(note && `${word}: ${note}`);
	}
	const indent = indentation(pairs.map((pair) => (pair[1] || pair[0]).text || ''));
	const rows = pairs.map((pair) =>
		el('tr', {}, ...[text(cost(pair).before), text(cost(pair).after),
		relative(cost(pair))].map((s) => el('td', {class: 'n'}, s)),
		el('th', {scope: 'row'}, lineNumber(pair)),
		...(known ? [el('td', {class: 'text'},
		el('code', {}, ((pair[1] || pair[0]).text || '').slice(indent)))] : [])));
	putLines(functions[f], act, [functions[f].path, ...said],
		['Before', 'After', 'Change', 'Line', ...(known ? ['Source'] : [])],
		'cost before and after', rows);
}
