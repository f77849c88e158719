// SPDX-License-Identifier: BSD-2-Clause
// What a picture does when its reader's browser runs scripts: fits the window, zooms, searches,
// shows details. All numbers come from the JSON that svg_data.c wrote; entry i is box i.
(() => {
'use strict';

const SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
// As in svg.h.
const MARGIN = 12, ROW = 20, HEADER = 88, FOOTER = 34, PAD = 4, BAR_WIDTH = 400, BAR_HEIGHT = 56;

const svg = document.currentScript.ownerSVGElement;
const standalone = document.documentElement === svg;
const byId = (id) => svg.querySelector('#' + id);
const data = JSON.parse(byId('krait-boxes').textContent);
const boxes = [...byId('boxes').children].map((g) => {
	const [title, rect, text] = g.children;
	const box = {g, rect, text, title: title.textContent};
	title.remove(); // the details replace it
	return box;
});
const count = boxes.length;
const total = data.value[0] || 1;
const rows = data.depth.reduce((a, b) => Math.max(a, b), 0) + 1;
const {parent, last} = relations(data.depth);
const state = {zoom: 0, flip: false, query: '', current: 0};
let width = 1200, top = HEADER, barTop = 10, charWidth = 7.23, hits = [];

// parent[i]; last[i]: the last box of i's subtree. Boxes come parents first, left to right.
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

// Numbers, as markup.c writes them.

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

function scaled(v, unit) {
	return v.toFixed(v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2) + ' ' + unit;
}

function quantity(v) {
	if (data.unit !== 'nanoseconds')
		return grouped(v) + (data.unit === 'count' ? ' samples' : ' ' + data.unit);
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

// Labels, as svg_box.c writes them.

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

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
		name, file, path, module, kind, short, where,
		nameColumns: columns(name), shortColumns: columns(short), whereColumns: columns(where),
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

// Layout: the zoomed box and its ancestors take the whole width.

const rowOf = (depth) => state.flip ? rows - 1 - depth : depth;

function place(i, x, w) {
	const box = boxes[i], y = top + rowOf(data.depth[i]) * ROW;
	const limit = Math.floor((w - 2 * PAD) / charWidth);
	box.g.style.display = '';
	box.rect.setAttribute('x', x);
	box.rect.setAttribute('y', y);
	box.rect.setAttribute('width', w > 3 ? w - 1 : w * 0.7);
	if (limit < 3) {
		if (box.text)
			box.text.style.display = 'none';
		return;
	}
	if (!box.text)
		box.text = box.g.appendChild(element(SVG, 'text', {}));
	box.text.style.display = '';
	box.text.setAttribute('x', x + PAD);
	box.text.setAttribute('y', y + 14);
	setLabel(box, functionOf(i), limit);
}

function draw() {
	const z = state.zoom, inner = width - 2 * MARGIN, scale = inner / (data.value[z] || 1);
	const ancestors = new Set();
	for (let i = parent[z]; i >= 0; i = parent[i])
		ancestors.add(i);
	for (let i = 0; i < count; i++) {
		const inside = i >= z && i <= last[z], w = data.value[i] * scale;
		boxes[i].g.classList.toggle('up', ancestors.has(i));
		if (ancestors.has(i))
			place(i, MARGIN, inner);
		else if (inside && w >= 0.1)
			place(i, MARGIN + (data.start[i] - data.start[z]) * scale, w);
		else
			boxes[i].g.style.display = 'none';
	}
}

function resize() {
	width = standalone ? Math.max(window.innerWidth, 360) : 1200;
	const narrow = width < 860;
	top = HEADER + (narrow ? BAR_HEIGHT : 0);
	const needed = top + rows * ROW + FOOTER;
	const height = standalone ? Math.max(needed, window.innerHeight) : needed;
	bar.setAttribute('x', narrow ? MARGIN : width - MARGIN - BAR_WIDTH);
	bar.setAttribute('width', Math.min(BAR_WIDTH, width - 2 * MARGIN));
	bar.firstChild.classList.toggle('left', narrow);
	barTop = narrow ? HEADER - 6 : 10;
	if (standalone) {
		svg.setAttribute('width', width);
		svg.setAttribute('height', height);
	}
	svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
	byId('footer').setAttribute('transform', `translate(0 ${top + rows * ROW})`);
	byId('made').setAttribute('x', width - MARGIN);
	follow();
	draw();
}

// The controls stay in sight of whoever scrolls through a deep picture.
function follow() {
	const floating = standalone && window.scrollY > barTop;
	bar.setAttribute('y', floating ? window.scrollY : barTop);
	bar.firstChild.classList.toggle('floating', floating);
}

// Zoom and search.

function zoom(i) {
	state.zoom = i;
	hideDetails();
	draw();
	report();
	reset.disabled = !i;
	remember();
}

// A pattern if it is one, else the text itself; case doesn't matter.
function matcher(query) {
	try {
		return new RegExp(query, 'iu');
	} catch {
		return new RegExp(query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'iu');
	}
}

function search(query) {
	state.query = query;
	const re = query && matcher(query);
	const match = functions.map((f) => query && (re.test(f.name) || re.test(f.where)));
	hits = [];
	for (let i = 0; i < count; i++) {
		const hit = Boolean(match[data.function[i]]);
		boxes[i].g.classList.toggle('hit', hit);
		if (hit)
			hits.push(i);
	}
	byId('boxes').classList.toggle('searching', Boolean(query));
	report();
	remember();
}

// Value of the hits within box @i; one inside another counts once.
function matched(i) {
	let sum = 0, end = -1;
	for (const h of hits) {
		if (h <= end || h > last[i] || last[h] < i)
			continue;
		if (h < i)
			return data.value[i];
		sum += data.value[h];
		end = last[h];
	}
	return sum;
}

function report() {
	if (!state.query) {
		result.textContent = '';
		return;
	}
	let text = `matched ${percent(matched(0), total)} of all`;
	if (state.zoom)
		text += `, ${percent(matched(state.zoom), data.value[state.zoom])} of shown`;
	result.textContent = text;
}

// The address keeps what is shown, so that a reload or a sent link shows it too.
function remember() {
	const p = new URLSearchParams();
	if (state.zoom)
		p.set('box', state.zoom);
	if (state.query)
		p.set('search', state.query);
	if (state.flip)
		p.set('flip', '1');
	try {
		window.history.replaceState(null, '', p.size ? '#' + p : location.pathname);
	} catch {
		// Not allowed in this document: the picture works without.
	}
}

function recall() {
	const p = new URLSearchParams(location.hash.slice(1));
	const box = Number(p.get('box'));
	state.flip = p.get('flip') === '1';
	state.zoom = Number.isInteger(box) && box > 0 && box < count ? box : 0;
	reset.disabled = !state.zoom;
	input.value = p.get('search') || '';
	if (input.value)
		search(input.value);
}

// Details of a box, beside the pointer or the focused box.

function lineRows(i) {
	const lines = data.lines[i], out = [], value = data.value[i] || 1, limit = 8;
	for (let k = 0; k < lines.length && out.length < limit; k += 2) {
		const share = Math.min(lines[k + 1] / value, 1);
		out.push(html('tr', {},
			html('td', {}, lines[k] > 0 ? 'line ' + lines[k] : 'line unknown'),
			html('td', {}, html('i', {style: `width:${(share * 90).toFixed(1)}px`})),
			html('td', {class: 'n'}, percent(lines[k + 1], value))));
	}
	if (lines.length / 2 > limit)
		out.push(html('tr', {}, html('td', {colspan: 3}, `${lines.length / 2 - limit} more lines`)));
	return lines.length === 2 && lines[0] <= 0 ? [] : out;
}

function numberRow(name, value, samples, i) {
	const shown = data.value[state.zoom];
	const cells = [html('td', {}, name), html('td', {class: 'n'}, quantity(value)),
		html('td', {class: 'n'}, percent(value, total) + ' of all')];
	if (state.zoom && i >= state.zoom)
		cells.push(html('td', {class: 'n'}, percent(value, shown) + ' of shown'));
	return html('tr', {}, ...cells);
}

function showDetails(i, x, y) {
	const f = functionOf(i), lines = lineRows(i);
	const about = [f.module, f.kind].filter(Boolean).join(' \u00b7 ');
	const parts = [html('b', {}, f.name)];
	if (f.path)
		parts.push(html('div', {class: 'where'}, f.path));
	if (about)
		parts.push(html('div', {class: 'where'}, about));
	parts.push(html('table', {},
		numberRow('total', data.value[i], data.samples[i], i),
		numberRow('itself', data.self[i], 0, i)));
	if (data.unit !== 'count')
		parts.push(html('div', {class: 'where'}, grouped(data.samples[i]) +
			(data.samples[i] === 1 ? ' sample' : ' samples')));
	if (lines.length)
		parts.push(html('table', {class: 'lines'}, ...lines));
	details.firstChild.replaceChildren(...parts);
	details.style.display = '';
	moveDetails(x, y);
}

// @x, @y: in the window. The details stay inside it.
function moveDetails(x, y) {
	const matrix = svg.getScreenCTM().inverse();
	const {width: w, height: h} = details.firstChild.getBoundingClientRect();
	const left = Math.max(4, Math.min(x + 14, window.innerWidth - w - 8));
	const above = y + 18 + h > window.innerHeight && y - h - 10 > 0;
	const at = new DOMPoint(left, above ? y - h - 10 : y + 18).matrixTransform(matrix);
	details.setAttribute('x', at.x);
	details.setAttribute('y', at.y);
}

function hideDetails() {
	details.style.display = 'none';
}

// Mouse and keyboard.

const indexOf = new Map(boxes.map((box, i) => [box.g, i]));

function boxAt(event) {
	const g = event.target.closest?.('#boxes > g');
	return g ? indexOf.get(g) : undefined;
}

function focusBox(i) {
	if (i === undefined || boxes[i].g.style.display === 'none')
		return;
	boxes[state.current].g.setAttribute('tabindex', -1);
	state.current = i;
	const g = boxes[i].g;
	g.setAttribute('tabindex', 0);
	g.setAttribute('role', 'treeitem');
	g.setAttribute('aria-level', data.depth[i] + 1);
	g.setAttribute('aria-label', boxes[i].title);
	g.focus();
	const r = boxes[i].rect.getBoundingClientRect();
	showDetails(i, Math.max(r.left, 0), r.bottom - 12);
}

function sibling(i, step) {
	const up = parent[i], visible = [];
	for (let k = up + 1; up >= 0 && k <= last[up]; k = last[k] + 1) {
		if (boxes[k].g.style.display !== 'none')
			visible.push(k);
	}
	return visible[visible.indexOf(i) + step];
}

function nextHit(step) {
	const visible = hits.filter((h) => boxes[h].g.style.display !== 'none');
	if (!visible.length)
		return undefined;
	const at = visible.findIndex((h) => h >= state.current + (step > 0 ? 1 : 0));
	const k = step > 0 ? at : (at < 0 ? visible.length : at) - 1;
	return visible.at(k < 0 ? (step > 0 ? 0 : -1) : k);
}

function flip() {
	state.flip = !state.flip;
	hideDetails();
	draw();
	remember();
}

function find() {
	input.focus();
	input.select();
}

function leave() {
	if (state.query) {
		input.value = '';
		search('');
	} else {
		zoom(0);
	}
	hideDetails();
}

const child = (i) => i < last[i] ? i + 1 : undefined;
const rootward = () => focusBox(parent[state.current] < 0 ? undefined : parent[state.current]);
const leafward = () => focusBox(child(state.current));
const keys = {
	ArrowUp: () => state.flip ? leafward() : rootward(),
	ArrowDown: () => state.flip ? rootward() : leafward(),
	ArrowLeft: () => focusBox(sibling(state.current, -1)),
	ArrowRight: () => focusBox(sibling(state.current, 1)),
	Enter: () => zoom(state.current),
	Backspace: () => zoom(Math.max(parent[state.zoom], 0)),
	Escape: leave,
	0: () => zoom(0),
	f: flip,
	n: () => focusBox(nextHit(1)),
	N: () => focusBox(nextHit(-1)),
	'/': find,
};

function onKey(event) {
	const typing = event.target === input;
	if ((event.ctrlKey || event.metaKey) && event.key === 'f' && !typing) {
		event.preventDefault(); // again in the field: the browser's own search
		find();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (typing) {
		if (event.key === 'Escape')
			leave();
		if (event.key === 'Escape' || event.key === 'Enter')
			focusBox(event.key === 'Enter' ? hits[0] ?? state.current : state.current);
		return;
	}
	if (event.target.localName === 'button' && event.key === 'Enter')
		return;
	const action = Object.hasOwn(keys, event.key) && keys[event.key];
	if (action) {
		event.preventDefault();
		action();
	}
}

function listen() {
	const g = byId('boxes');
	g.setAttribute('role', 'tree');
	g.setAttribute('aria-label', 'Flame graph: arrow keys move, Enter zooms, Escape goes back');
	svg.setAttribute('role', 'group');
	boxes[0].g.setAttribute('tabindex', 0);
	g.addEventListener('click', (e) => {
		const i = boxAt(e);
		if (i === undefined)
			return;
		state.current = i;
		zoom(i);
	});
	g.addEventListener('mousemove', (e) => {
		const i = boxAt(e);
		if (i !== undefined)
			showDetails(i, e.clientX, e.clientY);
	});
	g.addEventListener('mouseleave', hideDetails);
	input.addEventListener('input', () => search(input.value));
	reset.addEventListener('click', () => zoom(0));
	svg.addEventListener('keydown', onKey);
	document.addEventListener('keydown', (e) => {
		if (!svg.contains(e.target) || e.target === svg)
			onKey(e);
	});
	window.addEventListener('resize', resize);
	window.addEventListener('scroll', follow, {passive: true});
}

const input = html('input', {
	type: 'search', placeholder: 'Search (Ctrl-F)', 'aria-label': 'Search: text or regular expression',
	spellcheck: 'false',
});
const result = html('output', {id: 'matched'});
const reset = html('button', {type: 'button', title: 'Show all (0 or Escape)', id: 'reset'}, 'Reset zoom');
const flipper = html('button', {type: 'button', title: 'Root at the other end (f)', id: 'flip'}, 'Flip');
flipper.addEventListener('click', flip);
const bar = svg.appendChild(element(SVG, 'foreignObject', {id: 'bar', height: BAR_HEIGHT},
	html('div', {}, input, reset, flipper, result)));
const details = svg.appendChild(element(SVG, 'foreignObject',
	{id: 'details', width: 1, height: 1, style: 'display:none'}, html('div', {})));

function start() {
	if (!count)
		return;
	const probe = svg.appendChild(element(SVG, 'text', {}, 'm'.repeat(40)));
	charWidth = probe.getComputedTextLength() / 40 || charWidth;
	probe.remove();
	recall();
	listen();
	resize();
}
start();
})();
