// SPDX-License-Identifier: BSD-2-Clause
// The strip over the recording: what each thread or process did when, and the range that is brushed.

import {byId, el, fit, quantity} from './base.js';
import {GIL, inks, laneFill} from './colour.js';
import {say} from './details.js';
import {groupLabels} from './samples.js';

/** @typedef {import('./data.js').Data} Data */

const LANES = 6, LANE = 17, NAMES = 150, AXIS = 16, ROOM = NAMES - 24;

/**
 * As much of a name as there is room for beside its lane; a number at its end stays.
 * @param {CanvasRenderingContext2D} g @param {string} name
 */
function shortened(g, name) {
	const number = / \([pt]id \d+\)$/.exec(name), end = number ? number[0] : '', start = name.slice(0, name.length - end.length);
	let n = 40, text = name;
	while (n > 0 && g.measureText(text).width > ROOM)
		text = fit(start, n--) + '\u2026' + end;
	return text;
}

/** @param {Data} d */
function laneGroups(d) {
	const processes = groupLabels(d, 'process');
	return d.header.diff ? groupLabels(d, d.header.diff.label) : processes.names.length > 1 ? processes : groupLabels(d, 'thread');
}

/**
 * Takes the place that the strip will have.
 * @param {Data} d
 */
export function reserveStrip(d) {
	const strip = byId('strip');
	strip.hidden = !d.header.timed;
	strip.style.setProperty('--lanes', Math.min(laneGroups(d).names.length, LANES) * LANE + AXIS + 'px');
}

export class Strip {
	/** @param {Data} data @param {(range: [number, number]|null) => void} brush @param {string} title */
	constructor(data, brush, title) {
		this.data = data;
		this.brush = brush;
		/** @type {[number, number]|null} */
		this.range = null;
		const {time, n} = data.samples;
		let last = -1;
		for (let s = 0; s < n; s++)
			last = Math.max(last, time[s]);
		this.end = Math.max(last + data.header.timeUnitNs, data.header.durationNs);
		this.there = Boolean(data.header.timed);
		this.canvas = el('canvas', {role: 'img', tabindex: '0', 'aria-label': title + '; the arrow keys choose a range'});
		byId('strip').replaceChildren(this.canvas);
		this.gil = data.labels.some((l) => l.gil);
		this.lanes();
		this.listen();
	}

	/** Threads, or processes where there are several; the busiest, and all others together. */
	lanes() {
		const d = this.data, by = laneGroups(d);
		const sums = new Float64Array(by.names.length), {n, labels, values} = d.samples;
		for (let s = 0; s < n; s++)
			sums[by.of[labels[s]]] += values[0][s];
		const order = [...sums.keys()].sort((a, b) => d.header.diff ? by.names[a] < by.names[b] ? 1 : -1 : sums[b] - sums[a]), rest = order.length > LANES;
		const kept = rest ? order.slice(0, LANES - 1) : order;
		this.names = kept.map((g) => by.names[g]);
		if (rest)
			this.names.push(order.length - kept.length + ' others');
		const lane = new Int32Array(by.names.length).fill(kept.length);
		kept.forEach((g, i) => {
			lane[g] = i;
		});
		this.laneOf = Int32Array.from(by.of, (g) => g < 0 ? 0 : lane[g]);
		this.stateOf = Int32Array.from(d.labels, (l) => Math.max(GIL.indexOf(l.gil), 0));
	}

	/** @param {number} v value type @param {Uint8Array|null} pass all filters but the range */
	sum(v, pass) {
		const {n, labels, time, values} = this.data.samples, w = values[v], states = this.gil ? GIL.length : 1;
		this.width = byId('strip').clientWidth;
		this.bins = Math.max(Math.floor((this.width - NAMES - 16) / 2), 10);
		this.states = states;
		const per = this.bins / this.end;
		this.values = new Float64Array(this.names.length * this.bins * states);
		for (let s = 0; s < n; s++) {
			if (time[s] < 0 || pass && !pass[s])
				continue;
			const bin = Math.min(Math.floor(time[s] * per), this.bins - 1), lane = this.laneOf[labels[s]];
			this.values[(lane * this.bins + bin) * states + (states > 1 ? this.stateOf[labels[s]] : 0)] += w[s];
		}
	}

	draw() {
		if (!this.there || !this.values)
			return;
		const ratio = devicePixelRatio || 1, c = this.canvas, w = this.width, h = this.names.length * LANE + AXIS, ink = inks();
		c.width = Math.round(w * ratio);
		c.height = Math.round(h * ratio);
		c.style.height = h + 'px';
		const g = c.getContext('2d', {alpha: false});
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = ink.page;
		g.fillRect(0, 0, w, h);
		g.font = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
		g.textBaseline = 'middle';
		this.names.forEach((name, i) => this.lane(g, name, i));
		this.axis(g, h);
		this.marked(g, h);
	}

	/** @param {CanvasRenderingContext2D} g @param {string} name @param {number} i */
	lane(g, name, i) {
		const ink = inks(), {bins, states} = this, base = (i + 1) * LANE - 2;
		const fills = this.gil ? GIL.map(laneFill) : [ink.hit];
		let most = 0;
		for (let b = 0; b < bins; b++) {
			let sum = 0;
			for (let k = 0; k < states; k++)
				sum += this.values[(i * bins + b) * states + k];
			most = Math.max(most, sum);
		}
		g.fillStyle = ink.faint;
		g.fillText(shortened(g, name), 16, base - 6, ROOM);
		g.fillStyle = ink.off;
		g.fillRect(NAMES, base, bins * 2, 1);
		for (let b = 0; b < bins; b++) {
			let y = base;
			for (let k = 0; k < states; k++) {
				const v = this.values[(i * bins + b) * states + k];
				if (!v)
					continue;
				const high = Math.max(v / most * (LANE - 4), 1);
				y -= high;
				g.fillStyle = fills[k];
				g.fillRect(NAMES + b * 2, y, 2, high);
			}
		}
	}

	/** @param {CanvasRenderingContext2D} g @param {number} h */
	axis(g, h) {
		const seconds = this.end / 1e9, width = this.bins * 2, rough = seconds / Math.max(width / 90, 1);
		const step = [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10(rough))).find((k) => k >= rough) || rough;
		g.fillStyle = inks().faint;
		for (let t = 0; t <= seconds; t += step) {
			const text = +t.toPrecision(6) + ' s';
			g.fillText(text, Math.min(NAMES + t / seconds * width, this.width - g.measureText(text).width - 2), h - AXIS / 2);
		}
	}

	/**
	 * What isn't in the range is dimmed.
	 * @param {CanvasRenderingContext2D} g @param {number} h
	 */
	marked(g, h) {
		if (!this.range)
			return;
		const x = this.range.map((t) => NAMES + t / this.end * this.bins * 2);
		g.globalAlpha = 0.75;
		g.fillStyle = inks().page;
		g.fillRect(NAMES, 0, x[0] - NAMES, h - AXIS);
		g.fillRect(x[1], 0, NAMES + this.bins * 2 - x[1], h - AXIS);
		g.globalAlpha = 1;
		g.fillStyle = inks().hit;
		g.fillRect(x[0] - 1, 0, 2, h - AXIS);
		g.fillRect(x[1] - 1, 0, 2, h - AXIS);
	}

	/** @param {number} x in the canvas */
	time(x) {
		return Math.min(Math.max((x - NAMES) / (this.bins * 2), 0), 1) * this.end;
	}

	listen() {
		const c = this.canvas;
		let from = -1;
		c.addEventListener('pointerdown', (/** @type {PointerEvent} */ e) => {
			if (e.button)
				return;
			from = this.time(e.offsetX);
			c.setPointerCapture(e.pointerId);
		});
		c.addEventListener('pointermove', (/** @type {PointerEvent} */ e) => {
			const to = this.time(e.offsetX), width = Math.abs(to - from) / this.end;
			c.title = e.offsetX < NAMES && this.names[Math.floor(e.offsetY / LANE)] || '';
			if (from >= 0 && e.buttons & 1 && width > 0.002)
				this.brush([Math.min(from, to), Math.max(from, to)]);
		});
		c.addEventListener('pointerup', (/** @type {PointerEvent} */ e) => {
			if (from >= 0 && Math.abs(this.time(e.offsetX) - from) / this.end <= 0.002 && this.range)
				this.brush(null);
			from = -1;
		});
		c.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => {
			const arrow = ['ArrowLeft', 'ArrowRight'].indexOf(e.key);
			if (e.ctrlKey || e.metaKey || e.altKey || arrow < 0 && !(e.key === 'Escape' && this.range))
				return;
			e.preventDefault();
			e.stopPropagation();
			this.brush(arrow < 0 ? null : this.beside(arrow * 2 - 1, e.shiftKey));
			say(this.range ? this.text(this.range) : 'the whole recording');
		});
	}

	/**
	 * The range that an arrow key leads to: the first one is the tenth at its end.
	 * @param {number} sign @param {boolean} wider the end moves alone @returns {[number, number]}
	 */
	beside(sign, wider) {
		const step = this.end / 50, least = this.end / 10;
		if (!this.range)
			return sign > 0 ? [0, least] : [this.end - least, this.end];
		const [a, b] = this.range, width = b - a;
		if (wider)
			return [a, Math.min(Math.max(b + sign * step, a + step), this.end)];
		const from = Math.min(Math.max(a + sign * step, 0), this.end - width);
		return [from, from + width];
	}

	/** @param {[number, number]} range */
	text(range) {
		return quantity(range[0], 'nanoseconds') + ' \u2013 ' + quantity(range[1], 'nanoseconds');
	}
}
