// SPDX-License-Identifier: BSD-2-Clause
// The strip above the picture: when each thread or process did something, and the range of time
// that the reader has chosen in it.

import {byId, el, fit, percent, quantity} from '../base/base.js';
import {GIL, inks, laneFill, stateFill} from '../picture/colour.js';
import {say} from '../parts/details.js';
import {EACH_THREAD, PROGRAM, THREAD_NAME, firstTimes, groupLabels, inTimeOrder, labelSums,
	nameOf} from '../data/samples.js';
import {state} from './view.js';
import {WAIT_STATES, isOfWaits, lengthsOf, stateIndex} from '../data/waits.js';

/** @typedef {import('../data/data.js').Data} Data */

const LANES = 6, LANE = 17, NAMES = 150, AXIS = 16, ROOM = NAMES - 24;
const BUCKET = 1e7; // the resolution, in ns, of recordings whose samples don't have exact times

/**
 * Returns as much of a name as fits beside its lane (a row of the timeline). If all of it doesn't
 * fit, a process before a thread is shortened to its number, and then the thread's number is left
 * out. If this is still too long, the end of the name is cut off, but not a number at its end.
 * @param {CanvasRenderingContext2D} g @param {string} name
 */
function shortened(g, name) {
	if (g.measureText(name).width <= ROOM)
		return name;
	name = name.replace(/^.* \(pid (\d+)\) \u00b7 /, '$1 \u00b7 ');
	const short = name.replace(/( \u00b7 .*) \(tid \d+\)$/, '$1');
	if (g.measureText(short).width <= ROOM)
		return short;
	const number = / \([pt]id \d+\)$/.exec(name), end = number ? number[0] : '',
		start = name.slice(0, name.length - end.length);
	let n = 40, text = name;
	while (n > 0 && g.measureText(text).width > ROOM)
		text = fit(start, n--) + '\u2026' + end;
	return text;
}

/**
 * Returns the groups that get a lane (a row of the timeline) each. On a page of two recordings
 * these are the two sides. Else they are processes or threads, whichever the reader groups by. If
 * the reader groups by neither, they are processes, or threads if only one process is shown.
 * @param {Data} d @param {Uint8Array} there label sets that are shown
 */
function laneGroups(d, there) {
	const processes = groupLabels(d, 'process'),
		several = new Set(processes.of.filter((g, i) => g >= 0 && there[i])).size > 1;
	if (d.header.diff)
		return groupLabels(d, d.header.diff.label);
	const by = ['process', PROGRAM, 'thread', THREAD_NAME].includes(state.by) ? state.by :
		several ? 'process' : 'thread';
	return by === 'process' ? processes :
		groupLabels(d, by === 'thread' && several ? EACH_THREAD : by);
}

/**
 * Returns the groups that get a lane (a row of the timeline) each, and the number of other groups.
 * @param {Data} d
 * @param {Uint8Array} there label sets that are shown
 * @param {Float64Array} sums by label set
 * @param {Float64Array|null} first time of each label set's first sample; null: not known yet
 */
function lanesOf(d, there, sums, first) {
	const g = laneGroups(d, there), {of, names} = g, weights = new Float64Array(names.length);
	of.forEach((g, i) => {
		if (g >= 0)
			weights[g] += sums[i];
	});
	const order = [...new Set(of.filter((g, i) => g >= 0 && there[i]))].sort((a, b) =>
		d.header.diff ? names[a] < names[b] ? 1 : -1 : weights[b] - weights[a]);
	// While the reader groups samples, more lanes (rows of the timeline) are shown.
	const most = state.by ? Math.max(LANES, Math.floor(innerHeight / 4 / LANE)) : LANES;
	let kept = order.length > most ? order.slice(0, most - 1) : order;
	if (first && !d.header.diff)
		kept = inTimeOrder(d, g, first, weights).filter((i) => kept.includes(i));
	return {of, kept, names: kept.map((g) => names[g]), others: order.length - kept.length};
}

/** @param {number} lanes */
function takePlace(lanes) {
	byId('strip').style.setProperty('--lanes', lanes * LANE + AXIS + 'px');
}

/**
 * Reserves the place that the strip will take.
 * @param {Data} d
 */
export function reserveStrip(d) {
	const {labels} = state.filter, keys = Object.keys(labels);
	const there = Uint8Array.from(d.labels,
		(set) => keys.every((k) => nameOf(set, k) === labels[k]) ? 1 : 0);
	const {names, others} = lanesOf(d, there, new Float64Array(d.labels.length), null);
	byId('strip').hidden = !d.header.timed;
	takePlace(names.length + (others ? 1 : 0));
}

export class Strip {
	/**
	 * @param {Data} data
	 * @param {(range: [number, number]|null) => void} brush
	 * @param {string} title
	 */
	constructor(data, brush, title) {
		this.data = data;
		this.brush = brush;
		/** @type {[number, number]|null} */
		this.range = null;
		const {time, n} = data.samples;
		let last = -1;
		for (let s = 0; s < n; s++)
			last = Math.max(last, time[s]);
		// how exact the times of the samples are, in ns
		this.step = time.every((t) => t < 0 || t % BUCKET === 0) ? BUCKET :
			data.header.timeUnitNs;
		this.end = Math.max(last + this.step, data.header.durationNs);
		this.there = Boolean(data.header.timed);
		this.canvas = el('canvas',
			{role: 'img', tabindex: '0',
			'aria-label': title + '; the arrow keys choose a range'});
		byId('strip').replaceChildren(this.canvas);
		this.gil = data.labels.some((l) => l.gil);
		this.first = firstTimes(data);
		this.ofGil = Int32Array.from(data.labels, (l) => Math.max(GIL.indexOf(l.gil), 0));
		this.ofThread = Int32Array.from(data.labels, stateIndex);
		this.listen();
	}

	/**
	 * Chooses the lanes (rows of the timeline) for what the filters let through: the heaviest
	 * groups, in order of time, have a lane each. All other groups share the last lane.
	 * @param {number} v value type @param {Uint8Array|null} pass
	 */
	lanes(v, pass) {
		const d = this.data, {n, labels} = d.samples,
			there = new Uint8Array(d.labels.length);
		for (let s = 0; s < n; s++) {
			if (!pass || pass[s])
				there[labels[s]] = 1;
		}
		// The range doesn't change which groups have lanes. It changes the values of waits,
		// so the values of whole waits are summed here.
		const sums = labelSums(d, v, pass, d.samples.whole),
			{of, kept, names, others} = lanesOf(d, there, sums, this.first);
		this.names = others ? [...names, others + ' others'] : names;
		takePlace(this.names.length);
		const lane = new Map(kept.map((g, i) => [g, i]));
		this.laneOf = of.map((g) => lane.get(g) ?? kept.length);
	}

	/** @param {number} v value type @param {Uint8Array|null} pass all filters but the range */
	sum(v, pass) {
		const {data} = this, {n, labels, time, whole} = data.samples, w = whole[v];
		const waits = isOfWaits(data.header, v), length = waits ? lengthsOf(data) : null;
		this.lanes(v, pass);
		this.width = byId('strip').clientWidth;
		this.bins = Math.max(Math.floor((this.width - NAMES - 16) / 2), 10);
		this.fills = waits ? WAIT_STATES.map(stateFill) : this.gil ? GIL.map(laneFill) :
			[inks().hit];
		const stateOf = waits ? this.ofThread : this.ofGil, states = this.fills.length;
		const per = this.bins / this.end;
		this.states = states;
		this.values = new Float64Array(this.names.length * this.bins * states);
		for (let s = 0; s < n; s++) {
			if (time[s] < 0 || pass && !pass[s])
				continue;
			const long = length ? Math.max(length[s], this.step) : this.step;
			this.spread(this.laneOf[labels[s]] * this.bins,
				states > 1 ? stateOf[labels[s]] : 0, w[s], time[s] * per,
				Math.min((time[s] + long) * per, this.bins));
		}
		// The value that fills a lane's height: the highest value of all lanes, so that
		// they can be compared. If waits are shown, it is the length of a bin (a column of
		// the timeline), so that a thread that waits throughout fills its lane. CPU time in
		// a bin may be more than the bin's length, because a sample may stand for more time
		// than a bin has.
		this.most = waits ? this.end / this.bins : 0;
		for (let b = 0; b < this.values.length; b += states) {
			let sum = 0;
			for (let k = waits ? 1 : 0; k < states; k++)
				sum += this.values[b + k];
			this.most = Math.max(this.most, sum);
		}
	}

	/**
	 * Divides a value between the bins (columns of the timeline) over which its span of time
	 * extends.
	 * @param {number} at first bin of the lane @param {number} k state @param {number} value
	 * @param {number} from @param {number} to in bins
	 */
	spread(at, k, value, from, to) {
		const {values, states, bins} = this, first = Math.min(Math.floor(from), bins - 1);
		if (to <= first + 1) {
			values[(at + first) * states + k] += value;
			return;
		}
		for (let bin = first; bin < to; bin++)
			values[(at + bin) * states + k] += value * (Math.min(to, bin + 1) -
				Math.max(from, bin)) / (to - from);
	}

	draw() {
		if (!this.there || !this.values)
			return;
		const ratio = devicePixelRatio || 1, c = this.canvas, w = this.width,
			h = this.names.length * LANE + AXIS, ink = inks();
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
		const ink = inks(), {bins, states, fills} = this, base = (i + 1) * LANE - 2;
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
				const room = fills.length === WAIT_STATES.length ?
					y - base + LANE - 4 : Infinity, high = Math.min(
					Math.max(v / this.most * (LANE - 4), 1), room);
				y -= high;
				g.fillStyle = fills[k];
				g.fillRect(NAMES + b * 2, y, 2, high);
			}
		}
	}

	/** @param {CanvasRenderingContext2D} g @param {number} h */
	axis(g, h) {
		const seconds = this.end / 1e9, width = this.bins * 2,
			rough = seconds / Math.max(width / 90, 1);
		const step = [1, 2, 5, 10].map((k) => k * 10 ** Math.floor(Math.log10(rough)))
			.find((k) => k >= rough) || rough;
		g.fillStyle = inks().faint;
		for (let t = 0; t <= seconds; t += step) {
			const text = +t.toPrecision(6) + ' s';
			g.fillText(text, NAMES + Math.min(t / seconds * width,
				width - g.measureText(text).width), h - AXIS / 2);
		}
	}

	/**
	 * Dims the parts of the strip outside of the chosen range.
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
			const name = this.names[Math.floor(e.offsetY / LANE)];
			c.title = !name ? '' : e.offsetX < NAMES ? name :
				this.shares(Math.floor(e.offsetY / LANE), e.offsetX);
			if (from >= 0 && e.buttons & 1 && width > 0.002)
				this.brush([Math.min(from, to), Math.max(from, to)]);
		});
		c.addEventListener('pointerup', (/** @type {PointerEvent} */ e) => {
			if (from >= 0 &&
					Math.abs(this.time(e.offsetX) - from) / this.end <= 0.002 &&
					this.range)
				this.brush(null);
			from = -1;
		});
		c.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => {
			const arrow = ['ArrowLeft', 'ArrowRight'].indexOf(e.key);
			if (e.ctrlKey || e.metaKey || e.altKey || arrow < 0 &&
					!(e.key === 'Escape' && this.range))
				return;
			e.preventDefault();
			e.stopPropagation();
			this.brush(arrow < 0 ? null : this.beside(arrow * 2 - 1, e.shiftKey));
			say(this.range ? this.text(this.range) : 'the whole recording');
		});
	}

	/**
	 * Returns the range that an arrow key chooses. If no range was chosen before, this is a
	 * tenth of the recording, at its beginning or its end.
	 * @param {number} sign
	 * @param {boolean} wider only the end of the range moves
	 * @returns {[number, number]}
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

	/**
	 * Says what a thread did in the part of the time that is drawn at @x; '' if the value that
	 * is shown doesn't include waits, or if nothing is drawn there.
	 * @param {number} lane @param {number} x in the canvas
	 */
	shares(lane, x) {
		const {values, states, bins, end} = this, bin = Math.floor((x - NAMES) / 2);
		if (states !== WAIT_STATES.length || bin >= bins)
			return '';
		const at = (lane * bins + bin) * states,
			there = [...values.subarray(at, at + states)];
		const all = there.reduce((a, b) => a + b, 0), step = end / bins;
		return !all ? '' : [quantity(bin * step, 'nanoseconds') + ' \u2013 ' +
			quantity((bin + 1) * step, 'nanoseconds'),
			...there.map((v, k) => [v, WAIT_STATES[k]]).filter(([v]) => v)
			.sort(([a], [b]) => Number(b) - Number(a))
			.map(([v, name]) => name + ' ' + percent(Number(v), all))].join('\n');
	}

	/** @param {[number, number]} range */
	text(range) {
		return quantity(range[0], 'nanoseconds') + ' \u2013 ' +
			quantity(range[1], 'nanoseconds');
	}
}
