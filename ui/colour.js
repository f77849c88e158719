// SPDX-License-Identifier: BSD-2-Clause
// Fills of boxes. Families and members are those of src/render/svg.css: p the project's own code, q
// packages, s the standard library, n native, k kernel, j JIT code, g garbage collector, m marks, r
// roots; text on each has a contrast of at least 4.5:1.

/** @typedef {import('./data.js').Fn} Fn */

const LIGHT = {
	p: '#ffad8d #ffaf78 #fdb25b #f0bb52 #ddc452 #c1ce61 #9ed87d #75de9d #49e0bf #25dfdf',
	q: '#feccb9 #ffcead #ffcf9c #f5d498 #e9da99 #d7e0a0 #c1e6ae #aceac1 #9cecd6 #93ebea',
	s: '#f8dcd1 #f6ddcd #f3dfcb #efe1c9 #e9e4ca #e2e6cc #d9e9d1 #d2ead9 #ccebe1 #c9ebea',
	n: '#99d5ed #a5d0f6 #b4cbf9 #c5c5f7', k: '#f5a3b5 #f7a3a5 #f7a597', j: '#7fdccb', g: '#dcaade',
	m: '#e4e4e7', r: '#dcdce0',
};
const DARK = {
	p: '#8e4120 #8a4603 #804e00 #765400 #6a5a00 #596103 #3c681e #036d3d #066a58 #056868',
	q: '#693926 #663c1c #623f14 #5c430d #53470e #474c17 #355125 #205335 #015545 #045353',
	s: '#4e3b33 #4d3c31 #4b3d2f #483e2e #44402e #3f4230 #394334 #334539 #2f453f #2d4545',
	n: '#0d556c #265173 #394c76 #494774', k: '#783246 #7a3338 #7a342b', j: '#0b5b50', g: '#653a68',
	m: '#3f3f46', r: '#34343a',
};

/** @param {Record<string, string>} table @returns {Record<string, string[]>} */
const split = (table) => Object.fromEntries(Object.entries(table).map(([k, v]) => [k, v.split(' ')]));
const FILLS = {light: split(LIGHT), dark: split(DARK)};
const INKS = {
	light: {text: '#16181d', faint: '#3d424c', page: '#fcfcfd', off: '#e9e9ec', hit: '#7c2fd0', hitText: '#fff', edge: '#16181d', low: '#fdf3dc', high: '#ff8a4c',
		same: '#e9e9ec', more: '#ff7a5c', less: '#5fa4f5', before: '#8d93a1', after: '#3d424c'},
	dark: {text: '#f4f4f5', faint: '#e2e2e6', page: '#17181c', off: '#2c2d33', hit: '#c9a2ff', hitText: '#16181d', edge: '#fff', low: '#33302a', high: '#a63c00',
		same: '#3a3b42', more: '#b0341c', less: '#1f5fb0', before: '#868b98', after: '#e2e2e6'},
};

const dark = matchMedia('(prefers-color-scheme: dark)');

/** @type {'light'|'dark'} */
let scheme = dark.matches ? 'dark' : 'light';
export const inks = () => INKS[scheme];
/** @param {() => void} f */
export const onScheme = (f) => dark.addEventListener('change', () => {
	scheme = dark.matches ? 'dark' : 'light';
	f();
});

/**
 * Paper is light.
 * @param {boolean} on
 */
export function forPaper(on) {
	scheme = dark.matches && !on ? 'dark' : 'light';
}

/** @param {Fn} f */
export function family(f) {
	return f.root ? 'r' : f.kind ? 'pnkjgm'[f.kind] : 'pqs'[f.origin];
}

/** What stands in the legend. */
export const FAMILIES = [['p', 'your code'], ['q', 'packages'], ['s', 'standard library'], ['n', 'native'],
	['j', 'JIT code'], ['k', 'kernel'], ['g', 'garbage collector'], ['m', 'marks']];

/** @param {Fn} f */
export function kindName(f) {
	return f.root ? '' : Object.fromEntries(FAMILIES)[family(f)] + (f.language ? ', ' + f.language : '');
}

/**
 * Colour by kind of code, the module picks the member.
 * @param {Fn} f
 */
export function fillOf(f) {
	const fills = FILLS[scheme][family(f)];
	return fills[f.member % fills.length];
}
/** @param {string} name */
export const familyFills = (name) => FILLS[scheme][name];

/** Text on all of these has a contrast of 4.5:1 too. */
const STATES_OF_GIL = {light: {held: '#9ed8ab', waiting: '#ffb27d', released: '#a5d0f6', none: '#dcdce0', unknown: '#e4e4e7'},
	dark: {held: '#1f5c2e', waiting: '#8a4603', released: '#265173', none: '#3f3f46', unknown: '#34343a'}};

const GIL_IN_LANES = {light: {held: '#2b8a3e', waiting: '#e8590c', released: '#1c7ed6', none: '#868e96', unknown: '#868e96'},
	dark: {held: '#69db7c', waiting: '#ff922b', released: '#74c0fc', none: '#909296', unknown: '#909296'}};

/** States of the GIL. */
export const GIL = Object.keys(GIL_IN_LANES.light);

/**
 * In the timeline, where no text stands on it.
 * @param {string} state
 */
export const laneFill = (state) => /** @type {Record<string, string>} */ (GIL_IN_LANES[scheme])[state];

/** @param {string} state */
export const gilFill = (state) => /** @type {Record<string, string>} */ (STATES_OF_GIL[scheme])[state] || familyFills('m')[0];

/** Ten fills, each far from those before it. */
const APART = /** @type {Array<[string, number]>} */ ([['p', 0], ['n', 1], ['p', 6], ['g', 0], ['p', 3], ['p', 9], ['k', 0], ['n', 3], ['p', 5], ['p', 8]]);

/**
 * One of ten fills.
 * @param {number} i
 */
export function nthFill(i) {
	const [name, member] = APART[i % APART.length];
	return familyFills(name)[member];
}

/** @param {string} s */
export function hash(s) {
	let h = 2166136261;
	for (let i = 0; i < s.length; i++)
		h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	return (h ^ h >>> 16) >>> 0;
}

const STEPS = 255;
/** @type {Map<string, string[]>} */
const ramps = new Map();

/**
 * All colours between two: a picture asks for thousands.
 * @param {string} from @param {string} to
 */
function ramp(from, to) {
	const [a, b] = [from, to].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
	return Array.from({length: STEPS + 1}, (_, k) => 'rgb(' + a.map((v, i) => Math.round(v + (b[i] - v) * k / STEPS)).join(',') + ')');
}

/**
 * @param {string} from @param {string} to @param {number} share
 */
export function mix(from, to, share) {
	const key = from + to, colours = ramps.get(key) || ramp(from, to);
	ramps.set(key, colours);
	return colours[Math.round(share * STEPS)];
}

/**
 * From nothing to all.
 * @param {number} share
 */
export function heat(share) {
	return mix(inks().low, inks().high, Math.sqrt(share));
}
