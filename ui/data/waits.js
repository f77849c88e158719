// SPDX-License-Identifier: BSD-2-Clause
// Waits: samples with a length. A wait has the time at which it began, and counts over its whole
// length. So a range of the timeline has the part of a wait that lies in it. Wall time is CPU time
// and waiting together; it is computed, because no file has it.

import {lastAnswer} from '../base/base.js';
import {isCounted} from './data.js';

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./data.js').Samples} Samples */

/**
 * Returns the index of the value of type @type in nanoseconds; -1: the recording has no such value.
 * @param {any} header @param {string} type
 */
export const timeValue = (header, type) => header.values.findIndex(
	(/** @type {any} */ v) => v[0] === type && v[1] === 'nanoseconds');

/** @param {any} header */
export const waitValue = (header) => header.diff ? -1 : timeValue(header, 'off_cpu');

/**
 * Is value @v waiting, or does it include waiting?
 * @param {any} header @param {number} v
 */
export const isOfWaits = (header, v) => waitValue(header) >= 0 &&
	['off_cpu', 'wall'].includes(header.values[v][0]);

/**
 * Adds wall time to the values of a recording that has CPU time and waiting.
 * @param {any} header
 */
export function addWall(header) {
	const cpu = timeValue(header, 'cpu'), off = waitValue(header);
	if (cpu < 0 || off < 0 || timeValue(header, 'wall') >= 0)
		return;
	header.values.push(['wall', 'nanoseconds', 0]);
	for (const list of [header.totals, header.less])
		list.push(list[cpu] + list[off]);
}

/**
 * Computes the values of wall time, which isn't in the file.
 * @param {any} header @param {Float64Array[]} values by type
 */
export function sumWall(header, values) {
	const cpu = timeValue(header, 'cpu'), off = waitValue(header), wall = header.stored;
	for (let i = 0; wall < values.length && i < values[wall].length; i++)
		values[wall][i] = values[cpu][i] + values[off][i];
}

/**
 * Returns the length of each sample in ns, 0 for samples of CPU time; null: the recording has no
 * waits.
 * @param {Data} d
 */
export function lengthsOf(d) {
	const off = waitValue(d.header);
	return off < 0 ? null : d.samples.whole[off];
}

/**
 * Returns for each sample whose thread ended a wait for a lock how long that wait was. The wait
 * ended at the sample's time. null: the recording doesn't have this value.
 * @param {Data} d
 */
export function endedOf(d) {
	const v = timeValue(d.header, 'lock_blame');
	return v < 0 || d.header.diff ? null : d.samples.whole[v];
}

/**
 * Returns the spans of time of a value's samples. .length: in ns, 0 for a moment; .ended: the
 * sample's time is the span's end, not its beginning. null: each sample is a moment.
 * @param {Data} d @param {number} v value type
 */
function spansOf(d, v) {
	const type = d.header.values[v][0], {whole} = d.samples;
	if (type === 'lock_blame' || type === 'gil_wait')
		return {length: whole[v], ended: type === 'lock_blame'};
	return type === 'gil_blame' || isOfWaits(d.header, v) ?
		{length: lengthsOf(d), ended: false} : null;
}

/**
 * Sets the values of waits for a range of time: a wait counts for the part of it that lies in the
 * range. null: each wait counts in full.
 * @param {Data} d @param {[number, number]|null} range
 */
export function cutWaits(d, range) {
	const {whole, values, time, n} = d.samples || {};
	if (!d.samples || !lengthsOf(d))
		return;
	for (let v = 0; v < values.length; v++) {
		const spans = spansOf(d, v);
		if (!spans)
			continue;
		if (!range || !d.header.timed) {
			values[v] = whole[v];
			continue;
		}
		const cut = values[v] === whole[v] ? new Float64Array(n) : values[v],
			from = whole[v];
		for (let s = 0; s < n; s++) {
			const {length, ended} = spans,
				long = ended ? Math.min(length[s], time[s]) : length[s];
			cut[s] = long > 0 ? from[s] * partIn(ended ? time[s] - long : time[s],
				long, range) : from[s];
		}
		values[v] = cut;
	}
}

/**
 * Returns which part of a wait lies in a range.
 * @param {number} time when it began @param {number} length @param {[number, number]} range
 */
export function partIn(time, length, [from, to]) {
	return Math.max(Math.min(time + length, to) - Math.max(time, from), 0) / length;
}

/** States of a thread that end only when another thread wakes it up. */
export const LOCKS = ['stop-the-world', 'critical-section', 'lock'];

/** All states, in the order in which the timeline stacks them. 'idle' is any wait for work. */
export const WAIT_STATES = ['running', 'runnable', 'stolen', 'gil', ...LOCKS, 'net', 'disk', 'pipe',
	'child', 'poll', 'loop', 'sleep', 'page-fault', 'other', 'idle'];
// States of a thread that aren't waits: a sample with such a state may be the sum of several spans
// of time.
const NOT_WAITS = ['runnable', 'stolen'];

/**
 * Returns the state of a label set, as an index in WAIT_STATES.
 * @param {Record<string, string>} set
 */
export function stateIndex(set) {
	const at = WAIT_STATES.indexOf(set.idle === 'yes' ? 'idle' : set.state || 'running');
	return at < 0 ? WAIT_STATES.indexOf('other') : at;
}

/**
 * @typedef {object} Wait what samples waited for
 * @property {string} name the state, and on what the threads waited
 * @property {number} ns
 * @property {number} count at least so many waits; NaN: they aren't waits. A sample may be several
 * waits: waits within 10 ms, and waits whose stacks weren't taken
 * @property {number} longest an upper bound @property {number} median an estimate
 */

const MOST_WAITS = 3;
const lastWaits = /** @type {typeof lastAnswer<Wait[]>} */ (lastAnswer)();

/**
 * Returns the kinds of waits of a box that took longest.
 * @param {Data} d
 * @param {Int32Array} leaf of samples
 * @param {number} from
 * @param {number} to the box and one past the last box in it
 * @param {Uint8Array|null} pass
 * @returns {Wait[]}
 */
export function waitsIn(d, leaf, from, to, pass) {
	const length = lengthsOf(d);
	return !length ? [] : lastWaits([leaf, from, to, pass], () => {
		const kinds = kindsIn(d, length, leaf, from, to, pass),
			known = isCounted(d.header, waitValue(d.header));
		return [...kinds].sort(([, a], [, b]) => b.ns - a.ns).slice(0, MOST_WAITS)
			.map((kind) => waitOf(kind, known));
	});
}

/**
 * @typedef {{ns: number, count: number, lengths: number[], on: Map<string, number>}} Kind .count:
 *   how many waits the recording has counted; .on: how long the threads waited on what
 */

/**
 * @param {Data} d @param {Float64Array} length
 * @param {Int32Array} leaf @param {number} from @param {number} to @param {Uint8Array|null} pass
 */
function kindsIn(d, length, leaf, from, to, pass) {
	/** @type {Map<string, Kind>} */
	const kinds = new Map();
	const {n, labels, values} = d.samples;
	for (let s = 0; s < n; s++) {
		if (leaf[s] < from || leaf[s] >= to || !length[s] || pass && !pass[s])
			continue;
		const set = d.labels[labels[s]], on = set.on || '',
			name = (set.state || 'other') + (set.idle === 'yes' ? ', for work' : '');
		const kind = kinds.get(name) || /** @type {Kind} */ (
			{ns: 0, count: 0, lengths: [], on: new Map()});
		kind.ns += length[s];
		kind.count += values[0][s];
		kind.lengths.push(length[s]);
		kind.on.set(on, (kind.on.get(on) || 0) + length[s]);
		kinds.set(name, kind);
	}
	return kinds;
}

/**
 * Says on what the threads waited in a kind of wait, as in " (10.0.0.5:5432)". With "mostly", this
 * thing had more than half of the time, but not all. '': nothing had more than half.
 * @param {Kind} kind
 */
function onWords({ns, on}) {
	const [[name, most]] = [...on].sort(([, a], [, b]) => b - a);
	return !name || most <= ns / 2 ? '' : ` (${most < ns ? 'mostly ' : ''}${name})`;
}

/**
 * @param {[string, Kind]} kind @param {boolean} known whether the samples say how many waits they
 * are
 */
function waitOf([name, kind], known) {
	const sorted = Float64Array.from(kind.lengths).sort(), n = sorted.length;
	return {name: name + onWords(kind), ns: kind.ns,
		count: NOT_WAITS.includes(name) ? NaN : known ? kind.count : n,
		longest: sorted[n - 1], median: sorted[n >> 1]};
}
