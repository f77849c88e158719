/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins the rows of several files' code into one table, which is laid out like the memory that has
 * the code; see rows.h.
 */
#include "unwind/rows/rows.h"

#include <stdlib.h>

#include "base/error.h"

struct joined {
	const struct unwind_place *places;
	size_t n_places;
	unwind_range_vec ranges;
	struct unwind_rows *ret;
};

/*
 * Finds the offsets of the addresses [start, end). False: the addresses aren't in a single range of
 * code.
 */
static bool find_keys(const struct joined *j, uint64_t start, uint64_t end, uint32_t *from,
		      uint32_t *to)
{
	size_t i = count_upto(j->places, j->n_places, end, start);
	const struct unwind_place *p = &j->places[i];

	if (i == j->n_places || start < p->start || end > p->end)
		return false;
	*from = (uint32_t)(p->key + (start - p->start));
	*to = (uint32_t)(p->key + (end - p->start));
	return true;
}

static int add_file(struct joined *j, const struct unwind_rows *file)
{
	uint32_t from, to;
	int r = 0;

	for (size_t i = 0; !r && i + 1 < file->rows.n; i++) {
		const struct unwind_row *row = &file->rows.v[i];

		if (row->rule &&
		    find_keys(j, file->base + row->key, file->base + row[1].key, &from, &to))
			r = vec_push(&j->ranges,
				     (struct unwind_range){from, to, file->rules.v[row->rule]});
	}
	vec_foreach(f, &file->fdes)
		if (!r && find_keys(j, file->base + f->start, file->base + f->end, &from, &to))
			r = vec_push(&j->ret->fdes, (struct unwind_fde){from, to});
	return r;
}

/*
 * Adds an entry of one byte at the beginning of each range of code. In a stack, code that has no
 * entry is named by the address where the entry before it ends. With the entries that this function
 * adds, that address lies in the same range as the code.
 */
static int add_beginnings(struct joined *j)
{
	int r = 0;

	for (size_t i = 0; !r && i < j->n_places; i++) {
		uint32_t key = (uint32_t)j->places[i].key;

		r = vec_push(&j->ret->fdes, (struct unwind_fde){key, key + 1});
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct unwind_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int by_fde(const void *a, const void *b)
{
	const struct unwind_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* Sorts the functions. Keeps only one of the functions that begin at the same offset. */
static void sort_functions(struct unwind_rows *rows)
{
	size_t kept = 0;

	if (rows->fdes.n)
		qsort(rows->fdes.v, rows->fdes.n, sizeof(*rows->fdes.v), by_fde);
	for (size_t i = 0; i < rows->fdes.n; i++)
		if (i + 1 == rows->fdes.n || rows->fdes.v[i].start != rows->fdes.v[i + 1].start)
			rows->fdes.v[kept++] = rows->fdes.v[i];
	rows->fdes.n = kept;
}

/*
 * Drops ranges that overlap: their rules contradict each other, so no rule is known for their code.
 */
static void drop_overlaps(unwind_range_vec *ranges)
{
	uint32_t end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < ranges->n; i++) {
		struct unwind_range *at = &ranges->v[i];
		bool clear = at->start >= end &&
			     (i + 1 == ranges->n || at->end <= ranges->v[i + 1].start);

		end = MAX(end, at->end);
		if (clear)
			ranges->v[kept++] = *at;
	}
	ranges->n = kept;
}

int unwind_rows_join(const struct unwind_rows *files, size_t n_files,
		     const struct unwind_place *places, size_t n, struct unwind_rows *ret)
{
	struct joined j = {.places = places, .n_places = n, .ret = ret};
	int r = 0;

	*ret = (struct unwind_rows){};
	for (size_t i = 0; !r && i < n_files; i++)
		r = add_file(&j, &files[i]);
	r = r ? r : add_beginnings(&j);
	if (!r && j.ranges.n)
		qsort(j.ranges.v, j.ranges.n, sizeof(*j.ranges.v), by_start);
	sort_functions(ret);
	drop_overlaps(&j.ranges);
	r = r ? r : unwind_rows_merge(ret, &j.ranges);
	vec_fini(&j.ranges);
	return r;
}
