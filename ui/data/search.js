// SPDX-License-Identifier: BSD-2-Clause
// Search for a text, a /regular expression/, or a line (file.py:42). Finds the matching functions,
// and which share of the samples shown has one of these functions in its stack.

import {lastAnswer} from '../base/base.js';
import {sideOf} from './tree.js';

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./data.js').Fn} Fn */
/** @typedef {import('./tree.js').Tree} Tree */

/**
 * Returns the texts of a function in which a search looks.
 * @param {Fn} f
 */
const texts = (f) => [f.imported ? f.imported + '.' + f.name : f.name, f.file, f.module];

/**
 * @param {string} query
 * @returns {{test: (f: Fn) => boolean, line: number}|null|string} null: nothing is asked; a string:
 *   an error
 */
export function parseQuery(query) {
	const q = query.trim(), regex = /^\/(.+)\/(i?)$/.exec(q),
		place = /^(.*\.\w+):(\d+)$/.exec(q);
	if (!q)
		return null;
	if (regex) {
		try {
			const r = new RegExp(regex[1], regex[2] + 'u');
			return {test: (f) => r.test(f.name) || texts(f).some((t) => r.test(t)),
				line: 0};
		} catch (e) {
			return 'not a regular expression';
		}
	}
	if (place) {
		const file = place[1];
		return {test: (f) => f.path === file || f.file === file ||
			f.path.endsWith('/' + file), line: +place[2]};
	}
	const text = q.toLowerCase();
	return {test: (f) => texts(f).some((t) => t.toLowerCase().includes(text)), line: 0};
}

/**
 * Returns the functions that match; with a line, only the functions that ran the line.
 * @param {Data} d
 * @param {Fn[]} functions
 * @param {{test: (f: Fn) => boolean, line: number}} query
 */
export function matchFunctions(d, functions, query) {
	const hit = new Uint8Array(functions.length);
	for (let i = 0; i < functions.length; i++) {
		if (!query.test(functions[i]))
			continue;
		if (!query.line) {
			hit[i] = 1;
			continue;
		}
		for (let s = d.firstSpot[i]; s < d.firstSpot[i + 1]; s++)
			hit[i] |= d.spotLine[s] === query.line ? 1 : 0;
	}
	return hit;
}

/**
 * @param {Tree} t @param {Uint8Array} hit by function
 * @returns {number[]} by side (a comparison has two)
 */
export function matchedValues(t, hit) {
	const out = t.sums.map(() => 0), {fn, end} = t;
	for (let i = 1; i < t.n;) {
		if (hit[fn[i]]) {
			for (let side = 0; side < out.length; side++)
				out[side] += sideOf(t, i, side);
			i = end[i];
		} else {
			i++;
		}
	}
	return out;
}

const lastLine = /** @type {typeof lastAnswer<number[]>} */ (lastAnswer)();

/**
 * Returns the nodes (a line of a function under one line of its caller) that have samples and are
 * line @line of a matching function, or are called from such a line.
 * @param {Data} d
 * @param {Int32Array} first sample of each node
 * @param {Uint8Array} hit
 * @param {number} line
 */
function nodesOfLine(d, first, hit, line) {
	const {nodeParent, nodeSpot, spotLine, spotFn} = d;
	return lastLine([hit.join(''), line, first], () => {
		const nodes = [], on = new Uint8Array(d.nodes),
			is = spotLine.map((n, s) => n === line && hit[spotFn[s]] ? 1 : 0);
		for (let i = 1; i < d.nodes; i++) {
			on[i] = on[nodeParent[i]] || is[nodeSpot[i]];
			if (on[i] && first[i] !== first[i + 1])
				nodes.push(i);
		}
		return nodes;
	});
}

/**
 * Returns the value of the stacks that have this line in a matching function, for each side that a
 * page compares.
 * @param {Data} d
 * @param {import('./tree.js').NodeSums} sums
 * @param {Uint8Array} hit
 * @param {number} line
 * @returns {number[]} by side
 */
export function matchedLine(d, {first, sums}, hit, line) {
	const nodes = nodesOfLine(d, first, hit, line);
	return sums.map((sum) => nodes.reduce((a, i) => a + sum[first[i + 1]] - sum[first[i]], 0));
}
