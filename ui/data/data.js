// SPDX-License-Identifier: BSD-2-Clause
// Reads the page's blocks of data into flat arrays. src/picture/html/html*.c writes the blocks, and
// html.h has their format.

import {breathe, byId, sliceOver} from '../base/base.js';
import {addWall, sumWall} from './waits.js';

/**
 * @typedef {object} Fn a function, or a root frame made by grouping
 * @property {string} name
 * @property {string} file shortened path; '': none
 * @property {string} path
 * @property {string} module mapping: '[python 3.12]', 'libz.so.1'
 * @property {string} imported Python's name of the module: 'json.decoder'; '': none
 * @property {string} language
 * @property {number} kind as enum frame_kind
 * @property {number} origin as enum render_origin
 * @property {number} member which shade of its colour family it has
 * @property {number} line of its def; 0: not known
 * @property {boolean} root
 * @property {boolean} [imports] it is an import statement: 'import json'
 * @property {boolean} [folded] it stands for several frames: of libraries, or of calls that nearly
 * all samples share
 *
 * @typedef {object} Samples
 * @property {number} n
 * @property {Int32Array} node
 * @property {Int32Array} labels
 * @property {Float64Array} time ns since the start; -1: none
 * @property {Float64Array[]} values by value type; of a wait only the part in the range shown
 * @property {Float64Array[]} whole the same values, but all of each wait
 * @property {number[]} each the value that each sample has, by value type; 0: samples differ
 *
 * @typedef {object} Data
 * @property {any} header
 * @property {Fn[]} functions
 * @property {Int32Array} firstSpot by function, the index of its first spot (a line, or an
 *   expression in it); one more at the end
 * @property {Int32Array} spotLine
 * @property {Int32Array} spotColumn
 * @property {Int32Array} spotEnd two numbers for each spot: how many lines further on its
 * expression ends, and the column; 0: not known
 * @property {Int32Array} spotFn
 * @property {number} boxes number of boxes; a box is a function under one caller
 * @property {Int32Array} parent
 * @property {Int32Array} fn
 * @property {Int32Array} depth
 * @property {Int32Array} end one past the last box of the subtree
 * @property {number} maxDepth
 * @property {Int32Array} firstNode by box, the index of its first node; one more at the end
 * @property {number} nodes number of nodes; a node is a spot (line) under one caller's spot
 * @property {Int32Array} nodeParent
 * @property {Int32Array} nodeSpot
 * @property {Int32Array} nodeBox
 * @property {Float64Array[]} self of nodes, by value type; empty once the samples are there
 * @property {number[]} totals of the recording, by value type
 * @property {number[]} less the part of .totals that is below 0, as a positive number. Only the
 * difference of two recordings has stacks with values below 0; they aren't drawn
 * @property {Record<string, string>[]} labels
 * @property {Samples|null} samples
 *
 * @typedef {object} Preview the widest boxes, which are shown while the others are read
 * @property {Int32Array} parent
 * @property {Int32Array} fn
 * @property {Int32Array} depth
 * @property {Float64Array[]} values by side (a comparison has two)
 */

// the kinds of frames; 3: code made at run time
export const PYTHON = 0, NATIVE = 1, KERNEL = 2, GC = 4, MARK = 5;

/**
 * Do the number of samples and the rate belong to value @v? In a recording of several events they
 * belong to the event that .periodType names. find_count() in src/view/compare/diff.c decides in
 * the same way.
 * @param {any} header @param {number} v
 */
export function samplesAreOf({values, periodType, periodUnit}, v) {
	const is = (/** @type {string[]} */ [type, unit]) =>
		type === periodType && unit === periodUnit;
	return values[v][0] === 'samples' || is(values[v]) || !values.some(is);
}

/**
 * Is the first value a count (of samples or objects), and does this count belong to value @v?
 * @param {any} header @param {number} v
 */
export const isCounted = (header, v) => header.values[0][1] === 'count' && samplesAreOf(header, v);

/** @param {string} id @returns {Promise<Uint8Array>} */
async function block(id) {
	const text = byId(id).textContent, base = /** @type {any} */ (Uint8Array);
	let packed;
	if (base.fromBase64) {
		packed = base.fromBase64(text);
	} else {
		const s = atob(text);
		packed = new Uint8Array(s.length);
		for (let i = 0; i < s.length; i++)
			packed[i] = s.charCodeAt(i);
	}
	if (packed[0] !== 0x1f)
		return packed;
	return unpacked(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')));
}

/**
 * Unpacks a stream in slices of work, which Response.arrayBuffer() wouldn't do.
 * @param {ReadableStream<Uint8Array>} stream
 */
async function unpacked(stream) {
	const from = stream.getReader(), parts = [];
	let n = 0;
	for (let next = await from.read(); !next.done; next = await from.read()) {
		parts.push(next.value);
		n += next.value.length;
		if (sliceOver())
			await breathe();
	}
	const out = new Uint8Array(n);
	for (const part of parts.reverse())
		out.set(part, n -= part.length);
	return out;
}

/** @param {any} header @returns {Fn[]} */
function readFunctions(header) {
	const s = header.strings, f = header.functions, out = [];
	for (let i = 0; i < f.length; i += 10) {
		out.push({
			name: s[f[i]], file: s[f[i + 1]], path: s[f[i + 2]], module: s[f[i + 3]],
			imported: s[f[i + 4]], language: s[f[i + 5]], kind: f[i + 6],
			origin: f[i + 7],
			member: f[i + 8], line: f[i + 9], root: false,
			imports: s[f[i]].startsWith('import ') &&
				s[f[i + 2]].startsWith('<frozen importlib.'),
		});
	}
	return out;
}

/** @param {any} header @returns {Record<string, string>[]} */
function readLabels(header) {
	const s = header.labelStrings, l = header.labels, out = [];
	for (let i = 0; i < l.length;) {
		/** @type {Record<string, string>} */
		const set = Object.create(null);
		for (let n = l[i++]; n; n--, i += 2)
			set[s[l[i]]] = s[l[i + 1]];
		out.push(set);
	}
	return out;
}

/** @param {any} header @param {number} n functions */
function readSpots(header, n) {
	const firstSpot = new Int32Array(n + 1), count = header.spots.length / 2;
	const spotLine = new Int32Array(count), spotColumn = new Int32Array(count),
		spotFn = new Int32Array(count);
	let spot = 0;
	for (let f = 0; f < n; f++) {
		firstSpot[f] = spot;
		for (let k = header.spotCounts[f]; k; k--, spot++) {
			spotLine[spot] = header.spots[2 * spot];
			spotColumn[spot] = header.spots[2 * spot + 1];
			spotFn[spot] = f;
		}
	}
	firstSpot[n] = spot;
	return {firstSpot, spotLine, spotColumn, spotFn, spotEnd: Int32Array.from(header.spotEnds)};
}

/** @param {Uint8Array} b @param {number} at */
function reader(b, at) {
	const read = () => {
		let v = b[at++];
		if (v < 128)
			return v;
		v &= 127;
		for (let scale = 128; ; scale *= 128) {
			const c = b[at++];
			v += (c & 127) * scale;
			if (c < 128)
				return v;
		}
	};
	const signed = () => {
		const v = read();
		return v % 2 ? -(v + 1) / 2 : v / 2;
	};
	return {read, signed, left: () => at < b.length};
}

/**
 * @param {any} header
 * @param {{read: () => number, signed: () => number}} from
 * @param {Float64Array[]} into
 * @param {number} i
 */
function readValues(header, from, into, i) {
	const head = from.read(), count = Math.floor(head / 2);
	into[0][i] = Math.max(count, 0);
	for (let v = 1; v < into.length; v++)
		into[v][i] = Math.max(count * header.values[v][2] + (head % 2 ? from.signed() : 0),
			0);
}

/** @param {Data} d @param {Uint8Array} b */
async function readTree(d, b) {
	const from = reader(b, 0), {firstSpot, self} = d, n = d.boxes;
	const {parent, fn, depth, end, firstNode: first, nodeParent, nodeSpot, nodeBox} = d,
		path = [0], stored = self.slice(0, d.header.stored);
	let node = 1, at_depth = 0;
	first[1] = 1;
	fn[0] = -1;
	nodeSpot[0] = -1;
	for (let i = 1; i < n; i++) {
		if (!(i & 4095) && sliceOver())
			await breathe();
		const head = from.read();
		const last = at_depth;
		at_depth += 1 - Math.floor(head / 2);
		for (let k = at_depth; k <= last; k++)
			end[path[k]] = i;
		d.maxDepth = Math.max(d.maxDepth, at_depth);
		const up = path[at_depth - 1], key = from.read();
		path[at_depth] = i;
		parent[i] = up;
		depth[i] = at_depth;
		fn[i] = key;
		first[i] = node;
		const several = first[up + 1] - first[up] > 1,
			spots = firstSpot[key + 1] - firstSpot[key] > 1;
		for (let k = head % 2 ? from.read() : 1; k; k--, node++) {
			nodeParent[node] = first[up] + (several ? from.read() : 0);
			nodeSpot[node] = firstSpot[key] + (spots ? from.read() : 0);
			nodeBox[node] = i;
			readValues(d.header, from, stored, node);
		}
		first[i + 1] = node;
	}
	for (let k = 0; k <= at_depth; k++)
		end[path[k]] = n;
	sumWall(d.header, self);
}

/**
 * Reads everything except the tree and the samples. The preview is also read if the page is large
 * or has groups.
 * @returns {Promise<{data: Data, preview: Preview|null}>}
 */
export async function readView() {
	const b = await block('krait-view'), end = b.indexOf(10);
	const header = JSON.parse(new TextDecoder().decode(b.subarray(0, end)));
	const functions = readFunctions(header);
	// number of values in the file, before wall time is added
	header.stored = header.values.length;
	addWall(header);
	const none = new Int32Array(0);
	/** @type {Data} */
	const data = {
		header, functions, ...readSpots(header, functions.length), boxes: header.boxes,
		parent: none, fn: none, depth: none,
		end: none, maxDepth: 0, firstNode: none, nodes: header.nodes, nodeParent: none,
		nodeSpot: none, nodeBox: none, self: [], totals: header.totals, less: header.less,
		labels: readLabels(header), samples: null,
	};
	return {data, preview: header.preview ? readPreview(header, reader(b, end + 1)) : null};
}

/** @param {any} header @param {{read: () => number}} from @returns {Preview} */
function readPreview(header, from) {
	const n = header.preview, parent = new Int32Array(n), fn = new Int32Array(n),
		depth = new Int32Array(n);
	const values = (header.diff ? [0, 1] : [0]).map(() => new Float64Array(n)), path = [0];
	fn[0] = -1;
	for (let i = 0, at = 0; i < n; i++) {
		if (i) {
			at += 1 - from.read();
			path[at] = i;
			depth[i] = at;
			parent[i] = path[at - 1];
			fn[i] = from.read();
		}
		for (const v of values)
			v[i] = from.read();
	}
	return {parent, fn, depth, values};
}

/** @param {Data} d */
export async function readBoxes(d) {
	const b = await block('krait-tree');
	d.parent = new Int32Array(d.boxes);
	d.fn = new Int32Array(d.boxes);
	d.depth = new Int32Array(d.boxes);
	d.end = new Int32Array(d.boxes);
	d.firstNode = new Int32Array(d.boxes + 1);
	d.nodeParent = new Int32Array(d.nodes);
	d.nodeSpot = new Int32Array(d.nodes);
	d.nodeBox = new Int32Array(d.nodes);
	d.self = d.header.values.map(() => new Float64Array(d.nodes));
	await readTree(d, b);
}

/**
 * Reads the samples in the order that the file has.
 * @param {Data} d @returns {Promise<Samples>}
 */
export async function readSamples(d) {
	const b = await block('krait-samples'), from = reader(b, 0), room = d.header.samples;
	const node = new Int32Array(room), labels = new Int32Array(room),
		time = new Float64Array(room);
	const values = /** @type {Float64Array[]} */ (d.header.values.map(() =>
		new Float64Array(room))), unit = d.header.timeUnitNs,
		stored = values.slice(0, d.header.stored);
	let n = 0, lastNode = 0, lastLabels = 0, lastTime = 0;
	for (; n < room && from.left(); n++) {
		if (!(n & 4095) && sliceOver())
			await breathe();
		node[n] = lastNode += from.signed();
		labels[n] = lastLabels += from.signed();
		lastTime += from.signed();
		time[n] = lastTime ? (lastTime - 1) * unit : -1;
		readValues(d.header, from, stored, n);
	}
	sumWall(d.header, values);
	const each = values.map((of, v) => {
		const usual = v ? d.header.values[v][2] : 1;
		return of.every((x, s) => x === values[0][s] * usual) ? usual : 0;
	});
	return {n, node: node.subarray(0, n), labels: labels.subarray(0, n),
		time: time.subarray(0, n), values, whole: values.slice(), each};
}

/**
 * @typedef {object} Source of a file; it has no text if .changed or .foreign. .foreign: the text is
 *   shown only with --source
 * @property {boolean} changed
 * @property {boolean} foreign
 * @property {Map<number, string>} lines
 *
 * @typedef {Map<string, Source>} Sources by path
 */

/**
 * Reads source text. A page of two recordings has the text of other pages, which anybody may have
 * made, so malformed parts are left out.
 * @param {string} id @returns {Promise<Sources>}
 */
async function readSource(id) {
	const out = new Map();
	try {
		for (const {path, changed, foreign,
				runs} of JSON.parse(new TextDecoder().decode(await block(id)))) {
			const lines = new Map();
			for (let i = 0; i < runs.length; i += 2)
				runs[i + 1].forEach((/** @type {any} */ text,
					/** @type {number} */ k) =>
					lines.set(runs[i] + k, String(text)));
			out.set(path, {changed: Boolean(changed), foreign: Boolean(foreign),
				lines});
		}
	} catch (e) {
		out.clear();
	}
	return out;
}

/**
 * Returns the source text; in a page of two recordings, that of both sides.
 * @returns {Promise<Sources[]>}
 */
export async function readSources() {
	const out = [];
	for (const id of ['krait-source', 'krait-source-before', 'krait-source-after'])
		out.push(...byId(id) ? [await readSource(id)] : []);
	return out;
}
