/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps symbols sorted by address; see symbol_table.h. */
#include "symbol/elf/symbol_table.h"

#include "base/error.h"
#include "base/work/slice.h"

#define NONE UINT32_MAX
/* how many symbols, each nested in the next, a search goes through; code isn't nested deeper */
#define NESTING_LOOK 64

void symbol_table_fini(struct symbol_table *t)
{
	vec_fini(&t->candidates);
	vec_fini(&t->list);
	str_fini(&t->names);
}

static uint8_t count_underscores(const char *name)
{
	unsigned n = 0;

	while (n < UINT8_MAX && name[n] == '_')
		n++;
	return (uint8_t)n;
}

int symbol_table_add(struct symbol_table *t, const char *name, uint64_t start, uint64_t size,
		     uint8_t rank)
{
	struct symbol_candidate c = {start, name, (uint32_t)MIN(size, (uint64_t)UINT32_MAX),
				     .rank = rank};

	if (!name[0])
		return 0;
	if (t->candidates.n >= SYMBOLS_MAX || t->measured >= SYMBOLS_MEASURED) {
		t->dropped++;
		return 0;
	}
	c.bytes = (uint16_t)strnlen(name, SYMBOL_NAME_BYTES);
	c.under = count_underscores(name);
	t->measured += c.bytes;
	return vec_push(&t->candidates, c);
}

/*
 * How many bytes of two aliases' names are compared if the names have equal lengths. Names of real
 * aliases differ early. If two names don't differ in so many bytes, either of them may be chosen.
 */
#define COMPARED_BYTES 256

/* Orders symbols by start, and symbols with the same start from worst to best. */
static int compare(const void *a, const void *b)
{
	const struct symbol_candidate *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	if (x->under != y->under)
		return x->under < y->under ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strncmp(y->name, x->name, COMPARED_BYTES);
}

/*
 * Appends @c to the list, with a copy of its name. -EFBIG: the thread's slice (base/work/slice.h)
 * has no memory left.
 */
static int keep(struct symbol_table *t, const struct symbol_candidate *c)
{
	struct symbol s = {c->start, c->size, (uint32_t)t->names.n, NONE};

	if (t->names.n + c->bytes + sizeof("...") > SYMBOL_NAMES_MAX) {
		t->dropped++;
		return 0;
	}
	if (!slice_hold(c->bytes + sizeof(s)))
		return err_set(-EFBIG, "the names of the file's symbols take more than half of %s",
			       limit_names.memory);
	str_add_n(&t->names, c->name, c->bytes);
	if (c->bytes == SYMBOL_NAME_BYTES)
		str_add(&t->names, "...");
	str_add_c(&t->names, '\0');
	return t->names.failed ? -ENOMEM : vec_push(&t->list, s);
}

/*
 * Handles candidates [first, last), which have the same start and are sorted so that the best is
 * last. Keeps the best candidate, and each other candidate that ends later than all better
 * candidates. The kept candidates stay in this order in the table.
 */
static int keep_best(struct symbol_table *t, size_t first, size_t last)
{
	size_t from = t->list.n;
	uint64_t reach = 0;
	int r = 0;

	for (size_t i = last; i-- > first && !r;) {
		const struct symbol_candidate *c = &t->candidates.v[i];

		if (i + 1 < last && c->size <= reach)
			continue;
		reach = c->size;
		r = keep(t, c);
	}
	for (size_t i = from, k = t->list.n; i + 1 < k; i++) {
		struct symbol s = t->list.v[i];

		t->list.v[i] = t->list.v[--k];
		t->list.v[k] = s;
	}
	return r;
}

/*
 * Sets .outer of each symbol. The symbols that may be .outer of the present symbol or of a later
 * symbol form a stack, which is linked by .outer itself.
 */
static void link_outer(struct symbol_table *t)
{
	for (size_t i = 0; i < t->list.n; i++) {
		struct symbol *s = &t->list.v[i];
		uint32_t k = i ? (uint32_t)i - 1 : NONE;

		while (k != NONE && t->list.v[k].size + t->list.v[k].start <= s->start + s->size)
			k = t->list.v[k].outer;
		s->outer = k;
	}
}

int symbol_table_sort(struct symbol_table *t)
{
	size_t n = t->candidates.n;
	int r = 0;

	if (n)
		qsort(t->candidates.v, n, sizeof(*t->candidates.v), compare);
	for (size_t first = 0, last; first < n && !r; first = last) {
		for (last = first + 1; last < n; last++)
			if (t->candidates.v[last].start != t->candidates.v[first].start)
				break;
		r = keep_best(t, first, last);
	}
	vec_fini(&t->candidates);
	link_outer(t);
	vec_shrink(&t->list);
	str_shrink(&t->names);
	return r;
}

const struct symbol *symbol_table_before(const struct symbol_table *t, uint64_t addr)
{
	size_t n = count_upto(t->list.v, t->list.n, start, addr);

	return n ? &t->list.v[n - 1] : NULL;
}

const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t addr)
{
	const struct symbol *s = symbol_table_before(t, addr);

	for (int i = 0; s && i < NESTING_LOOK; i++) {
		if (addr - s->start < s->size)
			return s;
		s = s->outer == NONE ? NULL : &t->list.v[s->outer];
	}
	return NULL;
}
