// SPDX-License-Identifier: BSD-2-Clause
// A call tree on a canvas. Only visible boxes are placed and drawn, so the cost of a zoom depends
// on the picture, not on the recording.

import {el} from '../base/base.js';
import {inks} from './colour.js';
import {listenGestures} from './gestures.js';
import {FONT, drawLabel} from './label.js';
import {children, valueOf} from '../data/tree.js';

/** @typedef {import('../data/tree.js').Tree} Tree */
/** @typedef {import('../data/data.js').Fn} Fn */

export const ROW = 18;
const LEAST = 0.4; // in pixels; a narrower box isn't drawn
const ON_PAPER = 1800; // at most so many rows are printed

/**
 * @typedef {object} FlameHooks
 * @property {(node: number) => void} zoom called when a box was chosen
 * @property {(node: number, x: number, y: number) => void} hover -1: no box
 * @property {() => void} moved called when wheel, drag or key has changed .a or .b
 * @property {() => void} scrolled
 * @property {(node: number) => string} fill
 * @property {(node: number) => [number, number]} [bars] lengths of two bars at the bottom of a box;
 *   1 is the box's width
 * @property {(node: number) => string} [note] after the name, in place of the file
 */

export class Flame {
	/** @param {HTMLElement} scroller */
	constructor(scroller) {
		this.scroller = scroller;
		/** @type {FlameHooks} */
		this.hooks = null;
		/** @type {Tree} */
		this.tree = null;
		this.canvas = /** @type {HTMLCanvasElement} */ (scroller.querySelector('canvas'));
		this.spacer = /** @type {HTMLElement} */ (scroller.querySelector('.spacer'));
		this.sheet = scroller.querySelector('.sheet');
		this.flip = false;
		this.zoom = 0;
		this.a = 0; // .a, .b: the beginning and the end of the shown part of the zoomed box
		this.b = 1;
		this.focus = -1;
		// in the view of a function's callers and callees (sandwich): the index of this
		// function's box; -1: another view is shown
		this.middle = -1;
		/** @type {Uint8Array|null} */
		this.hit = null;
		/** @type {(t: Tree, i: number, least?: number) => number[]} */
		this.order = children;
		this.width = this.height = this.charWidth = 0;
		/** @type {number[]} */
		this.placed = []; // node, x and width of each box that was drawn
		this.rows = 0;
		this.hover = -1;
		this.top = 0; // a copy of .scroller.scrollTop, which is slow to read
		listenGestures(this);
	}

	/** @param {Tree} tree @param {Fn[]} functions @param {string} rootName */
	set(tree, functions, rootName) {
		this.tree = tree;
		this.functions = functions;
		this.root = {name: rootName, file: '', path: '', module: '', imported: '',
			language: '', kind: 0, origin: 0, member: 0, line: 0, root: true};
		if (this.zoom >= tree.n) {
			this.zoom = this.a = 0;
			this.b = 1;
		}
	}

	/** @param {number} i @returns {Fn} */
	fnOf(i) {
		const f = this.tree.fn[i], {folds} = this.tree;
		if (folds && folds.has(i))
			return folds.get(i);
		return f < 0 ? this.root : this.functions[f];
	}

	measure() {
		const ratio = window.devicePixelRatio || 1, s = this.scroller;
		this.width = s.clientWidth;
		this.height = s.clientHeight;
		const c = this.canvas, w = Math.round(this.width * ratio),
			h = Math.round(this.height * ratio);
		if (c.width !== w || c.height !== h) {
			c.width = w;
			c.height = h;
			c.style.width = this.width + 'px';
			c.style.height = this.height + 'px';
		}
		const g = c.getContext('2d', {alpha: false});
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.font = FONT;
		g.textBaseline = 'middle';
		this.charWidth = this.charWidth || g.measureText('M'.repeat(50)).width / 50;
		this.g = g;
	}

	/** @param {number} node @returns {number[]} from the root */
	path(node) {
		const out = [];
		for (let i = node; i > 0; i = this.tree.parent[i])
			out.push(i);
		out.push(0);
		return out.reverse();
	}

	place() {
		const t = this.tree, placed = [], width = this.width, up = this.path(this.zoom);
		let rows = up.length;
		for (const i of up.slice(0, -1))
			placed.push(i, 0, width);
		const scale = width / Math.max(this.b - this.a, 1e-12), start = -this.a * scale;
		const todo = [this.zoom, start, scale],
			perValue = scale / (valueOf(t, this.zoom) || 1);
		// The loop may leave out narrow boxes only if the widest boxes come first. In any
		// other order each box keeps its width, and the next box begins behind it.
		const least = this.order === children ? LEAST / perValue : 0;
		while (todo.length) {
			const w = todo.pop(), x = todo.pop(), i = todo.pop();
			placed.push(i, x, w);
			if (t.depth[i] + 1 > rows)
				rows = t.depth[i] + 1;
			let at = x;
			for (const k of this.order(t, i, least)) {
				const kw = valueOf(t, k) * perValue;
				if (t.at)
					at = x + (t.at[k] - t.at[i]) * perValue;
				if (kw >= LEAST && at + kw > 0 && at < width)
					todo.push(k, at, kw);
				at += kw;
			}
		}
		this.placed = placed;
		this.rows = rows;
		this.spacer.style.height = rows * ROW + 'px';
	}

	/**
	 * Returns the top of a row in the canvas.
	 * @param {number} depth
	 */
	y(depth) {
		const all = Math.max(this.rows * ROW, this.flip ? this.height : 0);
		return (this.flip ? all - (depth + 1) * ROW : depth * ROW) - this.top;
	}

	draw() {
		if (!this.tree)
			return;
		this.measure();
		this.place();
		this.paint();
	}

	paint() {
		if (!this.tree)
			return;
		this.top = this.scroller.scrollTop;
		this.paintRows();
	}

	/**
	 * Paints the first rows on another canvas, also rows that are scrolled away.
	 * @param {CanvasRenderingContext2D} g @param {number} first from the top @param {number} n
	 */
	paintOn(g, first, n) {
		const seen = {g: this.g, height: this.height, top: this.top};
		Object.assign(this, {g, height: n * ROW, top: first * ROW});
		g.font = FONT;
		g.textBaseline = 'middle';
		this.paintRows();
		Object.assign(this, seen);
	}

	paintRows() {
		const {g, placed, tree, hit} = this, ink = inks();
		g.fillStyle = ink.page;
		g.fillRect(0, 0, this.width, this.height);
		for (let p = 0; p < placed.length; p += 3) {
			const i = placed[p], y = this.y(tree.depth[i]);
			if (y > this.height || y < -ROW)
				continue;
			const x = Math.max(placed[p + 1], 0),
				w = Math.min(placed[p + 1] + placed[p + 2], this.width) - x;
			const f = tree.fn[i], on = i === this.middle || hit && f >= 0 && hit[f];
			g.fillStyle = on ? ink.hit : hit ? ink.off : this.hooks.fill(i);
			if (i !== this.zoom && tree.end[i] > this.zoom && i < this.zoom)
				g.globalAlpha = 0.55;
			g.fillRect(x, y, w > 3 ? w - 1 : Math.max(w - 0.3, 0.5), ROW - 1);
			g.globalAlpha = 1;
			if (this.hooks.bars && w >= 5)
				this.bars(i, x, y, w);
			if (w >= 26)
				drawLabel(g, this.charWidth, this.fnOf(i), x,
					y + (this.hooks.bars ? ROW - 5 : ROW) / 2, w,
					on ? [ink.hitText, ink.hitText] : [ink.text, ink.faint],
					this.hooks.note ? this.hooks.note(i) : '');
		}
		this.outline(this.focus, 2, ink.edge);
		if (this.hover !== this.focus)
			this.outline(this.hover, 1, ink.edge);
	}

	/** @param {number} node @param {number} x @param {number} y @param {number} w */
	bars(node, x, y, w) {
		const lengths = this.hooks.bars(node), ink = inks();
		this.g.fillStyle = ink.before;
		this.g.fillRect(x, y + ROW - 5, (w - 1) * lengths[0], 2);
		this.g.fillStyle = ink.after;
		this.g.fillRect(x, y + ROW - 3, (w - 1) * lengths[1], 2);
	}

	/** @param {number} node */
	rect(node) {
		const p = this.placed;
		for (let k = 0; k < p.length; k += 3) {
			if (p[k] === node) {
				const x = Math.max(p[k + 1], 0);
				return {x, w: Math.min(p[k + 1] + p[k + 2], this.width) - x,
					y: this.y(this.tree.depth[node])};
			}
		}
		return null;
	}

	/** @param {number} node @param {number} width @param {string} ink */
	outline(node, width, ink) {
		const r = node >= 0 ? this.rect(node) : null;
		if (!r)
			return;
		this.g.strokeStyle = ink;
		this.g.lineWidth = width;
		this.g.strokeRect(r.x + width / 2, r.y + width / 2, Math.max(r.w - 1 - width, 1),
			ROW - 1 - width);
	}

	/**
	 * Returns the box at a place in the canvas; -1: there is none.
	 * @param {number} x @param {number} y
	 */
	at(x, y) {
		const p = this.placed, t = this.tree;
		for (let k = p.length - 3; k >= 0; k -= 3) {
			const top = this.y(t.depth[p[k]]);
			if (y >= top && y < top + ROW && x >= p[k + 1] && x < p[k + 1] +
					Math.max(p[k + 2], 1))
				return p[k];
		}
		return -1;
	}

	/**
	 * Zooms by a factor around a place, within the zoomed box.
	 * @param {number} factor @param {number} x 0 to 1
	 */
	scale(factor, x) {
		const span = Math.min(Math.max((this.b - this.a) * factor, 1e-7), 1),
			at = this.a + x * (this.b - this.a);
		this.pan(at - x * span, span);
	}

	/** @param {number} a @param {number} span */
	pan(a, span) {
		this.a = Math.min(Math.max(a, 0), 1 - span);
		this.b = this.a + span;
	}

	/** Returns the number of rows that don't fit on paper. */
	cut() {
		return this.tree ? Math.max(this.rows - ON_PAPER, 0) : 0;
	}

	/**
	 * Prepares the picture for paper, or for the screen again. Paper can't be scrolled, so all
	 * rows are drawn. Each row has a canvas of its own, so that a page of paper ends between
	 * two rows.
	 * @param {boolean} on
	 */
	forPrint(on) {
		// With many rows the resolution is lower, to save memory.
		const n = on && this.tree ? Math.min(this.rows, ON_PAPER) : 0,
			ratio = n > 400 ? 1 : 2;
		const first = this.flip ? this.rows - n : 0;
		this.sheet.replaceChildren(...Array.from({length: n}, (_, i) => {
			const row = el('canvas', {width: this.width * ratio, height: ROW * ratio}),
				g = row.getContext('2d', {alpha: false});
			g.scale(ratio, ratio);
			this.paintOn(g, first + i, 1);
			return row;
		}));
	}

	/** Returns how many pixels the picture can be scrolled. */
	most() {
		return Math.max(this.rows * ROW - this.height, 0);
	}

	/** Returns the pixels between the root's end of the picture and the visible part. */
	scrolled() {
		const {scrollTop} = this.scroller;
		return Math.max(Math.round(this.flip ? this.most() - scrollTop : scrollTop), 0);
	}

	/** @param {number} fromRoot pixels; 0: where all stacks begin */
	scrollTo(fromRoot) {
		this.scroller.scrollTop = this.flip ? this.most() - fromRoot : fromRoot;
		this.top = this.scroller.scrollTop; // the scroll event comes later
	}

	/**
	 * Scrolls so that a box is in view.
	 * @param {number} node
	 */
	reveal(node) {
		const y = this.y(this.tree.depth[node]);
		if (y < 0)
			this.scroller.scrollTop += y;
		else if (y + ROW > this.height)
			this.scroller.scrollTop += y + ROW - this.height;
	}
}
