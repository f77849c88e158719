/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts rows and mappings into chunks; see chunk.h. */
#include "unwind/rows/chunk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

_Static_assert(sizeof(struct space_chunk) == sizeof(struct unwind_chunk), "both are chunks");

/*
 * The rest of the functions that belong to the evaluation loop: those that end after the entry that
 * was added last.
 */
struct eval {
	const struct unwind_fde *fde;
	size_t n;
};

static int push_entry(struct unwind_entries *e, struct eval *eval, uint32_t key, uint32_t value)
{
	while (eval->n && eval->fde->end <= key) {
		eval->fde++;
		eval->n--;
	}
	if (eval->n && eval->fde->start <= key)
		value |= UNWIND_EVAL;
	if (e->list.n && e->list.v[e->list.n - 1].key == key) {
		e->list.v[e->list.n - 1].rule = value;
		return 0;
	}
	return vec_push(&e->list, (struct unwind_row){key, value});
}

int unwind_entries_make(const struct unwind_rows *rows, const struct unwind_fde *eval,
			size_t n_eval, struct unwind_entries *ret)
{
	const struct unwind_fde *f = rows->fdes.v, *end = f + rows->fdes.n;
	struct eval left = {eval, n_eval};
	int r;

	*ret = (struct unwind_entries){.guarded = rows->guarded, .check = rows->check};
	r = vec_reserve(&ret->list, rows->rows.n + rows->fdes.n + 1);
	r = r ? r : push_entry(ret, &left, 0, 0);
	for (size_t i = 0; !r && i < rows->rows.n; i++) {
		const struct unwind_row *row = &rows->rows.v[i];
		uint32_t next = i + 1 < rows->rows.n ? row[1].key : UINT32_MAX;

		r = push_entry(ret, &left, row->key, row->rule);
		while (f < end && f->start <= row->key)
			f++;
		for (; !r && f < end && f->start < next; f++)
			r = push_entry(ret, &left, f->start, row->rule);
	}
	return r;
}

void unwind_entries_fini(struct unwind_entries *e)
{
	vec_fini(&e->list);
}

struct unwind_tree_size unwind_tree_size(size_t n)
{
	struct unwind_tree_size size = {};

	do {
		n = (n + UNWIND_FANOUT - 1) / UNWIND_FANOUT;
		size.chunks += n;
		size.depth++;
	} while (n > 1);
	return size;
}

void unwind_entries_number(struct unwind_entries *e, const uint32_t *number)
{
	vec_foreach(at, &e->list)
		at->rule = (at->rule & UNWIND_EVAL) | number[at->rule & UNWIND_RULE_MASK];
}

/* Fills chunk @c with the entries from @first on. */
static void fill_chunk(struct unwind_chunk *c, const struct unwind_entries *e, size_t first)
{
	size_t n = MIN(e->list.n - first, (size_t)UNWIND_FANOUT);

	memset(c, 0, sizeof(*c));
	memset(c->key, 0xff, sizeof(c->key));
	for (size_t k = 0; k < n; k++) {
		c->key[k] = e->list.v[first + k].key;
		c->value[k] = e->list.v[first + k].rule;
	}
}

/* Writes @e as one level of the tree. Then @e has an entry for each chunk of that level. */
static int write_level(struct unwind_entries *e, struct unwind_chunk *c, unwind_put_fn *put,
		       void *ctx)
{
	size_t up = 0;
	int r = 0;

	for (size_t i = 0; !r && i < e->list.n; i += UNWIND_FANOUT) {
		uint32_t number = 0;

		fill_chunk(c, e, i);
		r = put(ctx, c, &number);
		e->list.v[up++] = (struct unwind_row){c->key[0], number};
	}
	e->list.n = up;
	return r;
}

int unwind_tree_write(struct unwind_entries *e, unwind_put_fn *put, void *ctx,
		      struct unwind_table *ret)
{
	_cleanup_free_ struct unwind_chunk *c = malloc(sizeof(*c));
	int r = c ? 0 : -ENOMEM;

	*ret = (struct unwind_table){.guarded = e->guarded, .check = e->check};
	do {
		r = r ? r : write_level(e, c, put, ctx);
		ret->depth++;
	} while (!r && e->list.n > 1);
	if (!r && ret->depth > UNWIND_LEVELS)
		r = -E2BIG;
	if (r)
		*ret = (struct unwind_table){};
	else
		ret->root = e->list.v[0].rule;
	return r;
}

bool unwind_tree_is(const struct unwind_entries *e, unwind_get_fn *get, void *ctx)
{
	_cleanup_free_ struct unwind_chunk *c = calloc(2, sizeof(*c));
	bool same = c;

	for (size_t i = 0; same && i < e->list.n; i += UNWIND_FANOUT) {
		fill_chunk(&c[0], e, i);
		same = !get(ctx, i / UNWIND_FANOUT, &c[1]) && !memcmp(&c[0], &c[1], sizeof(*c));
	}
	return same;
}

void space_chunk_fill(struct space_chunk *c, const struct unwind_mapping *m, size_t n)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < SPACE_MAPPINGS; i++) {
		c->start[i] = i < n ? m[i].start : SPACE_UNUSED;
		if (i < n)
			c->map[i] = (struct space_mapping){
				.pages = (uint32_t)MIN((m[i].end - m[i].start) >> 12,
						       (uint64_t)UINT32_MAX),
				.table = m[i].table,
				.key = m[i].key};
	}
}
