// SPDX-License-Identifier: BSD-2-Clause
// What stands in the tables: functions, files and modules from the boxes, threads and processes from
// the samples, lines of the chosen function.

import {byId} from './base.js';
import {choose, filterBy, lookFor, saveSoon} from './change.js';
import {fillOf} from './colour.js';
import {changeLines, changeTable} from './diff_table.js';
import {lineSums, showLines} from './lines.js';
import {groupLabels, groupWeights} from './samples.js';
import {showTable} from './table.js';
import {outermost} from './tree.js';
import {WORDS, flame, moduleOf, nodeSums, page, state, unit} from './view.js';

/** @typedef {import('./data.js').Fn} Fn */

/** @type {Record<string, {title: string, key?: (f: Fn) => string, note?: (f: Fn) => string, of?: () => string[]}>} .of: label keys */
export const TABLES = {
	functions: {title: 'Function', note: (f) => f.file + (f.file && f.line ? ':' + f.line : '') || f.module},
	files: {title: 'File', key: (f) => f.file, note: (f) => f.path === f.file ? '' : f.path},
	modules: {title: 'Module', key: moduleOf, note: (f) => WORDS.kind(f)},
	threads: {title: 'Thread', of: () => ['thread']},
	processes: {title: 'Process', of: () => ['process']},
	labels: {title: 'Label', of: () => page.labelKeys},
};

/**
 * Functions by a word, and which boxes have none of the same above them.
 * @param {string} which
 */
export function fnGroup(which) {
	let g = page.groups.get(which);
	if (g)
		return g;
	const {functions, whole} = page, {key} = TABLES[which], ids = new Map(), of = new Int32Array(functions.length).fill(-1);
	const names = /** @type {string[]} */ ([]), example = /** @type {number[]} */ ([]);
	functions.forEach((f, i) => {
		const k = f.root ? '' : key ? key(f) : i;
		if (k === '')
			return;
		if (!ids.has(k)) {
			ids.set(k, example.length);
			example.push(i);
			names.push(key ? String(k) : f.name);
		}
		of[i] = ids.get(k);
	});
	g = {of, names, example, outer: outermost(whole, (i) => of[whole.fn[i]], example.length)};
	page.groups.set(which, g);
	return g;
}

/**
 * What each has itself and in all; after a brush only what came and went is added.
 * @param {ReturnType<fnGroup>} g
 */
function sumsOf(g) {
	const {whole, filled} = page, {fn, parent, value, end} = whole, n = g.example.length;
	if (g.sums && g.sums.serial === filled.serial)
		return g.sums;
	if (g.sums && g.sums.serial === filled.serial - 1 && filled.changes) {
		const {self, all} = g.sums;
		for (const [at, d] of filled.changes) {
			if (g.of[fn[at]] >= 0)
				self[g.of[fn[at]]] += d;
			for (let i = at; i > 0; i = parent[i]) {
				if (g.outer[i])
					all[g.of[fn[i]]] += d;
			}
		}
		return g.sums = {serial: filled.serial, self, all};
	}
	const self = new Float64Array(n), all = new Float64Array(n);
	for (let i = 1; i < whole.n;) {
		if (!value[i]) { // nor has any below it
			i = end[i];
			continue;
		}
		const id = g.of[fn[i]];
		if (id >= 0) {
			self[id] += whole.self[i];
			if (g.outer[i])
				all[id] += value[i];
		}
		i++;
	}
	return g.sums = {serial: filled.serial, self, all};
}

/** @param {string} which */
function frameRows(which) {
	const {functions} = page, g = fnGroup(which), {self, all} = sumsOf(g);
	const {note} = TABLES[which];
	return g.example.map((f, i) => ({
		name: g.names[i], note: note(functions[f]), self: self[i], total: all[i], chosen: which === 'functions' && f === state.chosen,
		fill: which === 'functions' ? fillOf(functions[f]) : undefined,
		choose: which === 'functions' ? () => choose(f, false) : which === 'modules' ? () => filterBy({module: g.names[i]}) : () => lookFor(g.names[i]),
	}));
}

/** @param {string} by @param {string} title before each name */
function labelRows(by, title) {
	const {data, pass} = page, g = groupLabels(data, by), sums = groupWeights(data, g, state.value, pass);
	return g.names.map((name, i) => ({name: title + name, note: '', self: 0, total: sums[i], chosen: state.filter.labels[by] === name,
		choose: () => filterBy({labels: {...state.filter.labels, [by]: name}})}));
}

let lineTimer = 0;
/** The lines of the chosen function, or of the box that the picture is zoomed to. */
function lines() {
	const {data, functions, whole} = page, f = state.chosen >= 0 ? state.chosen : flame.zoom > 0 ? flame.tree.fn[flame.zoom] : -1;
	clearTimeout(lineTimer);
	byId('lines').hidden = true;
	if (page.early || f < 0 || f >= data.functions.length)
		return;
	if (page.sides) {
		changeLines(f);
		return;
	}
	showLines(functions[f], lineSums(data, f, nodeSums()), page.source.get(functions[f].path), whole.value[0],
		{sandwich: () => choose(f, true), close: () => state.chosen >= 0 ? choose(f, false) : byId('lines').hidden = true});
}

/** After the picture: it is what a zoom is for. */
export function linesSoon() {
	clearTimeout(lineTimer);
	lineTimer = setTimeout(lines, 0);
}

export function table() {
	lines();
	const kind = TABLES[state.table];
	clearTimeout(tableTimer);
	if (page.early || kind.of && !page.data.samples)
		return;
	if (page.sides) {
		changeTable();
		return;
	}
	showTable({
		title: kind.title, unit: unit(), all: page.total, shown: page.whole.value[0], sort: state.sort, selfless: Boolean(kind.of),
		onSort: (by) => {
			state.sort = by;
			table();
			saveSoon();
		},
		rows: kind.of ? kind.of().flatMap((k) => labelRows(k, state.table === 'labels' ? k + ': ' : '')) : frameRows(state.table),
	});
}

let tableTimer = 0;
/** After the picture: the first sums of many boxes take longer than a reader should wait for it. */
export function tableSoon() {
	clearTimeout(tableTimer);
	tableTimer = setTimeout(table, 30);
}
