// SPDX-License-Identifier: BSD-2-Clause
// Handles wheel, drag, hover and click on a picture.

/** @typedef {import('./flame.js').Flame} Flame */

/** @param {Flame} flame */
export function listenGestures(flame) {
	const c = flame.canvas;
	/** @type {{x: number, y: number, a: number, top: number}|null} */
	let drag = null;
	let moved = false;
	flame.scroller.addEventListener('scroll', () => {
		flame.paint();
		flame.hooks.scrolled();
	}, {passive: true});
	c.addEventListener('wheel', (e) => {
		if (!flame.tree || e.shiftKey && !e.ctrlKey)
			return;
		e.preventDefault();
		if (Math.abs(e.deltaX) > Math.abs(e.deltaY))
			flame.pan(flame.a + e.deltaX / flame.width * (flame.b - flame.a),
				flame.b - flame.a);
		else
			flame.scale(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) / 300),
				e.offsetX / flame.width);
		flame.hooks.moved();
	}, {passive: false});
	c.addEventListener('pointerdown', (e) => {
		drag = {x: e.clientX, y: e.clientY, a: flame.a, top: flame.scroller.scrollTop};
		moved = false;
	});
	c.addEventListener('pointermove', (e) => {
		if (drag && e.buttons & 1 &&
				(moved || Math.abs(e.clientX - drag.x) +
				Math.abs(e.clientY - drag.y) > 4)) {
			if (!moved)
				c.setPointerCapture(e.pointerId);
			moved = true;
			flame.pan(drag.a - (e.clientX - drag.x) / flame.width * (flame.b - flame.a),
				flame.b - flame.a);
			flame.scroller.scrollTop = drag.top - (e.clientY - drag.y);
			flame.hooks.hover(-1, 0, 0);
			flame.hooks.moved();
			return;
		}
		const node = flame.tree ? flame.at(e.offsetX, e.offsetY) : -1;
		if (node !== flame.hover) {
			flame.hover = node;
			flame.paint();
		}
		c.style.cursor = node >= 0 ? 'pointer' : 'default';
		flame.hooks.hover(node, e.clientX, e.clientY);
	});
	c.addEventListener('pointerleave', () => {
		flame.hover = -1;
		flame.hooks.hover(-1, 0, 0);
		flame.paint();
	});
	c.addEventListener('click', (e) => {
		drag = null;
		const node = moved || !flame.tree ? -1 : flame.at(e.offsetX, e.offsetY);
		if (node >= 0)
			flame.hooks.zoom(node);
	});
}
