// SPDX-License-Identifier: BSD-2-Clause
// The page by keyboard: from box to box, from match to match, and the search field.

import {byId, fit, percent} from '../base/base.js';
import {numbersOf} from '../view/boxes.js';
import {answer, choose, lookFor, reset, showPath, turn, zoomTo} from './change.js';
import {showHelp} from '../parts/controls.js';
import {place, say} from '../parts/details.js';
import {spokenChange} from '../view/diff.js';
import {valueOf} from '../data/tree.js';
import {above, flame, page} from '../view/view.js';

/** Returns the picture that the keys control. */
const here = () => above.tree && document.activeElement === above.canvas ? above : flame;

/** @param {import('../picture/flame.js').Flame} of @param {number} node @param {number} step */
function beside(of, node, step) {
	const all = node ? of.order(of.tree, of.tree.parent[node]) : [0];
	return all[all.indexOf(node) + step] ?? node;
}

/** @param {string} key */
function move(key) {
	const of = here(), at = of.focus < 0 ? of.zoom : of.focus, towards = of.flip ? 'ArrowUp' :
		'ArrowDown';
	let to = at;
	if (key === 'ArrowLeft' || key === 'ArrowRight')
		to = beside(of, at, key === 'ArrowLeft' ? -1 : 1);
	else if (key === towards)
		to = of.order(of.tree, at)[0] ?? at;
	else if (at > 0)
		to = of.tree.parent[at];
	of.focus = to;
	of.paint();
	of.reveal(to);
	if (page.sides) {
		say(spokenChange(of, to));
		return;
	}
	const n = numbersOf(of, to), f = of.fnOf(to);
	say(`${fit(f.name, 300)}, ${place(f)}, ${percent(n.value, page.total)} of all` +
		(n.self < 0 ? '' : ', itself ' + percent(n.self, page.total)));
}

/** Returns the boxes that match the search, from left to right. */
function hits() {
	const {tree} = page, out = [];
	for (let i = 1; i < tree.n && flame.hit; i++) {
		if (flame.hit[tree.fn[i]] && valueOf(tree, i) > 0)
			out.push(i);
	}
	return out;
}

/** @param {number} step */
function nextHit(step) {
	const all = hits();
	if (!all.length)
		return;
	const at = all.indexOf(flame.focus);
	zoomTo(all[(at < 0 ? step > 0 ? 0 : all.length - 1 : at + step + all.length) % all.length]);
}

/** @param {number} factor */
function scale(factor) {
	const of = here();
	answer(() => {
		of.scale(factor, 0.5);
		of.draw();
		showPath();
	});
}

/**
 * @param {(of: import('../picture/flame.js').Flame, box: number) => void} what called with the box
 *   that the keyboard is on
 */
function atFocus(what) {
	const of = here();
	if (of.focus >= 0)
		what(of, of.focus);
}

/** @type {Record<string, () => void>} */
const KEYS = {
	ArrowLeft: () => move('ArrowLeft'), ArrowRight: () => move('ArrowRight'),
	ArrowUp: () => move('ArrowUp'),
	ArrowDown: () => move('ArrowDown'), Enter: () => atFocus((of, box) => of.hooks.zoom(box)),
	Backspace: () => zoomTo(flame.zoom ? page.tree.parent[flame.zoom] : 0), '0': reset,
	Escape: reset,
	'+': () => scale(0.7), '=': () => scale(0.7), '-': () => scale(1 / 0.7),
	'/': () => byId('query').focus(),
	n: () => nextHit(1), N: () => nextHit(-1), i: turn, '?': showHelp,
	s: () => atFocus((of, box) => choose(of.tree.fn[box], true)),
};

export function listenKeys() {
	const query = byId('query');
	query.addEventListener('input', () => lookFor(query.value));
	query.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => {
		if (e.key === 'Escape') {
			lookFor('');
			flame.canvas.focus();
			e.preventDefault();
			e.stopPropagation();
		}
	});
	byId('find').addEventListener('submit', (/** @type {Event} */ e) => {
		e.preventDefault();
		nextHit(1);
	});
	document.addEventListener('keydown', (e) => {
		const in_control = /** @type {Element} */ (e.target)
			.closest('input, select, dialog, button, #table');
		if (e.ctrlKey || e.metaKey || e.altKey || !KEYS[e.key] || in_control &&
				!(e.key === '/' && !in_control.matches('input')))
			return;
		e.preventDefault();
		KEYS[e.key]();
	});
}
