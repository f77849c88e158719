/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks, rules, tables and spaces in the kernel's maps; see unwind_store.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "elf/unwind_chunk.h"
#include "sampler/unwind_internal.h"

#define SPARE_SHARE 16 /* one in so many chunks isn't given to files: mappings need them */

static uint64_t rule_key(const struct unwind_rule *r)
{
	uint64_t word[2];

	memcpy(word, r, sizeof(word));
	return word[0] * 0x9e3779b97f4a7c15ull ^ (word[1] * 0xc2b2ae3d27d4eb4full >> 1) ^
	       word[1] << 1;
}

int unwind_store_open(struct unwind_store **ret, const struct unwind_store_maps *maps,
		      uint32_t slabs)
{
	struct unwind_store *s = calloc(1, sizeof(*s));
	const struct unwind_rule none = {};

	if (!s)
		return err_sys(-ENOMEM, "unwind tables");
	s->maps = *maps;
	s->max_slabs = slabs;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->supply, NULL);
	s->shared = mmap(NULL, UNWIND_MAX_SPACES * sizeof(*s->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, maps->spaces, 0);
	if (s->shared == MAP_FAILED) {
		free(s);
		return err_sys(-errno, "can't map the table of mappings");
	}
	/* Number 0 of each means "none"; rule 0 says nothing (UNWIND_UNKNOWN). */
	if (vec_reserve(&s->slabs, slabs) || vec_push(&s->tables, (struct table){}) ||
	    vec_push(&s->spaces, (struct space){}) || vec_push(&s->rules, none) ||
	    map_put(&s->rule_index, rule_key(&none), 0)) {
		unwind_store_close(s);
		return err_sys(-ENOMEM, "unwind tables");
	}
	*ret = s;
	return 0;
}

void unwind_store_close(struct unwind_store *s)
{
	if (!s)
		return;
	munmap(s->shared, UNWIND_MAX_SPACES * sizeof(*s->shared));
	vec_foreach(fd, &s->slabs)
		close(*fd);
	vec_foreach(t, &s->tables)
		vec_fini(&t->chunks);
	vec_fini(&s->slabs);
	vec_fini(&s->free);
	vec_fini(&s->limbo);
	vec_fini(&s->tables);
	vec_fini(&s->given_up);
	vec_fini(&s->free_tables);
	vec_fini(&s->limbo_tables);
	vec_fini(&s->spaces);
	vec_fini(&s->free_spaces);
	vec_fini(&s->rules);
	map_fini(&s->rule_index);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->supply);
	free(s);
}

/* The kernel's number of @rule. */
static int number_rule(struct unwind_store *s, const struct unwind_rule *rule, uint32_t *ret)
{
	uint64_t key = rule_key(rule), *known;
	int r;

	for (; (known = map_get(&s->rule_index, key)); key++) {
		if (memcmp(&s->rules.v[*known], rule, sizeof(*rule)))
			continue;
		*ret = *known;
		return 0;
	}
	if (s->rules.n >= UNWIND_MAX_KERNEL_RULES)
		return -ENOSPC;
	*ret = s->rules.n;
	r = unwind_put(s->maps.rules, *ret, rule);
	r = r ? r : map_put(&s->rule_index, key, *ret);
	return r ? r : vec_push(&s->rules, *rule);
}

static int number_rules(struct unwind_store *s, const struct unwind_rows *rows, uint32_t **ret)
{
	_cleanup_free_ uint32_t *number = calloc(rows->rules.n + 1, sizeof(*number));
	int r = number ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < rows->rules.n; i++)
		r = number_rule(s, &rows->rules.v[i], &number[i]);
	if (!r)
		*ret = TAKE_PTR(number);
	return r;
}

int unwind_store_new_table(struct unwind_store *s, uint32_t *ret)
{
	_locked_ held = unwind_lock(s);

	if (held->free_tables.n) {
		*ret = held->free_tables.v[--held->free_tables.n];
		return 0;
	}
	if (held->tables.n >= UNWIND_MAX_TABLES)
		return err_set(-ENOSPC, "more than %d files with unwind tables", UNWIND_MAX_TABLES);
	*ret = s->tables.n;
	return vec_push(&s->tables, (struct table){});
}

struct filling {
	struct unwind_store *store;
	chunk_vec chunks;
};

static int put_chunk(void *ctx, const struct unwind_chunk *c, uint32_t *number)
{
	struct filling *f = ctx;
	int r = vec_reserve(&f->chunks, f->chunks.n + 1);

	if (!r) {
		_locked_ held = unwind_lock(f->store);

		r = unwind_chunk_take(held, UNWIND_KEEP_CHUNKS, number);
	}
	if (r)
		return r;
	f->chunks.v[f->chunks.n++] = *number;
	return unwind_chunk_write(f->store, *number, c);
}

static int publish(struct unwind_store *s, uint32_t table)
{
	struct unwind_table entry = s->tables.v[table].tree;

	entry.used = unwind_store_epoch();
	return unwind_put(s->maps.tables, table, &entry);
}

/* Room for all @n entries, or nothing is begun. Some stays for mappings. */
static int room_for(struct unwind_store *s, size_t n)
{
	size_t most = unwind_chunks_most(s), spare = most / SPARE_SHARE,
	       need = unwind_tree_chunks(n);

	if (need + spare > most)
		return err_set(-EFBIG,
			       "its unwind tables take %zu MiB; --unwind-memory is less than that "
			       "and what else is needed",
			       (need * sizeof(struct unwind_chunk) >> 20) + 1);
	if (unwind_make_room(s, need + spare))
		return err_set(-ENOSPC, "all of --unwind-memory is in use");
	return 0;
}

static void give_back(struct unwind_store *s, chunk_vec *chunks)
{
	vec_foreach(chunk, chunks)
		unwind_chunk_give_back(s, *chunk);
	vec_fini(chunks);
}

static void empty_table(struct unwind_store *s, uint32_t table)
{
	struct table *t = &s->tables.v[table];

	t->tree = (struct unwind_table){};
	(void)!publish(s, table);
	give_back(s, &t->chunks);
}

void unwind_store_free_table(struct unwind_store *s, uint32_t table)
{
	_locked_ held = unwind_lock(s);

	empty_table(held, table);
	(void)!vec_push(&held->limbo_tables, table);
}

/* Empties @table, gives @rows->rules their numbers and makes room. */
static int prepare(struct unwind_store *s, uint32_t table, const struct unwind_rows *rows,
		   size_t n_entries, uint32_t **number)
{
	_locked_ held = unwind_lock(s);
	int r;

	empty_table(held, table);
	r = number_rules(held, rows, number);
	if (r)
		return err_sys(r, "no room for %zu unwind rules", rows->rules.n);
	r = room_for(held, n_entries);
	if (!r)
		unwind_chunks_supply(held, UNWIND_KEEP_CHUNKS, unwind_tree_chunks(n_entries));
	return r;
}

/* What was written is @table's from now on; if that failed it is given back. */
static int finish(struct filling *f, uint32_t table, const struct unwind_table *tree, int r)
{
	_locked_ s = unwind_lock(f->store);
	struct table *t = &s->tables.v[table];

	if (r) {
		give_back(s, &f->chunks);
		return r;
	}
	*t = (struct table){.tree = *tree, .chunks = f->chunks};
	r = publish(s, table);
	if (r)
		empty_table(s, table);
	return r;
}

int unwind_store_fill(struct unwind_store *s, uint32_t table, const struct unwind_rows *rows,
		      const struct unwind_fde *eval, size_t n_eval)
{
	_cleanup_unwind_entries_ struct unwind_entries entries = {};
	_cleanup_free_ uint32_t *number = NULL;
	struct filling f = {.store = s};
	struct unwind_table tree;
	int r = unwind_entries_make(rows, eval, n_eval, &entries);

	if (r)
		return err_sys(r, "no room for %zu rows of unwind tables", rows->rows.n);
	r = prepare(s, table, rows, entries.list.n, &number);
	if (r)
		return r;
	r = unwind_tree_write(&entries, number, put_chunk, &f, &tree);
	r = finish(&f, table, &tree, r);
	return r ? err_sys(r, "can't write %zu rows of unwind tables", rows->rows.n) : 0;
}

uint32_t unwind_store_epoch(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

struct unused {
	uint32_t table, seconds;
};

static int longest_first(const void *a, const void *b)
{
	const struct unused *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

typedef VEC(struct unused) unused_vec;

/* Tables that nothing needs now; *chunks: how much is in them. */
static int find_unused(const struct unwind_store *s, unused_vec *ret, size_t *chunks)
{
	uint32_t now = unwind_store_epoch();
	int r = 0;

	*chunks = 0;
	for (uint32_t i = 1; !r && i < s->tables.n; i++) {
		struct unwind_table t = {};

		if (!s->tables.v[i].chunks.n || bpf_map_lookup_elem(s->maps.tables, &i, &t) ||
		    (int32_t)(now - t.used) < UNWIND_KEEP_SECONDS)
			continue;
		*chunks += s->tables.v[i].chunks.n;
		r = vec_push(ret, (struct unused){i, now - t.used});
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), longest_first);
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
