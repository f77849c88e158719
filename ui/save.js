// SPDX-License-Identifier: BSD-2-Clause
// What is on the screen as a file: the picture as SVG or PNG, the stacks as folded text.

import {columns, el, fit} from './base.js';
import {inks} from './colour.js';
import {ROW} from './flame.js';
import {selfOf, sideSelfOf} from './tree.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {import('./flame.js').Flame} Flame */

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

/**
 * All rows, also those that are scrolled away.
 * @param {Flame} flame
 */
export function pictureSvg(flame) {
	const ink = inks(), {placed, tree, width, rows} = flame, height = rows * ROW;
	const root = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`});
	root.append(svg('rect', {width, height, fill: ink.page}));
	for (let p = 0; p < placed.length; p += 3) {
		const i = placed[p], x = Math.max(placed[p + 1], 0), w = Math.min(placed[p + 1] + placed[p + 2], width) - x;
		const y = flame.flip ? height - (tree.depth[i] + 1) * ROW : tree.depth[i] * ROW, f = flame.fnOf(i);
		const box = svg('rect', {x: x.toFixed(1), y, width: Math.max(w - 1, 0.5).toFixed(1), height: ROW - 1, fill: flame.hooks.fill(i)});
		box.append(svg('title', {}, f.name + (f.path ? '\n' + f.path : '')));
		root.append(box);
		if (flame.hooks.bars && w >= 5)
			flame.hooks.bars(i).forEach((length, k) => root.append(svg('rect', {x: x.toFixed(1), y: y + ROW - 5 + 2 * k,
				width: ((w - 1) * length).toFixed(1), height: 2, fill: k ? ink.after : ink.before})));
		const room = Math.floor((w - 8) / flame.charWidth);
		if (room >= 3)
			root.append(svg('text', {x: (x + 4).toFixed(1), y: y + (flame.hooks.bars ? 11 : 13), fill: ink.text, 'font-family': 'monospace', 'font-size': 12},
				columns(f.name) <= room ? f.name : fit(f.name, room - 1) + '\u2026'));
	}
	return new XMLSerializer().serializeToString(root);
}

/**
 * Of two recordings both counts stand behind a stack.
 * @param {Tree} t @param {(i: number) => string} name
 */
export function foldedText(t, name) {
	const path = /** @type {string[]} */ ([]), out = [];
	for (let i = 1; i < t.n; i++) {
		path.length = t.depth[i] - 1;
		path.push(name(i).replace(/;/g, ':').replace(/[\x00-\x1f\x7f]/g, ' '));
		if (selfOf(t, i) > 0)
			out.push([path.join(';'), ...t.sums.map((_, side) => sideSelfOf(t, i, side))].join(' ') + '\n');
	}
	return out;
}

/** @param {string} what @param {Flame} flame @param {Tree} whole @param {(i: number) => string} name */
export function save(what, flame, whole, name) {
	if (what === 'svg')
		download([pictureSvg(flame)], 'image/svg+xml', 'krait.svg');
	else if (what === 'folded')
		download(foldedText(whole, name), 'text/plain', 'krait.folded');
	else
		flame.canvas.toBlob((b) => download([b], 'image/png', 'krait.png'));
}
