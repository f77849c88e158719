// SPDX-License-Identifier: BSD-2-Clause
// Helpers for all modules: elements, numbers and names as readers see them. Text becomes part of
// the page only as text, never as markup.

/**
 * @param {string} name
 * @param {Record<string, any>} [attributes] those named `on*` are listeners; else true means an
 *   attribute without a value, and false means no attribute
 * @param {...(Node|string)} children
 * @returns {any}
 */
export function el(name, attributes = {}, ...children) {
	const e = document.createElement(name);
	for (const [k, v] of Object.entries(attributes)) {
		if (k.startsWith('on'))
			e.addEventListener(k.slice(2), v);
		else if (v === true)
			e.setAttribute(k, '');
		else if (v !== false && v !== undefined)
			e.setAttribute(k, String(v));
	}
	e.append(...children);
	return e;
}

/**
 * Replaces the contents of an element. If a control in it had the keyboard focus, the same control
 * in the new contents gets the focus. If there is no such control, the control at the same place
 * gets the focus.
 * @param {Element} e @param {...(Node|string)} children
 */
export function refill(e, ...children) {
	const controls = () =>
		/** @type {HTMLElement[]} */ ([...e.querySelectorAll('button, select')]);
	const called = (/** @type {HTMLElement|undefined} */ c) => c &&
		(c.getAttribute('aria-label') || c.textContent);
	const on = document.activeElement, at = on.matches(':focus-visible') ?
		controls().indexOf(/** @type {HTMLElement} */ (on)) : -1;
	const name = called(/** @type {HTMLElement} */ (on));
	e.replaceChildren(...children);
	if (at >= 0) {
		const all = controls(), to = called(all[at]) === name ? all[at] :
			all.find((c) => called(c) === name) || all[Math.min(at, all.length - 1)];
		to?.focus({preventScroll: true});
	}
}

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** @param {number} n */
export const grouped = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');

/** @param {number} v @param {string} unit */
function scaled(v, unit) {
	return v.toFixed(v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2) + '\u00a0' + unit;
}

/**
 * Returns a value with its unit as text, as src/picture/markup.c writes it.
 * @param {number} v @param {string} unit @returns {string}
 */
export function quantity(v, unit) {
	if (v < 0)
		return '-' + quantity(-v, unit);
	if (unit === 'bytes') {
		const step = v >= 2 ** 30 ? 3 : v >= 2 ** 20 ? 2 : v >= 1024 ? 1 : 0;
		return step ? scaled(v / 1024 ** step, ['', 'KiB', 'MiB', 'GiB'][step]) :
			grouped(v) + '\u00a0bytes';
	}
	// a value in microcounts may have fractions, see PROFILE_MICROCOUNT
	if (unit === 'microcount')
		return grouped(Math.trunc(v / 1e6)) +
			(v % 1e6 ? (Math.abs(v % 1e6) / 1e6).toFixed(6).slice(1).replace(/0+$/,
			'') : '');
	if (unit !== 'nanoseconds')
		return grouped(v) + (unit === 'count' ? '' : '\u00a0' + unit);
	if (v >= 1e12)
		return grouped(Math.floor(v / 1e9)) + '\u00a0s';
	if (v >= 999500000)
		return scaled(v / 1e9, 's');
	if (v >= 999500)
		return scaled(v / 1e6, 'ms');
	return v >= 1000 ? scaled(v / 1e3, '\u00b5s') : Math.round(v) + '\u00a0ns';
}

/** @param {number} part @param {number} whole */
export function percent(part, whole) {
	const v = whole > 0 ? 100 * part / whole : 0;
	return v.toFixed(v >= 0.0995 || v === 0 ? 1 : v >= 0.00995 ? 3 : 4) + '\u00a0%';
}

/** @param {number} n @param {string} one @param {string} [many] */
export const counted = (n, one, many) => grouped(n) + '\u00a0' +
	(n === 1 ? one : many || one + 's');

/**
 * Returns a function that keeps its last result: if it is called again with equal @asked, it
 * returns this result without calling @make. While a reader drags a range of time, many results are
 * asked for again and again.
 * @template T
 * @returns {(asked: unknown[], make: () => T) => T}
 */
export function lastAnswer() {
	/** @type {unknown[]} */
	let last = null;
	/** @type {T} */
	let answer;
	return (asked, make) => {
		if (!last || asked.some((x, i) => x !== last[i])) {
			answer = make();
			last = asked;
		}
		return answer;
	};
}

const WIDE =
	/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const ASCII = /^[\x20-\x7e]*$/;

/**
 * Returns how many columns a text takes in a fixed-width font.
 * @param {string} s
 */
export function columns(s) {
	if (ASCII.test(s))
		return s.length;
	let n = 0;
	for (const c of s)
		n += WIDE.test(c) ? 2 : 1;
	return n;
}

/**
 * Returns the longest beginning of a text that takes at most @limit columns.
 * @param {string} s @param {number} limit
 */
export function fit(s, limit) {
	if (ASCII.test(s))
		return s.slice(0, limit);
	let out = '', n = 0;
	for (const c of s) {
		n += WIDE.test(c) ? 2 : 1;
		if (n > limit)
			break;
		out += c;
	}
	return out;
}

/**
 * Sets a mark in the browser's performance timeline, by which tests and readers can measure the
 * page's speed.
 * @param {string} name
 */
export function mark(name) {
	performance.mark(name);
}

const SLICE = 12; // milliseconds of work before the browser gets a turn
let sliceEnd = 0;
/**
 * Returns true if the current slice of work is over. Long work is done in slices, so that the page
 * can react to its reader between two slices.
 */
export const sliceOver = () => performance.now() > sliceEnd;

/** Lets the browser handle input and draw. A timer would wait longer than the browser needs. */
export async function breathe() {
	const {port1, port2} = new MessageChannel();
	await new Promise((done) => {
		port1.onmessage = done;
		port2.postMessage(0);
	});
	sliceEnd = performance.now() + SLICE;
}
