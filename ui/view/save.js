// SPDX-License-Identifier: BSD-2-Clause
// Saves what is on the screen as a file: the picture as SVG or PNG, the stacks as folded text.

import {columns, el, fit} from '../base/base.js';
import {inks} from '../picture/colour.js';
import {MARK, samplesAreOf} from '../data/data.js';
import {ROW} from '../picture/flame.js';
import {nameless} from '../picture/label.js';
import {PROGRAM, nameOf} from '../data/samples.js';
import {insideLibrary} from '../data/shape.js';
import {above, flame, grouping, page, state} from './view.js';

/** @typedef {import('../picture/flame.js').Flame} Flame */

// a picture's largest height in pixels, because browsers make no higher canvas
const TALLEST = 32000;

/** @param {BlobPart[]} parts @param {string} type @param {string} name */
function download(parts, type, name) {
	const url = URL.createObjectURL(new Blob(parts, {type}));
	el('a', {href: url, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const NS = 'http://www.w3.org/2000/svg';

/** @param {string} name @param {Record<string, any>} attributes @param {string} [text] */
function svg(name, attributes, text) {
	const e = document.createElementNS(NS, name);
	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, String(v));
	if (text !== undefined)
		e.textContent = text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd');
	return e;
}

/** @param {Flame[]} flames one below the other, with all rows, also those that are scrolled away */
const sizeOf = (flames) =>
	({width: Math.max(...flames.map((f) => f.width)),
	height: flames.reduce((a, f) => a + f.rows * ROW, 0)});

/** @param {Flame[]} flames */
function pictureSvg(flames) {
	const {width, height} = sizeOf(flames),
		root = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`});
	root.append(svg('rect', {width, height, fill: inks().page}));
	let top = 0;
	for (const flame of flames) {
		rowsSvg(root, flame, top);
		top += flame.rows * ROW;
	}
	return new XMLSerializer().serializeToString(root);
}

/** @param {Element} root @param {Flame} flame @param {number} top */
function rowsSvg(root, flame, top) {
	const ink = inks(), {placed, tree, width, rows} = flame;
	for (let p = 0; p < placed.length; p += 3) {
		const i = placed[p], x = Math.max(placed[p + 1], 0),
			w = Math.min(placed[p + 1] + placed[p + 2], width) - x;
		const y = top + (flame.flip ? rows - tree.depth[i] - 1 : tree.depth[i]) * ROW,
			f = flame.fnOf(i);
		const box = svg('rect',
			{x: x.toFixed(1), y, width: Math.max(w - 1, 0.5).toFixed(1),
			height: ROW - 1, fill: flame.hooks.fill(i)});
		box.append(svg('title', {}, f.name + (f.path ? '\n' + f.path : '')));
		root.append(box);
		if (flame.hooks.bars && w >= 5)
			flame.hooks.bars(i).forEach((length, k) =>
				root.append(svg('rect', {x: x.toFixed(1), y: y + ROW - 5 + 2 * k,
				width: ((w - 1) * length).toFixed(1), height: 2,
				fill: k ? ink.after : ink.before})));
		const room = Math.floor((w - 8) / flame.charWidth);
		if (room >= 3)
			root.append(svg('text',
				{x: (x + 4).toFixed(1), y: y + (flame.hooks.bars ? 11 : 13),
				fill: ink.text, 'font-family': 'monospace', 'font-size': 12},
				columns(f.name) <= room ? f.name : fit(f.name, room - 1) +
					'\u2026'));
	}
}

/** @param {Flame[]} flames @param {(b: Blob) => void} done */
function picturePng(flames, done) {
	const {width, height} = sizeOf(flames),
		ratio = Math.min(window.devicePixelRatio || 1, TALLEST / height);
	const canvas = el('canvas',
		{width: Math.ceil(width * ratio), height: Math.ceil(height * ratio)}),
		g = canvas.getContext('2d', {alpha: false});
	g.scale(ratio, ratio);
	for (const flame of flames) {
		flame.paintOn(g, 0, flame.rows);
		g.translate(0, flame.rows * ROW);
	}
	canvas.toBlob(done);
}

/**
 * Cleans a frame's text as krait cleans the frames of folded stacks.
 * @param {string} text
 */
const cleaned = (text) => text.replace(/;/g, ':').replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, ' ');

/**
 * Returns the text of a frame, as render_names_frame() in src/view/names/names.c writes it.
 * @param {import('../data/data.js').Fn} f @param {number} line
 */
function frameText(f, line) {
	const where = f.root || f.kind === MARK || nameless(f) ? '' :
		f.file ? f.file + (line > 0 ? ':' + line : '') : f.module === '[unknown]' ||
		f.module === f.name ? '' : f.module;
	return cleaned(f.name + (where && ` (${where})`));
}

/** Tells whether samples of several processes are shown, which may have the same name. */
function severalProcesses() {
	const {data: {labels, samples}, pass} = page, seen = new Set();
	for (let s = 0; s < samples.n; s++) {
		if (!pass || pass[s])
			seen.add(samples.labels[s]);
	}
	return new Set([...seen].map((i) => labels[i]).filter((set) => set.process || set.pid)
		.map((set) => nameOf(set, 'process'))).size > 1;
}

/**
 * Returns the root frames of each label set, innermost first, as src/view/shape/roots.c makes them.
 * @returns {{of: Int32Array, texts: string[][]}}
 */
function rootTexts() {
	const {data, sides} = page, by = grouping(), list = by && by !== PROGRAM ? [by] : [];
	if (sides ? by === PROGRAM : state.by !== 'none' && by !== 'process' && severalProcesses())
		list.push(PROGRAM);
	const ids = new Map(), texts = /** @type {string[][]} */ ([]);
	const of = Int32Array.from(data.labels, (set) => {
		const roots = list.map((key) => cleaned(nameOf(set, key))), key = roots.join(';');
		if (!ids.has(key)) {
			ids.set(key, texts.length);
			texts.push(roots);
		}
		return ids.get(key);
	});
	return {of, texts};
}

/**
 * Returns the stacks as krait report --format folded writes them. Readers of that format take the
 * number behind a stack for a count, so it is the number of samples if that is known, else the
 * value that is shown. For two recordings, two numbers follow each stack, and its frames have no
 * lines, because lines may differ between recordings.
 */
export function foldedText() {
	const {data, pass, sides} = page, {header} = data,
		{samples, nodeParent, nodeSpot, nodeBox, spotFn, spotLine} = data;
	const v = header.values[0][0] === 'samples' && samplesAreOf(header, state.value) ? 0 :
		state.value, w = samples.values[v],
		one = header.values[v][1] === 'microcount' ? 1e6 : 1;
	const roots = rootTexts(), left = state.library === 'hidden' ? insideLibrary(data) : null;
	const texts = Array.from(spotLine,
		(line, s) => frameText(data.functions[spotFn[s]], sides ? 0 : line));
	/** @type {Map<number, number[]>} */
	const byNode = new Map();
	for (let s = 0; s < samples.n; s++) {
		if (pass && !pass[s])
			continue;
		const of = samples.labels[s], key = samples.node[s] * roots.texts.length +
			roots.of[of];
		if (!byNode.has(key))
			byNode.set(key, [0, 0]);
		byNode.get(key)[sides ? sides.of[of] : 0] += w[s];
	}
	/** @type {Map<string, number[]>} */
	const byStack = new Map();
	for (const [key, sums] of byNode) {
		const path = [];
		for (let i = Math.floor(key / roots.texts.length); i > 0; i = nodeParent[i]) {
			if (!left || !left[nodeBox[i]])
				path.push(texts[nodeSpot[i]]);
		}
		path.push(...roots.texts[key % roots.texts.length]);
		const stack = (path.length ? path.reverse().join(';') : '[no stack]').replace(/^#/,
			' #'), was = byStack.get(stack) || [0, 0];
		byStack.set(stack, was.map((x, i) => x + sums[i]));
	}
	return [...byStack].filter(([, sums]) => sums[0] + sums[1] > 0)
		.map(([stack, sums]) => [stack,
			...sums.slice(0, sides ? 2 : 1).map((x) => x / one)].join(' ') + '\n')
		.sort();
}

/** @param {string} what */
export function save(what) {
	const flames = above.tree ? [above, flame] : [flame];
	if (what === 'svg')
		download([pictureSvg(flames)], 'image/svg+xml', 'krait.svg');
	else if (what === 'folded')
		download(foldedText(), 'text/plain', 'krait.folded');
	else
		picturePng(flames, (b) => download([b], 'image/png', 'krait.png'));
}
