/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the tables that src/collect makes for reading stacks. In a recording, src/collect sends
 * them to the kernel programs. In a dump, code in user space uses them (walker.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "dump/internal.h"

static int add_layout(void *ctx, const struct py_layout *layout, uint16_t *index)
{
	struct dump *d = ctx;
	struct py_layout *l, new = *layout;
	int r;

	py_layout_set_block(&new);
	for (*index = 0; *index < d->layouts.n; ++*index)
		if (!memcmp(d->layouts.v[*index], &new, sizeof(new)))
			return 0;
	l = d->layouts.n < UINT16_MAX ? malloc(sizeof(*l)) : NULL;
	if (!l)
		return err_set(-ENOMEM, "out of memory for the layouts of interpreters");
	*l = new;
	r = vec_push(&d->layouts, l);
	if (r)
		free(l);
	return r;
}

const struct py_layout *dump_layout(void *ctx, uint16_t index)
{
	struct dump *d = ctx;

	return index < d->layouts.n ? d->layouts.v[index] : NULL;
}

static int set_proc(void *ctx, const struct proc_key *key, enum proc_state state,
		    const struct py_where *where, const struct image_place *place, uint32_t space)
{
	struct dump *d = ctx;

	if (where && d->found.n < 2)
		d->found = (struct proc_several){.n = 1, .where[0] = *where};
	vec_foreach(t, &d->targets)
		if (space && t->key.tgid == key->tgid)
			t->space = space;
	return 0;
}

static int set_several(void *ctx, const struct proc_several *several)
{
	((struct dump *)ctx)->found = *several;
	return 0;
}

static int add_exe(void *ctx, const struct exe_key *key, const struct exe_entry *entry)
{
	return 0;
}

static void ask_again(void *ctx, uint32_t tgid)
{
}

const struct collect_ops dump_collect_ops = {
	.add_layout = add_layout,
	.layout = dump_layout,
	.set_proc = set_proc,
	.set_several = set_several,
	.add_exe = add_exe,
	.ask_again = ask_again,
};

static int new_table(void *ctx, uint32_t *table)
{
	return store_new_table(&((struct dump *)ctx)->store, table);
}

static void free_table(void *ctx, uint32_t table)
{
}

static int fill(void *ctx, uint32_t table, const struct unwind_rows *rows,
		const struct unwind_fde *eval, size_t n_eval)
{
	return store_fill(&((struct dump *)ctx)->store, table, rows, eval, n_eval);
}

static uint32_t given_up(void *ctx)
{
	return 0;
}

static int new_space(void *ctx, uint32_t *slot)
{
	return store_new_space(&((struct dump *)ctx)->store, slot);
}

static void free_space(void *ctx, uint32_t slot)
{
}

static void read_space(void *ctx, uint32_t slot, bool begins)
{
}

static uint64_t unmaps(void *ctx, uint32_t slot)
{
	return 0;
}

static int set_space(void *ctx, uint32_t slot, const struct unwind_space *head,
		     const struct unwind_mapping *m, size_t n)
{
	return store_set_space(&((struct dump *)ctx)->store, slot, head, m, n);
}

static void allow_space(void *ctx, uint32_t slot, uint64_t at_unmaps)
{
}

const struct collect_unwind_ops dump_unwind_ops = {
	.new_table = new_table,
	.free_table = free_table,
	.fill = fill,
	.given_up = given_up,
	.new_space = new_space,
	.free_space = free_space,
	.read_space = read_space,
	.unmaps = unmaps,
	.set_space = set_space,
	.allow_space = allow_space,
};

static const struct unwind_chunk *chunk_at(void *ctx, uint32_t number)
{
	const struct store *s = &((struct dump *)ctx)->store;

	return number < s->chunks.n ? s->chunks.v[number] : NULL;
}

static struct unwind_table *table_at(void *ctx, uint32_t number)
{
	struct store *s = &((struct dump *)ctx)->store;

	return number < s->tables.n ? &s->tables.v[number] : NULL;
}

static const struct unwind_rule *rule_at(void *ctx, uint32_t number)
{
	const struct store *s = &((struct dump *)ctx)->store;

	return number < s->rules.n ? &s->rules.v[number] : NULL;
}

const struct walker_rows dump_rows = {.chunk = chunk_at, .table = table_at, .rule = rule_at};
