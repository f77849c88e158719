// SPDX-License-Identifier: BSD-2-Clause
// Search: text, /regular expression/, file.py:42. Which functions match, and what share of what is
// shown has one of them in its stack.

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./data.js').Fn} Fn */
/** @typedef {import('./tree.js').Tree} Tree */

/**
 * @param {string} query
 * @returns {{test: (f: Fn) => boolean, line: number}|null|string} null: nothing asked; a string: why not
 */
export function parseQuery(query) {
	const q = query.trim(), regex = /^\/(.+)\/(i?)$/.exec(q), place = /^(.*\.\w+):(\d+)$/.exec(q);
	if (!q)
		return null;
	if (regex) {
		try {
			const r = new RegExp(regex[1], regex[2] + 'u');
			return {test: (f) => r.test(f.name) || r.test(f.file) || r.test(f.module), line: 0};
		} catch (e) {
			return 'not a regular expression';
		}
	}
	if (place) {
		const file = place[1];
		return {test: (f) => f.path === file || f.file === file || f.path.endsWith('/' + file), line: +place[2]};
	}
	const text = q.toLowerCase();
	return {test: (f) => f.name.toLowerCase().includes(text) || f.file.toLowerCase().includes(text) ||
		f.module.toLowerCase().includes(text), line: 0};
}

/**
 * Matching functions; with a line, those that ran it.
 * @param {Data} d @param {Fn[]} functions @param {{test: (f: Fn) => boolean, line: number}} query
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

/** @param {Tree} t @param {Uint8Array} hit by function */
export function matchedValue(t, hit) {
	let sum = 0;
	for (let i = 1; i < t.n;) {
		if (!t.value[i] || hit[t.fn[i]]) {
			sum += t.value[i];
			i = t.end[i];
		} else {
			i++;
		}
	}
	return sum;
}

/**
 * 1 for nodes that are a line of a matching function, or below one.
 * @param {Data} d @param {Uint8Array} hit @param {number} line
 */
export function nodesOfLine(d, hit, line) {
	const on = new Uint8Array(d.nodes);
	for (let i = 1; i < d.nodes; i++) {
		const s = d.nodeSpot[i];
		on[i] = on[d.nodeParent[i]] || (d.spotLine[s] === line && hit[d.spotFn[s]] ? 1 : 0);
	}
	return on;
}

/**
 * What ran a line of a matching function.
 * @param {Data} d @param {Float64Array} weights of nodes @param {Uint8Array} hit @param {number} line
 */
export function matchedLine(d, weights, hit, line) {
	const on = nodesOfLine(d, hit, line);
	let sum = 0;
	for (let i = 1; i < d.nodes; i++)
		sum += on[i] ? weights[i] : 0;
	return sum;
}
