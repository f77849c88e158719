/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables: each has the unwind rows of one file, as a tree of chunks (4 KiB each). Files with the
 * same rows (copies of a library in several containers) share a tree. Trees that no sample has used
 * for long are dropped to make room for other trees.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/work/slice.h"
#include "sampler/unwind/internal.h"
#include "unwind/rows/chunk.h"

/*
 * 1/SPARE_SHARE of all chunks isn't used for tables, because the mappings of processes need chunks
 * as well
 */
#define SPARE_SHARE 16

int unwind_store_new_table(struct unwind_store *s, uint32_t *ret)
{
	_locked_ held = unwind_lock(s);

	if (held->free_tables.n) {
		*ret = held->free_tables.v[--held->free_tables.n];
		return 0;
	}
	if (held->tables.n >= UNWIND_MAX_TABLES)
		return err_set(-ENOSPC, "more than %d files have unwind tables", UNWIND_MAX_TABLES);
	*ret = s->tables.n;
	return vec_push(&s->tables, NULL);
}

static void unref(struct unwind_store *s, struct unwind_tree *tree)
{
	if (!tree || --tree->refs)
		return;
	vec_foreach(chunk, &tree->chunks)
		unwind_chunk_give_back(s, *chunk);
	vec_fini(&tree->chunks);
	free(tree);
}

void unwind_table_forget(struct unwind_store *s, uint32_t table)
{
	struct unwind_tree *tree = s->tables.v[table];

	s->tables.v[table] = NULL;
	unref(s, tree);
}

static int publish(struct unwind_store *s, uint32_t table)
{
	const struct unwind_tree *tree = s->tables.v[table];
	struct unwind_table entry = {};

	if (tree)
		entry = tree->table;
	entry.used = unwind_store_epoch();
	return unwind_put(s->maps.tables, table, &entry);
}

static void empty_table(struct unwind_store *s, uint32_t table)
{
	struct unwind_tree *tree = s->tables.v[table];

	s->tables.v[table] = NULL;
	(void)!publish(s, table);
	unref(s, tree);
}

void unwind_store_free_table(struct unwind_store *s, uint32_t table)
{
	_locked_ held = unwind_lock(s);

	empty_table(held, table);
	(void)!vec_push(&held->limbo_tables, table);
}

/*
 * Replaces the tree (unwind rows) of @table by @tree. The caller's reference to @tree becomes the
 * table's.
 */
static int set_tree(struct unwind_store *s, uint32_t table, struct unwind_tree *tree)
{
	struct unwind_tree *before = s->tables.v[table];
	int r;

	s->tables.v[table] = tree;
	r = publish(s, table);
	if (r)
		empty_table(s, table);
	unref(s, before);
	return r;
}

struct compared {
	const struct unwind_store *store;
	const struct unwind_tree *tree;
};

static int get_chunk(void *ctx, size_t i, struct unwind_chunk *c)
{
	const struct compared *in = ctx;

	return i < in->tree->chunks.n ? unwind_chunk_read(in->store, in->tree->chunks.v[i], c)
				      : -ENOENT;
}

/*
 * Has @tree the same unwind rows as @entries? Compares without the lock, because chunks in a tree
 * never change.
 */
static bool has_rows(struct unwind_store *s, const struct unwind_tree *tree,
		     const struct unwind_entries *entries)
{
	struct compared in = {s, tree};
	bool same;

	pthread_mutex_unlock(&s->lock);
	same = unwind_tree_is(entries, get_chunk, &in);
	pthread_mutex_lock(&s->lock);
	return same;
}

/*
 * Finds a tree with exactly the rows of @entries, and takes a reference to it; NULL: there is none.
 * The rows themselves are compared, because files with equal build ids may differ. Most trees
 * differ in their first chunk.
 */
static struct unwind_tree *find_same(struct unwind_store *s, const struct unwind_entries *entries)
{
	for (uint32_t i = 0; !entries->guarded && i < s->tables.n; i++) {
		struct unwind_tree *tree = s->tables.v[i];

		if (!tree || tree->entries != entries->list.n || tree->table.guarded)
			continue;
		tree->refs++;
		if (has_rows(s, tree, entries))
			return tree;
		unref(s, tree);
	}
	return NULL;
}

/*
 * May the rows of @tree stay in use until the rows of @entries replace them? The kernel program
 * reads the members of a table one after the other, so only .root may change between two of these
 * reads.
 */
static bool may_stay(const struct unwind_tree *tree, const struct unwind_entries *entries)
{
	return tree && !tree->table.guarded && !entries->guarded &&
	       tree->table.depth == unwind_tree_size(entries->list.n).depth;
}

/*
 * Sets the numbers of the rules in @entries, which were made from @rows. If @table's present rows
 * may stay in use until the new rows replace them, they count as just used, so that they aren't
 * dropped to make room.
 */
static int prepare(struct unwind_store *s, uint32_t table, const struct unwind_rows *rows,
		   struct unwind_entries *entries)
{
	_cleanup_free_ uint32_t *number = NULL;
	_locked_ held = unwind_lock(s);
	int r;

	if (may_stay(held->tables.v[table], entries))
		(void)!publish(held, table);
	else
		empty_table(held, table);
	r = unwind_number_rules(held, rows, &number);
	if (r)
		return err_sys(r, "there is no room for %zu unwind rules", rows->rules.n);
	unwind_entries_number(entries, number);
	return 0;
}

/*
 * Lets @table share the tree of another table with the same unwind rows. Returns 1 if it does, 0 if
 * there is no such table, or -errno.
 */
static int share(struct unwind_store *s, uint32_t table, const struct unwind_entries *entries)
{
	_locked_ held = unwind_lock(s);
	struct unwind_tree *tree = find_same(held, entries);
	int r = tree ? set_tree(held, table, tree) : 0;

	return r ? r : tree != NULL;
}

/*
 * Makes room for all @n entries of @table, or fails before anything is written. Some room stays for
 * mappings. Meanwhile the present rows of @table stay in use, unless their room is needed.
 */
static int make_room(struct unwind_store *s, uint32_t table, size_t n)
{
	_locked_ held = unwind_lock(s);
	size_t most = unwind_chunks_most(held), spare = most / SPARE_SHARE,
	       need = unwind_tree_size(n).chunks;

	if (need + spare > most)
		return err_set(-EFBIG, "the file's unwind tables take %zu MiB, more than %s allows",
			       (need * sizeof(struct unwind_chunk) >> 20) + 1,
			       limit_names.unwind_memory);
	if (unwind_make_room(held, need + spare))
		empty_table(held, table);
	if (unwind_make_room(held, need + spare))
		return err_set(-ENOSPC, "all of %s is in use", limit_names.unwind_memory);
	unwind_chunks_supply(held, UNWIND_KEEP_CHUNKS, need);
	return 0;
}

struct filling {
	struct unwind_store *store;
	struct unwind_tree *tree;
};

static int put_chunk(void *ctx, const struct unwind_chunk *c, uint32_t *number)
{
	struct filling *f = ctx;
	chunk_vec *chunks = &f->tree->chunks;
	int r = vec_reserve(chunks, chunks->n + 1);

	if (!r) {
		_locked_ held = unwind_lock(f->store);

		r = unwind_chunk_take(held, UNWIND_KEEP_CHUNKS, number);
	}
	if (r)
		return r;
	chunks->v[chunks->n++] = *number;
	return unwind_chunk_write(f->store, *number, c);
}

/* Writes @entries as the tree of @table. Afterwards @entries has no rows. */
static int write_tree(struct unwind_store *s, uint32_t table, struct unwind_entries *entries)
{
	struct filling f = {s, calloc(1, sizeof(*f.tree))};
	int r;

	if (!f.tree)
		return -ENOMEM;
	f.tree->refs = 1;
	f.tree->entries = entries->list.n;
	r = unwind_tree_write(entries, put_chunk, &f, &f.tree->table);
	_locked_ held = unwind_lock(s);
	if (!r)
		return set_tree(held, table, f.tree);
	unref(held, f.tree);
	return r;
}

static int fill(struct unwind_store *s, uint32_t table, const struct unwind_rows *rows,
		struct unwind_entries *entries)
{
	int r = prepare(s, table, rows, entries);

	if (r)
		return r;
	r = share(s, table, entries);
	if (r > 0)
		return 0;
	if (!r) {
		r = make_room(s, table, entries->list.n);
		if (r)
			return r;
		r = write_tree(s, table, entries);
	}
	return r ? err_sys(r, "can't write %zu rows of unwind tables", rows->rows.n) : 0;
}

int unwind_store_fill(struct unwind_store *s, uint32_t table, const struct unwind_rows *rows,
		      const struct unwind_fde *eval, size_t n_eval)
{
	_cleanup_unwind_entries_ struct unwind_entries entries = {};
	int r = unwind_entries_make(rows, eval, n_eval, &entries);

	r = r ? err_sys(r, "there is no room for %zu rows of unwind tables", rows->rows.n)
	      : fill(s, table, rows, &entries);
	if (r) {
		_locked_ held = unwind_lock(s);

		empty_table(held, table);
	}
	return r;
}

struct unused {
	uint32_t table;
	const struct unwind_tree *tree;
};

/*
 * Sorts tables: those unused for longest come first; tables that share a tree are next to each
 * other.
 */
static int longest_first(const void *a, const void *b)
{
	const struct unwind_tree *x = ((const struct unused *)a)->tree,
				 *y = ((const struct unused *)b)->tree;

	if (x->unused != y->unused)
		return x->unused < y->unused ? 1 : -1;
	return (x > y) - (x < y);
}

/*
 * Notes for how long each tree of unwind rows was unused. A tree is unused if all its tables are.
 */
static void note_unused(struct unwind_store *s)
{
	uint32_t now = unwind_store_epoch();

	vec_foreach(tree, &s->tables)
		if (*tree)
			(*tree)->unused = INT32_MAX;
	for (uint32_t i = 1; i < s->tables.n; i++) {
		struct unwind_tree *tree = s->tables.v[i];
		struct unwind_table t = {};
		int32_t seconds = 0;

		if (!tree)
			continue;
		if (!bpf_map_lookup_elem(s->maps.tables, &i, &t))
			seconds = (int32_t)(now - t.used);
		tree->unused = MIN(tree->unused, seconds);
	}
}

typedef VEC(struct unused) unused_vec;

/* Finds the tables that nothing needs at present. *@chunks: how many chunks of 4 KiB they have. */
static int find_unused(struct unwind_store *s, unused_vec *ret, size_t *chunks)
{
	const struct unwind_tree *counted = NULL;
	int r = 0;

	note_unused(s);
	for (uint32_t i = 1; !r && i < s->tables.n; i++) {
		const struct unwind_tree *tree = s->tables.v[i];

		if (tree && tree->unused >= UNWIND_KEEP_SECONDS)
			r = vec_push(ret, (struct unused){i, tree});
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), longest_first);
	*chunks = 0;
	vec_foreach(u, ret) {
		*chunks += u->tree != counted ? u->tree->chunks.n : 0;
		counted = u->tree;
	}
	return r;
}

int unwind_make_room(struct unwind_store *s, size_t need)
{
	unused_vec unused = {};
	size_t chunks;
	int r = 0;

	if (unwind_chunks_left(s) >= need)
		return 0;
	r = find_unused(s, &unused, &chunks);
	if (!r && unwind_chunks_left(s) + chunks < need)
		r = -ENOSPC;
	vec_foreach(u, &unused) {
		if (r || unwind_chunks_left(s) >= need)
			break;
		empty_table(s, u->table);
		r = vec_push(&s->given_up, u->table);
	}
	vec_fini(&unused);
	return r;
}

uint32_t unwind_store_given_up(struct unwind_store *s)
{
	_locked_ held = unwind_lock(s);

	return held->given_up.n ? held->given_up.v[--held->given_up.n] : 0;
}
