/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the table of opcode handlers by the form of such a table; see opcode_handlers.h. */
#include "symbol/pytables/opcode_handlers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text/str.h"
#include "elf/function_starts.h"

#define OPCODES 256
/* the most words of a run of pointers: 3.14 has one table of handlers, 3.15 has two */
#define RUN_MAX	    (4 * OPCODES)
#define BLOCK_WORDS 8192

/* The most bytes of read-only data that are searched; python-build-standalone's 3.14 has 6 MiB. */
#define CONSTANTS_MAX (32u << 20)

/*
 * How many different handlers a table must have: 3.14 has 228, and its 29 unused opcodes share one.
 */
#define MIN_DISTINCT 128
#define MIN_SHARED   8

/*
 * A run of consecutive pointers to functions. .n is at most RUN_MAX + 1, because a longer run isn't
 * a table.
 */
struct run {
	uint64_t v[RUN_MAX + 1];
	size_t n;
};

struct search {
	struct function_starts starts;
	struct run now;	  /* the run of pointers that ends at the present word */
	struct run table; /* the run that was found last to be a table */
	size_t found;
};

static int compare_words(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Counts how many different words a table has, and how often it has the most frequent word. */
static void count_words(const uint64_t words[static OPCODES], size_t *distinct, size_t *most)
{
	uint64_t sorted[OPCODES];
	size_t same = 0;

	memcpy(sorted, words, sizeof(sorted));
	qsort(sorted, OPCODES, sizeof(*sorted), compare_words);
	*distinct = *most = 0;
	for (size_t i = 0; i < OPCODES; i++) {
		same = i && sorted[i] == sorted[i - 1] ? same + 1 : 1;
		*distinct += same == 1;
		*most = MAX(*most, same);
	}
}

/*
 * Is the run of pointers a table of handlers? In 3.15 a second table follows the first; in it, all
 * opcodes have the function that traces.
 */
static bool is_table(const struct run *run)
{
	size_t distinct, most, tables = 0;

	if (run->n > RUN_MAX || run->n % OPCODES)
		return false;
	for (size_t i = 0; i < run->n; i += OPCODES) {
		count_words(run->v + i, &distinct, &most);
		if (distinct >= MIN_DISTINCT && most >= MIN_SHARED)
			tables++;
		else if (distinct != 1)
			return false;
	}
	return tables;
}

static void end_run(struct search *s)
{
	if (is_table(&s->now)) {
		s->table = s->now;
		s->found++;
	}
	s->now.n = 0;
}

static void take_words(struct search *s, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!function_starts_has(&s->starts, words[i]))
			end_run(s);
		else if (s->now.n <= RUN_MAX)
			s->now.v[s->now.n++] = words[i];
	}
}

/*
 * Searches constant data that has no relocations. If a file is loaded at a fixed address, its
 * constant tables are in such data.
 */
static int search_constants(struct search *s, struct elf_file *f, const struct elf_load *load)
{
	_cleanup_free_ uint64_t *block = malloc(BLOCK_WORDS * sizeof(*block));
	uint64_t at = (load->vaddr + 7) & ~7ull, end = load->vaddr + load->filesz;

	if (!block)
		return -ENOMEM;
	while (at < end) {
		size_t got = elf_file_read(f, at, block, MIN(end - at, BLOCK_WORDS * 8ull)) / 8;

		if (!got)
			break;
		take_words(s, block, got);
		at += got * 8;
	}
	end_run(s);
	return 0;
}

static int search_file(struct search *s, const struct python_data *d)
{
	const struct elf_load *loads;
	size_t n = elf_file_is_exec(d->f) ? elf_file_loads(d->f, &loads) : 0;
	uint64_t max = CONSTANTS_MAX;
	int r = 0;

	vec_foreach(piece, &d->pieces) {
		take_words(s, piece->words, piece->n);
		end_run(s);
	}
	for (size_t i = 0; i < n && !r; i++) {
		uint64_t bytes = loads[i].filesz;

		if (loads[i].write || loads[i].exec || bytes < OPCODES * 8 || bytes > max)
			continue;
		r = search_constants(s, d->f, &loads[i]);
		max -= bytes;
	}
	return r;
}

static int give_all(const struct run *table, type_slot_fn *fn, void *arg)
{
	int r = 0;

	for (size_t i = 0; i < table->n && !r; i++) {
		char name[32];

		snprintf(name, sizeof(name), "_TAIL_CALL_%zu", i % OPCODES);
		r = fn(arg, table->v[i], name);
	}
	return r;
}

static int is_handler(const char *name, const struct elf_symbol *sym, void *arg)
{
	return str_starts(name, "_TAIL_CALL_");
}

/*
 * Is the file an interpreter that has a table of opcode handlers, but no symbols for the handlers?
 */
static bool lacks_names(struct elf_file *f)
{
	static const char *const loop = "_PyEval_EvalFrameDefault";
	struct elf_symbol sym = {};

	return elf_file_find_in(f, true, &loop, &sym, 1) &&
	       !elf_file_symbol_table(f, false, is_handler, NULL);
}

int opcode_handlers(const struct python_data *d, type_slot_fn *fn, void *arg)
{
	struct search *s;
	int r;

	if (!lacks_names(d->f))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	r = function_starts_read(d->f, &s->starts);
	if (!r && s->starts.vaddrs.n >= MIN_DISTINCT)
		r = search_file(s, d);
	/* If there are two tables, nobody knows which one is right, so neither is used. */
	if (!r && s->found == 1)
		r = give_all(&s->table, fn, arg);
	function_starts_fini(&s->starts);
	free(s);
	return r;
}
