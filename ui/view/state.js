// SPDX-License-Identifier: BSD-2-Clause
// Writes the state of the page into its address, and reads the state from an address. Only what
// differs from the initial state is written. An address is checked, since it may be from another
// recording.

import {valueOf} from '../data/tree.js';

/** @typedef {import('../data/data.js').Data} Data */
/** @typedef {import('../picture/flame.js').Flame} Flame */

const STATES = {view: ['flame', 'time', 'callers', 'sandwich'],
	table: ['functions', 'callers', 'callees', 'files', 'modules', 'threads', 'processes',
	'labels'],
	sort: ['self', 'total', 'name'], code: ['python', 'all'],
	library: ['shown', 'folded', 'hidden'],
	colour: ['kind', 'module', 'self', 'thread', 'gil', 'state']};

/** On a page of two recordings, shows first what changed. */
export function beginWithChange() {
	STATES.view = STATES.view.filter((v) => v !== 'time');
	STATES.colour.unshift('change');
}

/**
 * If a page's picture would show little but its trunk (the calls that nearly all samples share),
 * the page begins with the user's own code.
 */
export function beginFolded() {
	STATES.library = ['folded', 'shown', 'hidden'];
}

/**
 * @param {any} state @param {Flame} flame
 * @param {Flame} above the picture of callers in the view of one function (sandwich)
 * @param {Data} d
 */
export function writeState(state, flame, above, d) {
	const p = new URLSearchParams(), f = state.filter;
	for (const [k, words] of Object.entries(STATES)) {
		if (state[k] !== words[0])
			p.set(k, state[k]);
	}
	if (state.value !== d.header.value)
		p.set('value', state.value);
	if (state.by !== d.header.by)
		p.set('by', state.by);
	if (state.flip)
		p.set('flip', '1');
	if (state.recursion)
		p.set('recursion', '1');
	if (state.side)
		p.set('side', state.side);
	if (state.query)
		p.set('q', state.query);
	if (state.chosen >= 0)
		p.set('f', state.chosen);
	for (const [k, v] of Object.entries(f.labels))
		p.append('label', k.replace(/[%=]/g, encodeURIComponent) + '=' + v);
	if (f.kind)
		p.set('kind', f.kind);
	if (f.module)
		p.set('module', f.module);
	if (f.range)
		p.set('t', f.range.map(Math.round).join('-'));
	const t = flame.tree;
	let {zoom, a, b} = flame;
	// In time order, a box gets another number when another part of the time is drawn in
	// detail. So the address has the box's row, and its place as a part of the whole width.
	// placeInTime() reads these.
	if (t && t.at) {
		[a, b] = [a, b].map((x) => (t.at[zoom] + x * valueOf(t, zoom)) / valueOf(t, 0));
		zoom = t.depth[zoom];
	}
	const place = (/** @type {number} */ a, /** @type {number} */ b, /** @type {Flame} */ of) =>
		[+a.toFixed(9), +b.toFixed(9), of.scrolled()];
	if (zoom || a > 0 || b < 1 || flame.scrolled())
		p.set('z', [zoom, ...place(a, b, flame)].join('~'));
	if (above.tree && (above.a > 0 || above.b < 1 || above.scrolled()))
		p.set('above', place(above.a, above.b, above).join('~'));
	return p.toString();
}

/**
 * @param {Flame} of
 * @param {number[]} place the part of it that is shown, then where it is scrolled to
 * @returns {number|undefined} where it is scrolled to
 */
function showPart(of, [a, b, ...at]) {
	of.a = a >= 0 && a < b ? a : 0;
	of.b = b > of.a && b <= 1 ? b : 1;
	return at.find((y) => y >= 0);
}

/**
 * @param {any} state @param {Flame} flame @param {Flame} above @param {Data} d
 * @returns {{flame?: number, above?: number}|null} where the pictures are scrolled to; null: the
 *   address says nothing
 */
export function readState(state, flame, above, d) {
	const p = new URLSearchParams(location.hash.slice(1)),
			number = (/** @type {string} */ k, /** @type {number} */ n) => {
		const v = Number(p.get(k) ?? NaN);
		return Number.isInteger(v) && v >= 0 && v < n ? v : -1;
	};
	if (![...p.keys()].length)
		return null;
	for (const [k, words] of Object.entries(STATES))
		state[k] = words.includes(p.get(k)) ? p.get(k) : words[0];
	if (state.view === 'time' && !d.header.timed)
		state.view = STATES.view[0];
	state.value = p.has('value') ? Math.max(number('value', d.header.values.length), 0) :
		d.header.value;
	state.by = p.get('by') ?? d.header.by;
	state.flip = p.has('flip');
	state.recursion = p.has('recursion');
	state.side = Math.max(number('side', 1e5), 0);
	state.query = p.get('q') || '';
	state.chosen = number('f', Infinity);
	const range = (p.get('t') || '').split('-').map(Number);
	/** @type {Record<string, string>} */
	const labels = Object.create(null);
	for (const l of p.getAll('label')) {
		const at = l.indexOf('=');
		if (at > 0)
			labels[l.slice(0, at).replace(/%3D/g, '=').replace(/%25/g, '%')] =
				l.slice(at + 1);
	}
	state.filter = {labels, kind: p.get('kind') || '', module: p.get('module') || '',
		range: range.length === 2 && range.every(Number.isFinite) && range[0] < range[1] ?
			range : null};
	const numbers = (/** @type {string} */ k, /** @type {string} */ usual) =>
		(p.get(k) || usual).split('~').map(Number);
	const [zoom, ...place] = numbers('z', '0~0~1');
	flame.zoom = Number.isInteger(zoom) && zoom >= 0 ? zoom : 0;
	return {flame: showPart(flame, place), above: showPart(above, numbers('above', '0~1'))};
}
