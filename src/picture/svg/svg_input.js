// SPDX-License-Identifier: BSD-2-Clause
// Reacts to the reader: controls, details of a box, mouse and keyboard; see svg_model.js.

const input = html('input', {
	type: 'search', placeholder: 'Search (Ctrl-F)',
	'aria-label': 'Search: text or regular expression',
	spellcheck: 'false',
});
const result = html('output', {id: 'matched'});
const reset = html('button', {type: 'button', title: 'Show all (0 or Escape)', id: 'reset'},
	'Reset zoom');
const flipper = html('button', {type: 'button', title: 'Root at the other end (f)', id: 'flip'},
	'Flip');
flipper.addEventListener('click', flip);
const bar = svg.appendChild(element(SVG, 'foreignObject', {id: 'bar', height: BAR_HEIGHT},
	html('div', {}, input, reset, flipper, result)));
const details = svg.appendChild(element(SVG, 'foreignObject',
	{id: 'details', width: 1, height: 1, style: 'display:none'}, html('div', {})));

// Shows the details of a box, beside the pointer or the focused box.

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
		out.push(html('tr', {},
			html('td', {colspan: 3}, `${lines.length / 2 - limit} more lines`)));
	return lines.length === 2 && lines[0] <= 0 ? [] : out;
}

function numberRow(name, value, i) {
	const shown = data.value[state.zoom];
	const cells = [html('td', {}, name), html('td', {class: 'n'}, quantity(value)),
		html('td', {class: 'n'}, percent(value, whole) + ' of all')];
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
		numberRow('total', data.value[i], i),
		numberRow('itself', data.self[i], i)));
	if (data.counted)
		parts.push(html('div', {class: 'where'}, grouped(data.samples[i]) + ' ' +
			(data.samples[i] === 1 && data.counted === 'samples' ? 'sample' :
				data.counted)));
	if (lines.length)
		parts.push(html('table', {class: 'lines'}, ...lines));
	details.firstChild.replaceChildren(...parts);
	details.style.display = '';
	moveDetails(x, y);
}

// Places the details beside the point (x, y) of the window, inside the window.
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

// The rest of this file handles mouse and keyboard.

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
		// in the search field, these keys open the browser's own search instead
		event.preventDefault();
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
