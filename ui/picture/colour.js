// SPDX-License-Identifier: BSD-2-Clause
// Fills of boxes. A family of colours stands for a kind of code, and has several shades. Families
// and shades are those of src/picture/svg/svg.css: p the project's own code, q packages, s the
// standard library, i imports, n native, k kernel, j JIT code, g garbage collector, m marks such as
// [incomplete], r root frames made by grouping. Text on each fill has a contrast of at least 4.5:1.
// Families also differ in lightness, for readers who can't see red, green or blue.
// tests/golden/page/page.py computes the contrasts and the differences.

/** @typedef {import('../data/data.js').Fn} Fn */

const LIGHT = {
	p: '#ffa84d #feaa1e #f4b104 #e6b826 #dcbd01 #cec31c #bec931 #adce45 #9ad358 #85d76a',
	q: '#fecfa3 #fdd098 #f9d391 #f2d690 #eada91 #e1dd94 #d8e098 #cee39e #c4e6a4 #bae8ac',
	s: '#fef1e5 #fdf1e3 #fcf2e2 #faf3e2 #f7f4e3 #f5f5e3 #f3f6e4 #f1f6e5 #eef7e7 #ecf8e9',
	n: '#a4d4fe #b0d1fe #bacdff #c4cafe', k: '#d6a0a7 #d7a1a1 #d7a29b', j: '#d0fbff',
	g: '#dd94f4',
	i: '#69f5c6', m: '#c2c2c6', r: '#dcdce0',
};
const DARK = {
	p: '#a65005 #a35301 #a05600 #9c5900 #995b00 #955e02 #936000 #8f6202 #8c6300 #8a6500',
	q: '#775d47 #765e46 #755e45 #745f44 #736044 #716043 #706143 #6e6243 #6c6343 #6b6343',
	s: '#544854 #534855 #554853 #544854 #534855 #554853 #544854 #534855 #554853 #544854',
	n: '#00569f #2050a7 #384aa7 #4945a5', k: '#7e1022 #801024 #7c1020', j: '#00788c',
	g: '#6b2f71',
	i: '#2c4526', m: '#6b6c74', r: '#25252c',
};

/** @param {Record<string, string>} table @returns {Record<string, string[]>} */
const split = (table) =>
	Object.fromEntries(Object.entries(table).map(([k, v]) => [k, v.split(' ')]));
const FILLS = {light: split(LIGHT), dark: split(DARK)};
const INKS = {
	light: {text: '#16181d', faint: '#3d424c', page: '#fcfcfd', off: '#e9e9ec', hit: '#7c2fd0',
		hitText: '#fff', edge: '#16181d', low: '#fdf3dc', high: '#ff8a4c',
		same: '#e9e9ec', more: '#ff7a5c', less: '#5fa4f5', before: '#8d93a1',
		after: '#3d424c'},
	dark: {text: '#f4f4f5', faint: '#f0f0f2', page: '#17181c', off: '#2c2d33', hit: '#c9a2ff',
		hitText: '#16181d', edge: '#fff', low: '#33302a', high: '#a63c00',
		same: '#3a3b42', more: '#b0341c', less: '#1f5fb0', before: '#868b98',
		after: '#e2e2e6'},
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
 * With @on, uses the light colours, for paper; else the colours of the reader's scheme.
 * @param {boolean} on
 */
export function forPaper(on) {
	scheme = dark.matches && !on ? 'dark' : 'light';
}

/** @param {Fn} f */
export function family(f) {
	return f.root ? 'r' : f.imports ? 'i' : f.kind ? 'pnkjgm'[f.kind] : 'pqs'[f.origin];
}

/** The entries of the legend that explains the kinds of code. */
export const FAMILIES = [['p', 'your code'], ['q', 'packages'], ['s', 'standard library'],
	['i', 'imports'], ['n', 'native'],
	['j', 'JIT code'], ['k', 'kernel'], ['g', 'garbage collector'], ['m', 'marks']];

/** @param {Fn} f */
export function kindName(f) {
	return f.root ? '' : Object.fromEntries(FAMILIES)[family(f)] +
		(f.language ? ', ' + f.language : '');
}

/**
 * Returns the fill of a function's boxes. The family of the colour shows the kind of code; the
 * module selects the shade in the family.
 * @param {Fn} f
 */
export function fillOf(f) {
	const fills = FILLS[scheme][family(f)];
	return fills[f.member % fills.length];
}
/** @param {string} name */
export const familyFills = (name) => FILLS[scheme][name];

/** Fills for the states of the GIL. Text on each of them has a contrast of at least 4.5:1. */
const STATES_OF_GIL = {light: {held: '#9ed8ab', waiting: '#ffb27d', released: '#8dbdf2',
	none: '#e4e4e7', unknown: '#c6c6cb'},
	dark: {held: '#1f5c2e', waiting: '#8a4603', released: '#1d4a80', none: '#34343a',
		unknown: '#4d4d54'}};

const GIL_IN_LANES = {light: {held: '#2b8a3e', waiting: '#e8590c', released: '#1c7ed6',
	none: '#868e96', unknown: '#868e96'},
	dark: {held: '#69db7c', waiting: '#ff922b', released: '#74c0fc', none: '#909296',
		unknown: '#909296'}};

/** The states of the GIL that have a colour. */
export const GIL = Object.keys(GIL_IN_LANES.light);

/**
 * Returns the fill for a state of the GIL in the timeline, where no text stands on it.
 * @param {string} state
 */
export const laneFill = (state) =>
	/** @type {Record<string, string>} */ (GIL_IN_LANES[scheme])[state];

/** @param {string} state */
export const gilFill = (state) =>
	/** @type {Record<string, string>} */ (STATES_OF_GIL[scheme])[state] || familyFills('m')[0];

/**
 * Fills for the states of threads, in boxes and in the timeline. Text on them has a contrast of at
 * least 4.5:1.
 */
const OF_STATES = {light: {running: '#5fb878', runnable: '#d9a400', stolen: '#d9a8e3',
	gil: '#ff9b6a', 'stop-the-world': '#f2a49a', 'critical-section': '#dba0cf',
	lock: '#e58aa8', net: '#6fa8f5', disk: '#b493e6', pipe: '#4fc3c8',
	child: '#a8b84a', poll: '#9db4d8',
	loop: '#c9d3e6', sleep: '#b8bcc8', 'page-fault': '#d98a5c', other: '#a5a5ad',
	idle: '#dcdce0'},
	dark: {running: '#1f6b35', runnable: '#7a5b00', stolen: '#6a2f78', gil: '#8a4603',
	'stop-the-world': '#8a3a2e', 'critical-section': '#743468', lock: '#8a2f52',
	net: '#1d4f96', disk: '#5b3d96', pipe: '#0f6468', child: '#566016',
	poll: '#35507a',
	loop: '#3a4256', sleep: '#4a4e5a', 'page-fault': '#7a4a2a', other: '#55555c',
	idle: '#34343a'}};

/** @param {string} name */
export function stateFill(name) {
	const fills = /** @type {Record<string, string>} */ (OF_STATES[scheme]);
	return fills[name] || fills.other;
}

/**
 * Ten fills for the largest groups, and one fill for all smaller groups. Each fill differs clearly
 * from the fills before it, also for readers who can't see red, green or blue.
 */
const APART = split({
	light: '#87c0ca #efa149 #bfb47a #f59aff #cbf086 #85fbaa ' +
		'#33c8a5 #f8c9fc #f6d453 #b5f3ca #dcdce0',
	dark: '#1368bd #5d2101 #7c6379 #422735 #0f2970 #4f6e10 ' +
		'#085a33 #ad4754 #4f0949 #994791 #4a4a51'});

/** @param {number} i */
export const nthFill = (i) => APART[scheme][Math.min(i, APART[scheme].length - 1)];

const STEPS = 255;
// Ramps (all colours between two colours), by the colours of both ends. There are two levels of
// maps, because joining both colours to one key would cost more than everything else that a box's
// colour needs.
/** @type {Map<string, Map<string, string[]>>} */
const ramps = new Map();

/**
 * Returns all colours between two colours. They are computed once, because a picture asks for
 * thousands.
 * @param {string} from @param {string} to
 */
function ramp(from, to) {
	const [a, b] = [from, to].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
	return Array.from({length: STEPS + 1},
		(_, k) => 'rgb(' + a.map((v, i) => Math.round(v + (b[i] - v) * k / STEPS))
		.join(',') + ')');
}

/** @param {string} from @param {string} to @param {number} share */
export function mix(from, to, share) {
	const others = ramps.get(from) || new Map(), colours = others.get(to) || ramp(from, to);
	others.set(to, colours);
	ramps.set(from, others);
	return colours[Math.round(share * STEPS)];
}

/**
 * Returns the colour of a share, which is from 0 to 1.
 * @param {number} share
 */
export function heat(share) {
	return mix(inks().low, inks().high, Math.sqrt(share));
}
