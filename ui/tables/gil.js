// SPDX-License-Identifier: BSD-2-Clause
// The table of which thread waited for which. It is above the other tables while a value of the GIL
// or of locks is shown. For the GIL, a holder's samples say how long other threads waited. The
// table divides that time between the threads that waited in the same 10 ms, or while the holder
// itself waited, as src/view/waits/gil.c does. For locks, the labels of samples say which thread
// waited.

import {byId, el, lastAnswer, percent, quantity, refill} from '../base/base.js';
import {legend} from '../view/boxes.js';
import {change, keepPlace, restructure} from '../change/change.js';
import {PROGRAM, groupLabels, nameOf, passing} from '../data/samples.js';
import {WORDS, page, state} from '../view/view.js';
import {LOCKS, lengthsOf, partIn, timeValue, waitValue} from '../data/waits.js';

/** @typedef {import('../data/data.js').Data} Data */

// at most so many threads have a row or a column of their own
const MOST_WAITERS = 6, MOST_HOLDERS = 4;
const WINDOW = 1e7; // ns

/**
 * What one of the two tables says. .row and .column: the type of the value that is shown when the
 * thread of a row, or of a column, is chosen; .where and .what: the end of the tooltip of such a
 * thread; .rest: the heading of the time for which no holder is known.
 * @typedef {{caption: string, row: string, where: string, column: string, what: string, rest:
 *   string}} Words
 */
/** @type {Words} */
const OF_GIL = {caption: 'Who waited for the GIL (rows), and who held it then (columns)',
	row: 'gil_wait', where: ': where it waited for the GIL',
	column: 'gil_blame', what: ': what it did while others waited for it', rest: 'nobody seen'};
/** @type {Words} */
const OF_LOCKS = {caption: 'Who waited for locks (rows), and who ended the wait (columns)',
	row: 'off_cpu', where: ': where it waited',
	column: 'lock_blame', what: ': where it ended others\u2019 waits', rest: 'not known'};

/**
 * @typedef {{from: Float64Array, to: Float64Array, fromSums: Float64Array, toSums: Float64Array}}
 * Series begins and ends of waits, in ascending order; for each begin, the sum of the begins before
 * it; for each end, the sum of the ends before it
 *
 * @typedef {object} Pairs who waited for whom
 * @property {Int32Array} thread of label sets
 * @property {string[]} names of threads
 * @property {number[]} rows threads that waited, the longest first
 * @property {number[]} columns threads that others waited for, the longest first
 * @property {Int32Array} rowOf of threads; rows.length: it shares the last row
 * @property {Int32Array} columnOf
 * @property {Int32Array} waits the samples of threads that waited
 * @property {Int32Array} holds the samples of threads for which others waited
 * @property {Float64Array} parts for each of .holds, which part of it each row has; if nobody was
 * seen to wait, they are 0
 */

/** @param {any} header */
const gilValues = (header) => ['gil_wait', 'gil_blame'].map((type) => timeValue(header, type));

/** @param {number[]} list of times @returns {[Float64Array, Float64Array]} sorted, and sums */
function sortedTimes(list) {
	const times = Float64Array.from(list).sort(), sums = new Float64Array(times.length + 1);
	for (let i = 0; i < times.length; i++)
		sums[i + 1] = sums[i] + times[i];
	return [times, sums];
}

/** @param {Array<[number, number]>} waits @returns {Series} */
function seriesOf(waits) {
	const [from, fromSums] = sortedTimes(waits.map(([a]) => a)),
		[to, toSums] = sortedTimes(waits.map(([, b]) => b));
	return {from, to, fromSums, toSums};
}

/**
 * Returns the sum of @at - t, over all t in @times that are before @at.
 * @param {Float64Array} times @param {Float64Array} sums @param {number} at
 */
function afterEach(times, sums, at) {
	let low = 0;
	for (let high = times.length; low < high;) {
		const mid = low + high >> 1;
		if (times[mid] < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low * at - sums[low];
}

/**
 * Returns the sum of the waits in a span of time.
 * @param {Series|undefined} s @param {number} from @param {number} to
 */
function waitedIn(s, from, to) {
	return !s ? 0 : afterEach(s.from, s.fromSums, to) - afterEach(s.from, s.fromSums, from) -
		afterEach(s.to, s.toSums, to) + afterEach(s.to, s.toSums, from);
}

/**
 * Returns the threads with the largest sums, and for each thread its index among these. Threads
 * with smaller sums have the index behind the last one.
 * @param {Float64Array} sums @param {number} most
 */
function largestOf(sums, most) {
	const list = [...sums.keys()].filter((i) => sums[i] > 0)
		.sort((a, b) => sums[b] - sums[a] || a - b).slice(0, most);
	const of = new Int32Array(sums.length).fill(list.length);
	list.forEach((thread, i) => {
		of[thread] = i;
	});
	return {list, of};
}

/**
 * Gives each thread of the label sets a number.
 * @param {Data} d
 */
function threadsOf(d) {
	const ids = new Map(), names = /** @type {string[]} */ ([]),
		processes = /** @type {string[]} */ ([]);
	const thread = Int32Array.from(d.labels, (set) => {
		const key = (set.pid || '') + ' ' + (set.tid || set.thread || '');
		if (!ids.has(key)) {
			ids.set(key, names.length);
			names.push(nameOf(set, 'thread'));
			processes.push(set.pid || '');
		}
		return ids.get(key);
	});
	return {thread, names, processes};
}

/**
 * @param {Data} d @param {Int32Array} thread of label sets @param {number} n threads
 * @param {number} v
 */
function sumsByThread({samples: {labels, whole}}, thread, n, v) {
	const sums = new Float64Array(n), has = [];
	for (let s = 0; s < labels.length; s++) {
		if (whole[v][s] > 0) {
			sums[thread[labels[s]]] += whole[v][s];
			has.push(s);
		}
	}
	return {sums, has};
}

/** @param {Data} d @returns {Pairs} */
function makePairs(d) {
	const {thread, names, processes} = threadsOf(d), [wait, blame] = gilValues(d.header);
	const {labels, time, whole} = d.samples, length = lengthsOf(d);
	const waited = sumsByThread(d, thread, names.length, wait),
		blamed = sumsByThread(d, thread, names.length, blame);
	const rows = largestOf(waited.sums, MOST_WAITERS),
		columns = largestOf(blamed.sums, MOST_HOLDERS), n = rows.list.length + 1;
	/** @type {Map<string, Array<[number, number]>>} */
	const lists = new Map();
	const put = (/** @type {string} */ key, /** @type {[number, number]} */ span) => {
		if (!lists.has(key))
			lists.set(key, []);
		lists.get(key).push(span);
	};
	for (const s of waited.has) {
		const t = thread[labels[s]], span = /** @type {[number, number]} */ (
			[time[s], time[s] + whole[wait][s]]);
		put(processes[t] + ' row ' + rows.of[t], span);
		put('thread ' + t, span);
	}
	const series = new Map([...lists].map(([key, list]) => [key, seriesOf(list)]));
	const holds = Int32Array.from(blamed.has).sort((a, b) => time[a] - time[b]),
		parts = new Float64Array(holds.length * n), all = new Float64Array(n);
	let last = '';
	holds.forEach((s, i) => {
		const t = thread[labels[s]], row = rows.of[t], from = time[s] - time[s] % WINDOW,
			to = from + Math.max(length ? length[s] : 0, WINDOW);
		const key = `${processes[t]} ${from} ${to}`;
		for (let r = 0; r < n && key !== last; r++)
			all[r] = waitedIn(series.get(processes[t] + ' row ' + r), from, to);
		last = key;
		const own = waitedIn(series.get('thread ' + t), from, to),
			sum = all.reduce((a, b) => a + b, -own);
		for (let r = 0; r < n && sum >= 1; r++)
			parts[i * n + r] = Math.max(all[r] - (r === row ? own : 0), 0) / sum;
	});
	return {thread, names, rows: rows.list, columns: columns.list, rowOf: rows.of,
		columnOf: columns.of, waits: Int32Array.from(waited.has), holds, parts};
}

const lastPairs = /** @type {typeof lastAnswer<Pairs>} */ (lastAnswer)();

/**
 * Returns 1 for each sample that the table counts, in the chosen range and of the chosen process;
 * null: it counts all samples.
 */
function countedSamples() {
	const {labels, range} = state.filter, of = Object.fromEntries(
		Object.entries(labels).filter(([k]) => ['process', 'pid', PROGRAM].includes(k)));
	return passing(page.data, {labels: of, kind: '', module: '', range}, WORDS, false);
}

/**
 * Returns the sums of each row in ns. .cells: by column; the last number is for threads without a
 * column. .nobody: time in which no holder was seen. The last row is for waiting threads that
 * aren't known.
 * @param {Data} d @param {Pairs} p @param {Uint8Array|null} pass
 */
function sumPairs(d, p, pass) {
	const [wait, blame] = gilValues(d.header), {labels, time, whole} = d.samples;
	const n = p.rows.length + 1, range = state.filter.range;
	const rows = Array.from({length: n + 1}, () =>
		({cells: new Float64Array(p.columns.length + 1), nobody: 0}));
	for (const s of p.waits) {
		const ns = whole[wait][s];
		if (!pass || pass[s])
			rows[p.rowOf[p.thread[labels[s]]]].nobody +=
				ns * (range ? partIn(time[s], ns, range) : 1);
	}
	p.holds.forEach((s, i) => {
		if (pass && !pass[s])
			return;
		const column = p.columnOf[p.thread[labels[s]]];
		let left = 1;
		for (let r = 0; r < n; r++) {
			const part = p.parts[i * n + r];
			left -= part;
			rows[r].cells[column] += whole[blame][s] * part;
			rows[r].nobody -= whole[blame][s] * part;
		}
		rows[n].cells[column] += left > 0.5 ? whole[blame][s] : 0;
	});
	return rows;
}

/**
 * Sums waits for locks. The result has the form of that of sumPairs(). .nobody: time of waits that
 * nobody is known to have ended.
 * @param {Data} d @param {Uint8Array|null} pass
 */
function sumLocks(d, pass) {
	const {labels, whole, values} = d.samples, blame = timeValue(d.header, 'lock_blame'),
		off = waitValue(d.header), {of, names} = groupLabels(d, 'thread');
	const ids = new Map(names.map((name, i) => [name, i])), waiter = d.labels.map((set) =>
		ids.get(nameOf({thread: set.waiter, tid: set.waiter_tid}, 'thread')));
	const waited = new Float64Array(names.length), ended = waited.slice();
	labels.forEach((set, s) => {
		waited[waiter[set]] += whole[blame][s];
		ended[of[set]] += whole[blame][s];
	});
	const rows = largestOf(waited, MOST_WAITERS), columns = largestOf(ended, MOST_HOLDERS),
		n = rows.list.length, sums = Array.from({length: n + 1}, () =>
		({cells: new Float64Array(columns.list.length + 1), nobody: 0}));
	labels.forEach((set, s) => {
		if (pass && !pass[s])
			return;
		const {state, idle} = d.labels[set], row = sums[rows.of[waiter[set]] ?? n];
		row.cells[columns.of[of[set]]] += values[blame][s];
		row.nobody -= values[blame][s];
		if (LOCKS.includes(state) && !idle)
			sums[rows.of[of[set]]].nobody += values[off][s];
	});
	return {names, rows: rows.list, columns: columns.list, sums};
}

/**
 * Shows where a thread waited, or what the thread did while other threads waited for it. A second
 * call for the same thread shows all samples again.
 * @param {string} type of value @param {string} thread
 */
function showThread(type, thread) {
	const {thread: was, ...rest} = state.filter.labels, v = timeValue(page.data.header, type);
	const again = was === thread && state.value === v;
	change(() => {
		state.value = v;
		state.filter.labels = again ? rest : {...rest, thread};
	}, () => {
		keepPlace(restructure);
		legend();
	});
}

const withoutTid = (/** @type {string} */ name) => name.replace(/ \(tid \d+\)$/, '');

/** @typedef {{names: string[], rows: number[], columns: number[]}} Threads as in Pairs */

/**
 * Returns a thread's name or, if other threads have the same name, the thread's number.
 * @param {Threads} p @param {number} thread
 */
function shortName(p, thread) {
	const name = withoutTid(p.names[thread]);
	return p.names.some((other, i) => i !== thread && withoutTid(other) === name) ?
		p.names[thread].replace(/^.* \((tid \d+)\)$/, '$1') : name;
}

/** @param {string} type @param {Threads} p @param {number} thread @param {string} title */
const threadButton = (type, p, thread, title) => el('button', {type: 'button', class: 'name',
	title: p.names[thread] + title, onclick: () => showThread(type, p.names[thread])},
	shortName(p, thread));

/** @param {number} ns @param {number} all */
function gilCell(ns, all) {
	return el('td', {title: ns >= 1 ? percent(ns, all) + ' of all' : false},
		ns >= 1 ? quantity(ns, 'nanoseconds') : '\u2013');
}

/** @param {Words} words @param {Threads} p @param {ReturnType<sumPairs>} sums */
function gilTable(words, p, sums) {
	const others = sums.some(({cells}) => cells[p.columns.length] >= 1);
	const head = (/** @type {Node|string} */ text) => el('th', {scope: 'col'}, text);
	const all = sums.reduce((sum, {cells, nobody}) =>
		sum + cells.reduce((a, b) => a + b, Math.max(nobody, 0)), 0);
	const names = [...p.rows.map((t) => threadButton(words.row, p, t, words.where)), 'others',
		'not known'];
	const body = sums.flatMap(({cells, nobody}, r) =>
		cells.some((ns) => ns >= 1) || nobody >= 1 ? [el('tr', {},
			el('th', {scope: 'row'}, names[r]),
			...[...cells].slice(0, p.columns.length + (others ? 1 : 0))
				.map((ns) => gilCell(ns, all)),
			gilCell(nobody, all))] : []);
	return el('table', {}, el('caption', {}, words.caption),
		el('thead', {}, el('tr', {}, head('waited'),
		...p.columns.map((t) => head(threadButton(words.column, p, t, words.what))),
		...(others ? [head('others')] : []), head(words.rest))),
		el('tbody', {}, ...body));
}

/** Returns the words of the table that the page shows; null: it shows neither table. */
function wordsShown() {
	const {data, early, sides} = page, {header} = data, {value} = state;
	if (early || sides || !data.samples)
		return null;
	if (value === timeValue(header, 'lock_blame'))
		return OF_LOCKS;
	const values = gilValues(header);
	const known = header.timed && values.every((v) => v >= 0);
	return known && values.includes(value) ? OF_GIL : null;
}

/** @param {Words} words */
function fillGil(words) {
	const {data} = page, pass = countedSamples();
	if (words === OF_LOCKS) {
		const {sums, ...p} = sumLocks(data, pass);
		refill(byId('gil'), gilTable(words, p, sums));
		return;
	}
	const p = lastPairs([data.samples], () => makePairs(data));
	refill(byId('gil'), gilTable(words, p, sumPairs(data, p, pass)));
}

let gilTimer = 0;
/**
 * Fills the table after the picture was drawn, because looking at all waits for the first time
 * takes long.
 */
export function gilSoon() {
	const words = wordsShown();
	clearTimeout(gilTimer);
	byId('gil').hidden = !words;
	if (words)
		gilTimer = setTimeout(fillGil, 30, words);
}
