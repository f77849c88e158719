// SPDX-License-Identifier: BSD-2-Clause
// What readers can change, and which parts of the page are then shown again: nearly all buttons,
// rows and keys call functions of this module.

import {byId, counted, mark, percent} from '../base/base.js';
import {showCrumbs} from '../parts/controls.js';
import {hideTip} from '../parts/details.js';
import {matchedOfBoth} from '../view/diff.js';
import {passing} from '../data/samples.js';
import {matchFunctions, matchedLine, matchedValues, parseQuery} from '../data/search.js';
import {writeState} from '../view/state.js';
import {follow, selfOf, valueOf} from '../data/tree.js';
import {WORDS, above, flame, isHidden, moduleOf, nodeSums, page, picture, shown, state, structure,
	weigh} from '../view/view.js';

// This module's functions show the state on the page.

/**
 * Calls @what, which changes the picture. Sets a mark in the performance timeline when that is
 * done.
 * @param {() => void} what
 */
export function answer(what) {
	what();
	mark('krait:answer');
	saveSoon();
	detailSoon();
}

/**
 * Returns the box of the current tree (in time order) that is in the place of box @i of the earlier
 * tree @was.
 * @param {import('../data/tree.js').Tree} was
 * @param {number} i
 * @param {number} none the result if there is no such box
 */
function samePlace(was, i, none) {
	const {n, depth, at} = flame.tree;
	for (let k = 1; k < n; k++) {
		if (depth[k] === was.depth[i] && at[k] === was.at[i])
			return k;
	}
	return none;
}

/**
 * Returns the part of a picture in time order that is drawn in full detail: the visible part, from
 * @from to @to, and half its width on either side. null: the visible part is at least a third of
 * @all; then all of the picture is drawn in the same detail.
 * @param {number} from @param {number} to @param {number} all
 */
const windowFor = (from, to, all) => (to - from) * 3 < all ?
	/** @type {[number, number]} */ ([from - (to - from) / 2, to + (to - from) / 2]) : null;

/**
 * In time order, zooms to the box that the page's address names. That is the box in row @row at the
 * middle of the address's range. The address can't have the box's number, because the number
 * differs between windows (see windowFor()).
 * @param {number} row
 */
export function placeInTime(row) {
	const {a, b} = flame, all = valueOf(flame.tree, 0), middle = (a + b) / 2 * all;
	page.window = windowFor(a * all, b * all, all);
	picture();
	const t = flame.tree;
	flame.zoom = 0;
	for (let k = 1; k < t.n && row; k++) {
		const from = t.at[k], value = valueOf(t, k);
		if (t.depth[k] !== row || middle < from || middle >= from + value)
			continue;
		// An address has only nine digits of a number, so smaller differences mean nothing.
		const off = 2e-9 * all, [left, right] = [a * all - from, b * all - from];
		Object.assign(flame, {zoom: k, a: left > off ? left / value : 0,
			b: right < value - off ? right / value : 1});
		return;
	}
}

/**
 * In time order, draws the zoomed part in full, down to the last sample that can be distinguished.
 */
function detail() {
	const t = flame.tree;
	if (page.early || state.view !== 'time' || !t || !t.at)
		return;
	const {zoom, focus, a, b} = flame, all = valueOf(t, 0),
		[from, to] = [a, b].map((x) => t.at[zoom] + x * valueOf(t, zoom));
	const span = to - from, [least, most] = t.window || [0, all];
	if (from >= least && to <= most && span * 3 > most - least)
		return;
	page.window = windowFor(from, to, all);
	picture();
	Object.assign(flame, {zoom: zoom && samePlace(t, zoom, 0),
		focus: focus > 0 ? samePlace(t, focus, -1) : focus, hover: -1, a, b});
	// In the part of the time that is drawn in detail now, the box that was zoomed to is too
	// narrow to be in the new tree.
	if (zoom && !flame.zoom)
		Object.assign(flame, {a: from / all, b: to / all});
	flame.draw();
	showPath();
	saveSoon();
}

let detailTimer = 0;
function detailSoon() {
	clearTimeout(detailTimer);
	detailTimer = setTimeout(detail, 100);
}

let saveTimer = 0;
/** Writes the state into the page's address, so that a link to the page keeps the view. */
export function saveSoon() {
	clearTimeout(saveTimer);
	saveTimer = setTimeout(() => {
		// the state in the address hasn't been read yet, and must not be overwritten
		if (page.early || !page.data.samples)
			return;
		history.replaceState(null, '', '#' + writeState(state, flame, above, page.data));
	}, 200);
}

export function show() {
	flame.draw();
	above.draw();
	if (above.tree)
		above.scrollTo(0);
	showPath();
	page.parts.table();
}

export function showPath() {
	const path = flame.path(flame.zoom),
		whole = flame.zoom === 0 && [flame, above].every((f) => f.a === 0 && f.b === 1);
	showCrumbs(path.map((node) => ({name: flame.fnOf(node).name, go: () => zoomTo(node)})),
		whole ? null : reset);
}

export function sumStrip() {
	if (page.strip && page.strip.there) {
		page.strip.sum(state.value, passing(page.data, state.filter, WORDS, true));
		page.strip.range = state.filter.range;
		page.strip.draw();
	}
}

/**
 * Marks the folded boxes that contain a function that matches the search.
 * @param {Uint8Array} hit
 */
function lightFolded(hit) {
	const {functions} = page,
		modules = new Set(functions.filter((f, i) => hit[i] && f.origin).map(moduleOf));
	functions.forEach((f, i) => {
		if (f.folded)
			hit[i] = modules.has(f.module) ? 1 : 0;
	});
}

export function search() {
	const {data, functions, stacks} = page, query = parseQuery(state.query),
		out = byId('matched');
	flame.hit = null;
	if (state.chosen >= 0 && !query && state.view !== 'sandwich') {
		flame.hit = new Uint8Array(functions.length);
		flame.hit[state.chosen] = 1;
		lightFolded(flame.hit);
	}
	if (typeof query === 'string') {
		out.textContent = query;
	} else if (!query) {
		out.textContent = '';
	} else {
		const hit = matchFunctions(data, functions, query)
			.map((is, i) => isHidden(functions[i]) || functions[i].folded ? 0 : is);
		flame.hit = hit;
		out.textContent = counted(hit.reduce((a, b) => a + b, 0), 'function');
		lightFolded(hit);
		if (page.early)
			return;
		if (page.sides) {
			out.textContent += ', ' + matchedOfBoth(hit, query.line);
			above.hit = hit;
			return;
		}
		const [sum] = query.line ? matchedLine(data, nodeSums(), hit, query.line) :
			matchedValues(stacks, hit);
		out.textContent += ', ' + percent(sum, shown()) + ' of shown';
	}
	above.hit = query ? flame.hit : null;
}

// Changes the state.

/** @param {() => void} set @param {() => void} then */
export function change(set, then) {
	answer(() => {
		set();
		then();
		search();
		page.parts.header();
		page.parts.tools();
		if (page.strip)
			sumStrip();
		show();
	});
}

/**
 * Makes the trees again. The chosen group may have another number in the new trees, or be gone, so
 * this function searches for it.
 */
export function restructure() {
	const group = state.chosen >= page.data.functions.length ?
		page.functions[state.chosen].name : '';
	structure();
	if (group)
		state.chosen = page.functions.findIndex((f) => f.root && f.name === group);
	weigh();
}

/**
 * Calls @set, which changes the state in a way that needs another tree, and shows the page again.
 * @param {() => void} set
 */
export function reshape(set) {
	change(() => {
		set();
		unzoom();
	}, restructure);
}

/**
 * Calls @make, which may replace the tree by another tree of the same functions. Afterwards the
 * picture is zoomed to the same box as before, and the keyboard is on the same box.
 * @param {() => void} make
 */
export function keepPlace(make) {
	const was = flame.tree,
		[zoom, focus] = [flame.zoom, flame.focus]
		.map((i) => flame.path(Math.max(i, 0)).slice(1).map((k) => was.fn[k]));
	make();
	if (flame.tree === was)
		return;
	flame.zoom = follow(page.tree, zoom);
	flame.focus = follow(page.tree, focus) || -1;
	if (zoom.length && !flame.zoom) {
		flame.a = 0;
		flame.b = 1;
	}
}

function unzoom() {
	flame.zoom = above.zoom = flame.a = above.a = 0;
	flame.b = above.b = 1;
	flame.focus = above.focus = -1;
}

/** @param {number} node */
export function zoomTo(node) {
	answer(() => {
		flame.zoom = node;
		flame.a = 0;
		flame.b = 1;
		flame.focus = node;
		flame.draw();
		flame.reveal(node);
		showPath();
		hideTip();
		page.parts.linesSoon();
	});
}

export function reset() {
	Object.assign(above, {a: 0, b: 1, focus: -1});
	above.draw();
	zoomTo(0);
	flame.focus = -1;
	flame.paint();
}

/** @param {string} text */
export function lookFor(text) {
	byId('query').value = state.query = text;
	answer(() => {
		search();
		flame.paint();
		above.paint();
	});
}

/**
 * Chooses a function from the table or a picture.
 * @param {number} f @param {boolean} sandwich also shows its callers and callees (the sandwich
 *   view)
 */
export function choose(f, sandwich) {
	if (f < 0 || page.early || page.functions[f]?.folded)
		return;
	const again = state.chosen === f && !sandwich;
	change(() => {
		state.chosen = again ? -1 : f;
		if (sandwich)
			state.view = 'sandwich';
	}, () => {
		if (state.view === 'sandwich') {
			unzoom();
			picture();
		}
	});
}

/** @param {Partial<import('../data/samples.js').Filter>} what */
export function filterBy(what) {
	change(() => Object.assign(state.filter, what), () => keepPlace(weigh));
}

/** @param {[number, number]|null} range */
export function brush(range) {
	answer(() => {
		state.filter.range = page.strip.range = range;
		keepPlace(weigh);
		search();
		page.strip.draw();
		flame.draw();
		above.draw();
		showPath();
		page.parts.chips();
		page.parts.fillTable();
		page.parts.linesSoon();
	});
}

/** @param {string} view */
export function setView(view) {
	if (view === 'sandwich' && state.chosen < 0) {
		const at = flame.focus > 0 ? flame.tree.fn[flame.focus] : -1;
		state.chosen = at >= 0 && !page.functions[at].folded ? at : hottest();
	}
	reshape(() => {
		state.view = view;
	});
}

/** Returns the function with the largest own value. */
function hottest() {
	const {functions, stacks} = page, self = new Float64Array(functions.length);
	for (let i = 1; i < stacks.n; i++)
		self[stacks.fn[i]] += selfOf(stacks, i);
	return self.indexOf(self.reduce((a, b) => Math.max(a, b), 0));
}

export function turn() {
	answer(() => {
		flame.flip = state.flip = !state.flip;
		page.parts.tools();
		flame.draw();
		flame.scrollTo(0);
	});
}
