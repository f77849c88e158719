// SPDX-License-Identifier: BSD-2-Clause
// The life of the page, from its first picture to its last part: which parts are read when, how the
// page reacts to its window, and the state in its address.

import {breathe, byId, mark} from './base/base.js';
import {colourOf, legend, numbersOf} from './view/boxes.js';
import {answer, brush, choose, keepPlace, placeInTime, saveSoon, search, show, showPath, sumStrip,
	zoomTo} from './change/change.js';
import {forPaper, onScheme} from './picture/colour.js';
import {readBoxes, readSamples, readSources, readView} from './data/data.js';
import {hideTip, showTip} from './parts/details.js';
import {barsOf, changeNote, showChange} from './view/diff.js';
import {foldedEarly, isDeep} from './view/fold.js';
import {listenDivider, placeDivider} from './change/divider.js';
import {listenKeys} from './change/keys.js';
import {fillTable, linesSoon, table, tableSoon} from './tables/rows.js';
import {groupLabels, labelKeys} from './data/samples.js';
import {byEffect, scaleEarly, sidesOf, sumSides} from './data/sides.js';
import {beginFolded, beginWithChange, readState, writeState} from './view/state.js';
import {Strip, reserveStrip} from './view/strip.js';
import {chips, header, tools} from './tools.js';
import {baseTree, makeTree, setSelf, sumsFrom, valueOf} from './data/tree.js';
import {above, flame, page, state, structure, weigh, withGroups} from './view/view.js';

/** @typedef {import('./picture/flame.js').Flame} Flame */

/** @param {Flame} flame */
const hooks = (flame) => ({
	zoom: (/** @type {number} */ node) => flame === above ? choose(flame.tree.fn[node], true) :
		zoomTo(node),
	hover: (/** @type {number} */ node, /** @type {number} */ x, /** @type {number} */ y) =>
		node < 0 ? hideTip() : page.sides ? showChange(flame, node, x, y) :
			showTip(flame.fnOf(node), numbersOf(flame, node), x, y),
	moved: () => answer(() => {
		flame.draw();
		showPath();
	}),
	scrolled: saveSoon,
	fill: (/** @type {number} */ node) => colourOf(flame, node),
});

async function takeSamples() {
	page.data.samples = await readSamples(page.data);
	page.data.self = [];
	page.nodes = null;
	if (page.sides)
		sumSides(page.sides, page.data);
}

/** Starts a page that compares two recordings. */
function startDiff() {
	page.sides = sidesOf(page.data);
	state.colour = 'change';
	beginWithChange();
	document.body.classList.add('diff');
	header();
	flame.order = byEffect;
	for (const f of [flame, above]) {
		f.hooks.bars = (node) => barsOf(f, node);
		f.hooks.note = (node) => changeNote(f, node);
	}
}

flame.hooks = hooks(flame);
above.hooks = hooks(above);
page.parts = {header, tools, chips, table, fillTable, linesSoon};

function recolour() {
	legend();
	sumStrip();
	show();
}

// how far the pictures on the screen are scrolled; kept while the page is printed
let kept = [0, 0];

/** @param {boolean} on */
function print(on) {
	const both = [flame, above];
	if (on)
		kept = both.map((f) => f.scrolled());
	page.paper = on;
	forPaper(on);
	recolour();
	chips();
	both.forEach((f, i) => {
		f.forPrint(on);
		if (!on)
			f.scrollTo(kept[i]);
	});
}

function listen() {
	listenKeys();
	listenDivider();
	placeDivider();
	window.addEventListener('resize', () => {
		placeDivider();
		sumStrip();
		flame.draw();
		above.draw();
	});
	window.addEventListener('beforeprint', () => print(true));
	window.addEventListener('afterprint', () => print(false));
	window.addEventListener('hashchange', () => restore());
	onScheme(recolour);
}

/**
 * Reads the state in the page's address and shows it.
 * @returns {boolean} whether there is any
 */
function restore() {
	const places = page.early || !page.data.samples ? null :
		readState(state, flame, above, page.data);
	if (!places)
		return false;
	byId('query').value = state.query;
	answer(() => {
		const {zoom} = flame;
		structure();
		weigh();
		if (flame.tree.at)
			placeInTime(zoom);
		flame.focus = -1;
		flame.flip = state.flip;
		placeDivider();
		search();
		header();
		tools();
		legend();
		sumStrip();
		show();
		flame.scrollTo(places.flame ?? 0);
		if (places.flame === undefined)
			flame.reveal(flame.zoom);
		above.scrollTo(places.above ?? 0);
	});
	return true;
}

/** Waits for the rest of the page's file, which the browser may still be reading. */
const loaded = () => new Promise((done) => {
	if (document.readyState !== 'loading')
		done(undefined);
	else
		document.addEventListener('DOMContentLoaded', done, {once: true});
});

/**
 * Waits until the drawn picture is on the screen, but for a second at most, because a browser draws
 * nothing while the page isn't visible.
 */
const seen = () => new Promise((done) => {
	requestAnimationFrame(() => setTimeout(done));
	setTimeout(done, 1000);
});

/**
 * If a picture would show little but its trunk (the calls that nearly all samples share), the page
 * begins with the user's own code.
 * @param {import('./data/tree.js').Tree} t with sums
 */
function beginDeep(t) {
	const deep = !page.sides && isDeep(t, page.functions);
	if (deep) {
		beginFolded();
		state.library = 'folded';
	}
	return deep;
}

/** Begins with the user's own code, as beginDeep() does, on a page that has no samples yet. */
function deepFromStart() {
	const {data} = page;
	page.base = baseTree(data);
	page.functions = data.functions;
	return beginDeep({...page.base, first: data.firstNode,
		sums: [sumsFrom(data.self[state.value])]});
}

/**
 * Shows the widest boxes, which can be zoomed and searched while the other boxes are read.
 * @param {import('./data/data.js').Preview} preview
 */
function showEarly({parent, fn, depth, values}) {
	const {data} = page, by = data.header.previewBy, n = data.functions.length;
	page.early = true;
	page.functions = data.functions;
	if (by) {
		const g = groupLabels(data, by);
		page.functions = withGroups(g.names, by);
		fn = fn.map((f) => f < n ? f : n + g.of[f - n]);
	}
	let t = makeTree(fn.length, parent, fn, depth);
	const own = values.map((all) => {
		const self = all.slice();
		for (let i = 1; i < t.n; i++)
			self[parent[i]] -= all[i];
		return self;
	});
	setSelf(t, own);
	if (beginDeep(t)) {
		page.functions = page.functions.slice();
		t = foldedEarly(t, page.functions, own[0]);
	}
	page.stacks = page.whole = page.tree = t;
	if (page.sides)
		scaleEarly(page.sides, page.data, state.value, t, values);
	page.total = valueOf(t, 0) + page.data.less[state.value];
	flame.set(page.tree, page.functions, data.header.title);
	showAround();
	flame.draw();
	mark('krait:first-picture');
	showPath();
	listen();
}

/** Shows all boxes. If a box of the preview was zoomed to, it stays zoomed. */
function endEarly() {
	page.early = false;
	if (restore())
		return;
	keepPlace(() => {
		structure();
		weigh();
	});
	search();
	header();
	tools();
	legend();
	sumStrip();
	flame.draw();
	showPath();
	tableSoon();
	if (writeState(state, flame, above, page.data))
		saveSoon();
}

/** Shows the parts around the picture first, because the picture's place depends on their size. */
function showAround() {
	header();
	tools();
	legend();
	reserveStrip(page.data);
}

/** Shows all boxes before the samples are read, because most pages are small. */
function showBoxes() {
	structure();
	weigh();
	showAround();
	flame.draw();
	mark('krait:first-picture');
	listen();
	show();
}

/** Shows everything, now that the samples are read. */
function showAll() {
	structure();
	weigh();
	tools();
	sumStrip();
	show();
	restore();
}

async function start() {
	const view = await readView();
	page.data = view.data;
	state.value = page.data.header.value;
	state.by = page.data.header.by;
	page.labelKeys = labelKeys(page.data).filter((k) => k !== page.data.header.diff?.label);
	if (page.data.header.diff)
		startDiff();
	if (view.preview) {
		showEarly(view.preview);
		await Promise.all([seen(), loaded()]);
	}
	await readBoxes(page.data);
	const atOnce = !page.early && !page.sides && !deepFromStart();
	if (atOnce)
		showBoxes();
	await loaded();
	await takeSamples();
	page.sources = await readSources();
	page.strip = new Strip(page.data, brush, 'What ran when');
	if (page.early) {
		await breathe();
		endEarly();
	} else {
		if (!atOnce)
			showBoxes();
		showAll();
	}
	mark('krait:ready');
}

start().catch((e) => {
	byId('numbers').textContent = 'This page can\u2019t be shown: ' + e.message;
	throw e;
});
