// SPDX-License-Identifier: BSD-2-Clause
// The controls around the picture: the header, the toolbar, the tabs of the table, the filters that
// are set.

import {byId, counted, el, fit, percent, quantity, refill} from './base/base.js';
import {legend} from './view/boxes.js';
import {brush, change, choose, filterBy, keepPlace, reshape, restructure, saveSoon, setView,
	sumStrip, turn} from './change/change.js';
import {FAMILIES, family} from './picture/colour.js';
import {isCounted, samplesAreOf} from './data/data.js';
import {diffHeader, ofBothShown, shownOfBoth} from './view/diff.js';
import {button, choice, showChips, showHelp} from './parts/controls.js';
import {isThere} from './tables/relatives.js';
import {TABLES, hasBoth, table, tableName} from './tables/rows.js';
import {PROGRAM, THREAD_NAME, collected, importing, isFiltered, sumOf} from './data/samples.js';
import {save} from './view/save.js';
import {above, flame, page, shown, state, unit, valueName, withoutCode} from './view/view.js';
import {timeValue, waitValue} from './data/waits.js';

/**
 * Returns a value's name in the list of all values. If there are several events, the name "samples"
 * also says to which event the samples belong.
 * @param {any} h header @param {number} v
 */
function choiceName(h, v) {
	const [type] = h.values[v], several = h.values.some(
		(/** @type {any} */ _, /** @type {number} */ i) => !samplesAreOf(h, i));
	return type === 'samples' && several && h.periodType !== type ?
		'samples of ' + valueName(h.periodType) : valueName(type);
}

export function header() {
	if (page.sides)
		diffHeader();
	else
		ownHeader();
	if (!above.tree)
		return;
	const name = fit(page.functions[state.chosen].name, 200),
		says = ': a box is a function, its width its share. The table of ';
	above.canvas.setAttribute('aria-label',
		'Callers of ' + name + says + 'callers has the same numbers.');
	flame.canvas.setAttribute('aria-label',
		'Callees of ' + name + says + 'callees has the same numbers.');
}

// the header mentions the garbage collector or imports if they have at least this share of
// everything
const WORTH_A_WORD = 0.01;

function ownHeader() {
	const {data, total} = page, h = data.header, [type] = h.values[state.value],
		[first] = h.values[0];
	const parts = !isCounted(h, state.value) ? [] :
		[first === 'samples' ? counted(data.totals[0], 'sample') :
		quantity(data.totals[0], 'count') + ' ' + first];
	if (state.value || !parts.length)
		parts.push(quantity(h.diff ? total : data.totals[state.value], unit()) + ' ' +
			valueName(type) + (h.durationNs > 0 ? ' in ' +
			quantity(h.durationNs, 'nanoseconds') : ''));
	// if the period is 1, every event was counted
	if (h.period > 1 && samplesAreOf(h, state.value))
		parts.push(h.periodUnit === 'nanoseconds' ?
			+(1e9 / h.period).toPrecision(4) + '\u00a0Hz' :
			'every ' + quantity(h.period, h.periodUnit));
	if (h.timeMs > 0)
		parts.push(new Date(h.timeMs).toISOString().slice(0, 16).replace('T', ' ') +
			' UTC');
	for (const [name, nodes] of /** @type {Array<[string, typeof collected]>} */ (page.early ?
			[] : [['garbage collector', collected], ['imports', importing]])) {
		const sum = sumOf(data, nodes(data), state.value);
		if (sum >= WORTH_A_WORD * total && sum > 0)
			parts.push(name + ' ' + percent(sum, total));
	}
	byId('title').textContent = h.title;
	byId('title').title = h.title;
	// The header first says how much of the time the program ran, because the shares that
	// follow are shares of that time.
	const said = [h.cpuUse, h.headline].filter(Boolean);
	byId('headline').title = said.join('. ');
	// A name may be as long as the window is wide.
	byId('headline').replaceChildren(...said.map((text) =>
		el('span', {}, fit(text, 300) + (text.length > 300 ? '\u2026' : ''))));
	byId('headline').hidden = !said.length;
	byId('numbers').textContent = parts.join(' \u00b7 ');
	flame.canvas.setAttribute('aria-label', 'Flame graph of ' + fit(h.title, 200) +
		': a box is a function, its width the share of ' +
		parts[0] + '. The table has the same numbers.');
}

const VIEWS = [['flame', 'By weight', 'Stacks merged, the widest first'],
	['time', 'By time', 'Samples one after the other'],
	['callers', 'Who called it', 'What ran, and below it who called it'],
	['sandwich', 'One function', 'A function: its callers above, its callees below']];

// Numbers of processes and threads mean nothing in another recording, so a page of two recordings
// doesn't offer groups by these numbers.
const GROUPINGS = /** @type {Array<Array<[string, string]>>} */ ([[['process', 'process'],
	['thread', 'thread']], [[PROGRAM, 'program'], [THREAD_NAME, 'thread'],
	['diff', 'before, after']]]);

const FRAMES = ['functions', 'files', 'modules']; // tables that have rows for native code

/** Returns the kinds of code in the recording, and the kind that an address asks for. */
function familiesThere() {
	const there = new Set(page.data.functions.map(family));
	return FAMILIES.filter(([k, name]) => there.has(k) || name === state.filter.kind)
		.map(([, name]) => name);
}

let optionsOpen = false; // whether the controls are open on a narrow screen

/** Makes the button that opens the controls on a narrow screen. */
function optionsButton() {
	byId('tools').classList.toggle('open', optionsOpen);
	return el('button', {type: 'button', class: 'options',
			'aria-expanded': optionsOpen ? 'true' : 'false',
			title: 'Filters, groups, colours, files', onclick: () => {
		optionsOpen = !optionsOpen;
		tools();
	}}, 'Options');
}

/** @param {number} v */
const setValue = (v) => change(() => {
	state.value = v;
}, () => {
	keepPlace(restructure);
	legend();
});

const TIMES = [['cpu', 'Where threads ran'], ['wall', 'Where threads ran or waited'],
	['off_cpu', 'Where threads waited, also for a CPU'],
	['gil_wait', 'Where threads waited for the GIL'],
	['gil_blame', 'What threads did with the GIL while others waited for it'],
	['lock_blame', 'What ended other threads\u2019 waits for locks']];

/**
 * Makes buttons for the values that are times, followed by buttons for the other values.
 * @param {any} h header
 */
function timeSwitch(h) {
	const of = (/** @type {number} */ v, /** @type {string} */ title) =>
		button(choiceName(h, v), title, () => setValue(v), state.value === v);
	const times = TIMES.map(([type, title]) => /** @type {[number, string]} */ ([
		timeValue(h, type), title])).filter(([v]) => v >= 0);
	const others = h.values.map((/** @type {any} */ _, /** @type {number} */ v) => v)
		.filter((/** @type {number} */ v) => v && !times.some(([t]) => t === v));
	return el('div', {class: 'group', role: 'group', 'aria-label': 'Value'},
		...times.map(([v, title]) => of(v, title)),
		...others.map((/** @type {number} */ v) => of(v, '')));
}

const NO_IDLE = '[no idle]'; // what nameOf() returns for label sets without `idle`

/** Makes the button that leaves out waits of threads that have no work. */
function withoutIdle() {
	const {idle, ...rest} = state.filter.labels, without = idle === NO_IDLE;
	return button('Without idle', 'Leaves out waits of threads that have no work: ' +
		'a pool\u2019s worker, a server that waits for a client',
		() => filterBy({labels: without ? rest : {...rest, idle: NO_IDLE}}), without);
}

export function tools() {
	const {data} = page, parts = [], h = data.header;
	byId('tools').inert = page.early || !data.samples;
	parts.push(el('div', {class: 'group', role: 'group', 'aria-label': 'Picture'},
		...VIEWS.filter(([v]) => v !== 'time' || h.timed && !page.sides)
		.map(([v, text, title]) => button(text, title, () => setView(v),
			state.view === v))));
	const mine = state.library === 'folded';
	const my_code = button('My code', 'One box for all that libraries do between your ' +
		'functions, and one for the first calls, which nearly all samples share', () =>
		reshape(() => {
		state.library = mine ? 'shown' : 'folded';
	}), mine);
	my_code.classList.add('mine');
	parts.push(my_code, optionsButton());
	if (waitValue(h) >= 0)
		parts.push(timeSwitch(h));
	else if (h.values.length > 1)
		parts.push(choice('Value',
				h.values.map((/** @type {any} */ _, /** @type {number} */ i) =>
				[String(i), choiceName(h, i)]),
				String(state.value), (v) => setValue(+v)));
	const keys = page.labelKeys.map((k) => /** @type {[string, string]} */ ([k, k]));
	parts.push(choice('Group by',
			[['', 'automatic'], ['none', 'nothing'], ...GROUPINGS[page.sides ? 1 : 0],
			...keys], state.by, (v) => reshape(() => {
		state.by = v;
	}), 'Automatic: by program, if there are several; in time order, by thread'));
	parts.push(choice('Library frames',
			[['shown', 'shown'], ['folded', 'one box each'], ['hidden', 'hidden']],
			state.library, (v) => reshape(() => {
		state.library = v;
	}), 'One box each: as with My code. ' +
		'Hidden: the time of library frames counts for the line that calls them'));
	parts.push(button('Collapse recursion', 'Draws a function that calls itself as one box',
			() => reshape(() => {
		state.recursion = !state.recursion;
	}), state.recursion));
	parts.push(choice('Only with',
		[['', 'any code'], ...familiesThere()
		.map((name) => /** @type {[string, string]} */ ([name, name]))], state.filter.kind,
		(v) => filterBy({kind: v})));
	if (data.labels.some((set) => set.idle))
		parts.push(withoutIdle());
	const colours = /** @type {Array<[string, string]>} */ ([...(page.sides ?
		[['change', 'change']] : []), ['kind', 'kind of code'], ['module', 'module'],
		['self', 'own share']]);
	if (data.labels.some((l) => l.tid || l.thread))
		colours.push(['thread', 'thread']);
	if (data.labels.some((l) => l.gil))
		colours.push(['gil', 'GIL state']);
	if (waitValue(h) >= 0)
		colours.push(['state', 'state of threads']);
	parts.push(choice('Colour', colours, state.colour, (v) => change(() => {
		state.colour = v;
		page.votes = new WeakMap();
	}, legend)));
	parts.push(choice('Save',
			[['', 'as\u2026'], ['svg', 'SVG'], ['png', 'PNG'],
			['folded', 'folded stacks']], '', (v) => {
		if (v)
			save(v);
		tools();
	}));
	parts.push(el('span', {class: 'gap'}),
		button('Flip', state.flip ? 'The first call on top (i)' :
		'The first call at the bottom (i)', turn), button('?', 'Keys', showHelp));
	refill(byId('tools'), ...parts);
	const native = button('Native functions', 'Shows a row for each native function too. ' +
		'Otherwise its time counts for the Python function that calls it', () => {
		state.code = state.code === 'all' ? 'python' : 'all';
		tools();
		table();
		saveSoon();
	}, state.code === 'all');
	// The button is disabled, not hidden, so that the table doesn't move.
	native.toggleAttribute('disabled', !FRAMES.includes(tableName()));
	refill(byId('tabs'), ...Object.entries(TABLES).filter(([name, t]) => isThere(name) &&
		(!t.of || t.of().length)).map(([name]) =>
		button(name[0].toUpperCase() + name.slice(1), 'Table of ' + name, () => {
			state.table = name;
			tools();
			table();
			saveSoon();
		}, tableName() === name)),
			...(!page.sides && hasBoth() ? [el('span', {class: 'gap'}), native] : []));
	chips();
}

/** Shows the filters that are set, each with a button that removes it. */
export function chips() {
	const {labels, kind, module, range} = state.filter, list = [];
	for (const [k, v] of Object.entries(labels)) {
		list.push({text: k + ': ' + v, off: () => {
			const rest = {...labels};
			delete rest[k];
			filterBy({labels: rest});
		}});
	}
	if (kind)
		list.push({text: 'with ' + kind, off: () => filterBy({kind: ''})});
	if (module)
		list.push({text: 'with ' + module, off: () => filterBy({module: ''})});
	if (range && page.strip)
		list.push({text: page.strip.text(range), off: () => {
			brush(null);
			sumStrip();
		}});
	if (state.chosen >= 0)
		list.push({text: page.functions[state.chosen].name,
			off: () => choose(state.chosen, false)});
	const isAll = !isFiltered(state.filter) && shown() > page.total * (1 - 1e-9);
	const notes = isAll || !page.total ? [] :
		[page.sides ? shownOfBoth() : percent(shown(), page.total) + ' of all is shown'];
	const alone = page.data.samples && !page.early ? withoutCode() : [];
	if (alone.some((value) => value > 0))
		notes.push((page.sides ? ofBothShown(alone) : percent(alone[0], shown()) +
			' of shown') + ' is library code that none of yours called');
	if (page.paper && state.query) // the search field isn't printed
		notes.push('search: ' + fit(state.query, 100) + ', ' + byId('matched').textContent);
	const cut = page.paper ? flame.cut() + above.cut() : 0;
	if (cut)
		notes.push(counted(cut, 'deeper row') + ' of the picture left out');
	showChips(list, notes.join(' \u00b7 '));
	if (page.sides)
		legend(); // the legend shows pale colours only if noise was judged
}
