// SPDX-License-Identifier: BSD-2-Clause
// The line between the picture and the tables. A reader can move it by mouse, finger or keys, for
// example to give source text more room.

import {byId} from '../base/base.js';
import {saveSoon} from './change.js';
import {above, flame, state} from '../view/view.js';

// in pixels: the least width of each side, and how far a key moves the divider
const NARROWEST = 240, KEY_STEP = 32;

const most = () => Math.max(byId('side').parentElement.clientWidth - NARROWEST, NARROWEST);

/** Places the divider where state.side says; if state.side is 0, where the style sheet says. */
export function placeDivider() {
	const main = byId('side').parentElement,
		width = state.side && Math.min(Math.max(state.side, NARROWEST), most());
	if (width)
		main.style.setProperty('--side', width + 'px');
	else
		main.style.removeProperty('--side');
	const divider = byId('divider');
	divider.setAttribute('aria-valuenow', String(Math.round(byId('side').clientWidth)));
	divider.setAttribute('aria-valuemin', String(NARROWEST));
	divider.setAttribute('aria-valuemax', String(most()));
}

/** @param {number} width of the tables, px; 0: the initial width */
function drawTo(width) {
	state.side = width && Math.round(Math.min(Math.max(width, NARROWEST), most()));
	placeDivider();
	flame.draw();
	above.draw();
	saveSoon();
}

export function listenDivider() {
	const e = byId('divider');
	let off = 0; // distance of the pointer from the left edge of the tables
	e.addEventListener('pointerdown', (/** @type {PointerEvent} */ p) => {
		off = byId('side').getBoundingClientRect().left - p.clientX;
		e.setPointerCapture(p.pointerId);
	});
	e.addEventListener('pointermove', (/** @type {PointerEvent} */ p) => {
		if (e.hasPointerCapture(p.pointerId))
			drawTo(byId('side').getBoundingClientRect().right - p.clientX - off);
	});
	e.addEventListener('dblclick', () => drawTo(0));
	e.addEventListener('keydown', (/** @type {KeyboardEvent} */ k) => {
		const width = byId('side').clientWidth,
			to = /** @type {Record<string, number>} */ ({ArrowLeft: width + KEY_STEP,
			ArrowRight: width - KEY_STEP, Home: NARROWEST, End: most(),
			Enter: 0})[k.key];
		if (k.ctrlKey || k.metaKey || k.altKey || to === undefined)
			return;
		k.preventDefault();
		k.stopPropagation();
		drawTo(to);
	});
}
