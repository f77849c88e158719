// SPDX-License-Identifier: BSD-2-Clause
// The boxes of a picture, their numbers and labels. All numbers come from the JSON that svg_data.c
// wrote; entry i of each list is box i. svg.c writes the scripts as the body of one function, in
// this order: svg_model.js, svg_view.js, svg_input.js.

const SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
// These values are the same as in svg.h.
const MARGIN = 12, ROW = 18, HEADER = 88, FOOTER = 34, PAD = 4, BAR_WIDTH = 400, BAR_HEIGHT = 56;
// In a picture narrower than NARROW, the controls have no room beside the numbers. CONTROLS_WIDTH
// is the room that they need beside the title.
const NARROW = 860, CONTROLS_WIDTH = 306 + 3 * MARGIN;

const svg = document.currentScript.ownerSVGElement;
const standalone = document.documentElement === svg;
const byId = (id) => svg.querySelector('#' + id);
const data = JSON.parse(byId('krait-boxes').textContent);
const boxes = [...byId('boxes').children].map((g) => {
	const [title, rect, text] = g.children;
	const box = {g, rect, text, title: title.textContent};
	title.remove(); // the details show this title's text
	return box;
});
const count = boxes.length;
const total = data.value[0] || 1, whole = data.sharesOf || 1;
const rows = data.depth.reduce((a, b) => Math.max(a, b), 0) + 1;
const {parent, last} = relations(data.depth);
const state = {zoom: 0, flip: false, query: '', current: 0};
let width = 1200, top = HEADER, barTop = 10, charWidth = 7.23, hits = [];

// Returns two lists: parent[i] is the parent of box i, last[i] is the last of the boxes below it.
// Boxes come after their parents, and from left to right.
function relations(depth) {
	const up = new Int32Array(count), end = new Int32Array(count), path = [];
	for (let i = 0; i < count; i++) {
		path.length = depth[i];
		up[i] = depth[i] ? path[depth[i] - 1] : -1;
		path.push(i);
	}
	for (let i = count - 1; i >= 0; i--) {
		end[i] = Math.max(end[i], i);
		if (up[i] >= 0)
			end[up[i]] = Math.max(end[up[i]], end[i]);
	}
	return {parent: up, last: end};
}

function element(namespace, name, attributes, ...children) {
	const e = document.createElementNS(namespace, name);
	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, v);
	e.append(...children);
	return e;
}
const html = (name, attributes, ...children) => element(HTML, name, attributes, ...children);

// Formats numbers as markup.c does.

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

function scaled(v, unit) {
	return v.toFixed(v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2) + ' ' + unit;
}

function quantity(v) {
	if (data.unit !== 'nanoseconds')
		return grouped(v) + ' ' + (data.unit === 'count' ? data.type : data.unit);
	if (v >= 1e12)
		return grouped(Math.floor(v / 1e9)) + ' s';
	if (v >= 999500000)
		return scaled(v / 1e9, 's');
	if (v >= 999500)
		return scaled(v / 1e6, 'ms');
	return v >= 1000 ? scaled(v / 1e3, '\u00b5s') : v + ' ns';
}

function percent(part, whole) {
	const v = whole > 0 ? 100 * part / whole : 0;
	return v.toFixed(v >= 0.0995 || v === 0 ? 1 : v >= 0.00995 ? 3 : 4) + ' %';
}

// Formats labels of boxes as svg_box.c does.

const WIDE =
	/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function columns(s) {
	let n = 0;
	for (const c of s)
		n += WIDE.test(c) ? 2 : 1;
	return n;
}

function fit(s, limit) {
	let out = '', n = 0;
	for (const c of s) {
		n += WIDE.test(c) ? 2 : 1;
		if (n > limit)
			break;
		out += c;
	}
	return out;
}

const functions = data.functions.map(([name, file, path, module, kind, python]) => {
	const dot = python ? name.lastIndexOf('.') : -1;
	const short = dot >= 0 && dot + 1 < name.length ? name.slice(dot + 1) : name;
	const where = kind === 'marks' ? '' : file || (python ? '' : module);
	return {
		name, file, path, module, kind, short, where, library: python ? '' : module,
		nameColumns: columns(name), shortColumns: columns(short),
		whereColumns: columns(where),
	};
});
const functionOf = (i) => functions[data.function[i]];

function setLabel(box, f, limit) {
	let label = '', where = '';
	if (f.nameColumns <= limit)
		label = f.name;
	else if (f.shortColumns <= limit)
		label = f.short;
	else if (limit >= 3)
		label = fit(f.short, limit - 1) + '\u2026';
	if (f.where && label === f.name && f.nameColumns + 1 + f.whereColumns <= limit)
		where = f.where;
	if (box.label === label && box.where === where)
		return;
	box.label = label;
	box.where = where;
	box.text.textContent = label;
	if (where)
		box.text.append(element(SVG, 'tspan', {class: 'f', dx: 7}, where));
}
