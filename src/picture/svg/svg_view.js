// SPDX-License-Identifier: BSD-2-Clause
// The picture in its reader's window: layout, zoom, search. See svg_model.js.
// The zoomed box and its ancestors are as wide as the picture.

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
	box.text.setAttribute('y', y + 13);
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

// Gives the picture width @w, and the height that it needs, but at least that of the window. If @w
// is below @least, the controls have no room beside the title, so they get a row of their own.
function setWidth(w, least) {
	width = w;
	const narrow = width < least;
	top = HEADER + (narrow ? BAR_HEIGHT : 0);
	const needed = top + rows * ROW + FOOTER;
	const height = standalone ? Math.max(needed, svg.clientHeight) : needed;
	bar.setAttribute('x', narrow ? MARGIN : width - MARGIN - BAR_WIDTH);
	bar.setAttribute('width', Math.min(BAR_WIDTH, width - 2 * MARGIN));
	bar.firstChild.classList.toggle('left', narrow);
	barTop = narrow ? HEADER - 6 : 10;
	if (standalone) {
		svg.setAttribute('width', width);
		svg.setAttribute('height', height);
	}
	svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
}

// Returns the width for the picture. clientWidth excludes scroll bars, which come and go with the
// picture's size.
const room = () => Math.max(svg.clientWidth, 360);

function resize() {
	const least = Math.max(NARROW, byId('title').getComputedTextLength() + CONTROLS_WIDTH);
	if (standalone) {
		svg.setAttribute('width', 1);
		svg.setAttribute('height', 1);
	}
	setWidth(standalone ? room() : 1200, least);
	if (standalone && room() !== width)
		setWidth(room(), least);
	byId('footer').setAttribute('transform', `translate(0 ${top + rows * ROW})`);
	byId('made').setAttribute('x', width - MARGIN);
	follow();
	draw();
}

// Keeps the controls in sight while a deep picture is scrolled.
function follow() {
	const floating = standalone && window.scrollY > barTop;
	bar.setAttribute('y', floating ? window.scrollY : barTop);
	bar.firstChild.classList.toggle('floating', floating);
}

// Zooms and searches.

function zoom(i) {
	state.zoom = i;
	hideDetails();
	draw();
	report();
	reset.disabled = !i;
	remember();
}

// Returns the query as a regular expression. If the query isn't a valid one, returns an expression
// that finds the query as plain text. Case is ignored.
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
	const match = functions.map((f) => query &&
		(re.test(f.name) || re.test(f.where) || re.test(f.library)));
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

// Sums the values of the hits within box @i. A hit inside another hit isn't counted again.
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
	// Boxes that weren't drawn can't be searched, so their hits are missing in the sum.
	const least = data.notDrawn && matched(0) < total ? 'at least ' : '';
	let text = `matched ${least}${percent(matched(0), whole)} of all`;
	if (state.zoom)
		text += `, ${percent(matched(state.zoom), data.value[state.zoom])} of shown`;
	result.textContent = text;
}

// Puts the state of the view into the page's address, so that a reload or a link shows the same
// picture.
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
		// the browser allows this document no access to history; the picture works without
		// it
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
