/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores unwind tables in krait's own memory; see store.h. */
#include "dump/store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "unwind/rows/chunk.h"

int store_init(struct store *s)
{
	*s = (struct store){};
	if (vec_push(&s->tables, (struct unwind_table){}) ||
	    vec_push(&s->rules, (struct unwind_rule){.cfa = UNWIND_UNKNOWN}) ||
	    vec_push(&s->spaces, (struct unwind_space){}))
		return err_sys(-ENOMEM, "can't make unwind tables");
	return 0;
}

void store_fini(struct store *s)
{
	vec_foreach(chunk, &s->chunks)
		free(*chunk);
	vec_fini(&s->chunks);
	vec_fini(&s->tables);
	vec_fini(&s->rules);
	vec_fini(&s->spaces);
}

static struct unwind_chunk *add_chunk(struct store *s, uint32_t *number)
{
	struct unwind_chunk *c = calloc(1, sizeof(*c));

	if (!c || vec_push(&s->chunks, c)) {
		free(c);
		return NULL;
	}
	*number = (uint32_t)s->chunks.n - 1;
	return c;
}

int store_new_table(struct store *s, uint32_t *ret)
{
	*ret = (uint32_t)s->tables.n;
	return vec_push(&s->tables, (struct unwind_table){});
}

static int add_rows(void *ctx, const struct unwind_chunk *chunk, uint32_t *number)
{
	struct unwind_chunk *c = add_chunk(ctx, number);

	if (c)
		*c = *chunk;
	return c ? 0 : -ENOMEM;
}

/*
 * Adds the rules of @rows to this store. Rule i of @rows gets the number (*number)[i] in this
 * store.
 */
static int number_rules(struct store *s, const struct unwind_rows *rows, uint32_t **number)
{
	int r = 0;

	*number = calloc(rows->rules.n + 1, sizeof(**number));
	if (!*number)
		return -ENOMEM;
	for (size_t i = 0; !r && i < rows->rules.n; i++) {
		(*number)[i] = (uint32_t)s->rules.n;
		r = vec_push(&s->rules, rows->rules.v[i]);
	}
	return s->rules.n > UNWIND_RULE_MASK ? -E2BIG : r;
}

int store_fill(struct store *s, uint32_t table, const struct unwind_rows *rows,
	       const struct unwind_fde *eval, size_t n_eval)
{
	_cleanup_unwind_entries_ struct unwind_entries entries = {};
	_cleanup_free_ uint32_t *number = NULL;
	struct unwind_table t;
	int r = number_rules(s, rows, &number);

	r = r ? r : unwind_entries_make(rows, eval, n_eval, &entries);
	if (!r)
		unwind_entries_number(&entries, number);
	r = r ? r : unwind_tree_write(&entries, add_rows, s, &t);
	if (r)
		return err_sys(r, "there is no room for %zu rows of unwind tables", rows->rows.n);
	s->tables.v[table] = t;
	return 0;
}

int store_new_space(struct store *s, uint32_t *slot)
{
	*slot = (uint32_t)s->spaces.n;
	return vec_push(&s->spaces, (struct unwind_space){});
}

int store_set_space(struct store *s, uint32_t slot, const struct unwind_space *head,
		    const struct unwind_mapping *m, size_t n)
{
	struct unwind_space space = *head;

	n = MIN(n, (size_t)SPACE_CHUNKS * SPACE_MAPPINGS);
	for (size_t i = 0; i < n; i += SPACE_MAPPINGS) {
		void *c = add_chunk(s, &space.chunk[space.chunks]);

		if (!c)
			return err_sys(-ENOMEM, "mappings");
		space_chunk_fill(c, m + i, MIN(n - i, (size_t)SPACE_MAPPINGS));
		space.chunks++;
	}
	s->spaces.v[slot] = space;
	return 0;
}
