/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables in the kernel's maps, with a small limit on memory. The test reads the maps through
 * their descriptors, and compares them with what it stored. In place of the kernel program, the
 * test itself notes when a table was last used. Needs the right to make BPF maps.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <cmocka.h>
#include <unistd.h>

#include "base/error.h"
#include "base/work/slice.h"
#include "sampler/unwind/store.h"

/* 512 chunks of 4 KiB; 32 of them are kept for mappings, and files can't use them */
#define SLABS 1
/* number of unwind rows that fill 120 chunks, and need one more chunk above these in the tree */
#define SMALL (120 * UNWIND_FANOUT)

static struct unwind_store_maps maps;
static struct unwind_store *store;

static int make(enum bpf_map_type type, uint32_t value, uint32_t n, uint32_t flags, int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags, .inner_map_fd = inner);

	return bpf_map_create(type, "test", sizeof(uint32_t), value, n, &opts);
}

static int set_up(void **state)
{
	int slab = make(BPF_MAP_TYPE_ARRAY, sizeof(struct unwind_chunk), UNWIND_SLAB_CHUNKS, 0, 0);

	if (slab < 0)
		return 0; /* without the right to make BPF maps, each test is skipped */
	maps.slabs = make(BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(uint32_t), SLABS, 0, slab);
	maps.tables =
		make(BPF_MAP_TYPE_ARRAY, sizeof(struct unwind_table), UNWIND_MAX_TABLES, 0, 0);
	maps.rules = make(BPF_MAP_TYPE_ARRAY, sizeof(struct unwind_rule), 64, 0, 0);
	maps.spaces = make(BPF_MAP_TYPE_ARRAY, sizeof(struct unwind_space), UNWIND_MAX_SPACES,
			   BPF_F_MMAPABLE, 0);
	close(slab);
	return unwind_store_open(&store, &maps, SLABS);
}

static int tear_down(void **state)
{
	if (!store)
		return 0;
	unwind_store_close(store);
	store = NULL;
	close(maps.slabs);
	close(maps.tables);
	close(maps.rules);
	close(maps.spaces);
	return 0;
}

static void need_store(void)
{
	if (!store) {
		print_message("SKIP: no right to make BPF maps\n");
		skip();
	}
}

/*
 * Returns the key (code offset) of row @i of @n. Keys are 16 apart. Only the last one also depends
 * on @kind.
 */
static uint32_t key_of(uint32_t kind, size_t i, size_t n)
{
	return (uint32_t)(16 * i + (i + 1 == n ? kind % 16 : 0));
}

/*
 * Fills the table with @n rows, which use two rules in turn. @kind changes the key of the last row.
 */
static int fill_like(uint32_t table, uint32_t kind, size_t n)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	int r = vec_push(&rows.rules, (struct unwind_rule){}) ||
		vec_push(&rows.rules, (struct unwind_rule){.cfa = UNWIND_REG, .reg = 7, .off = 8});

	for (uint32_t i = 0; !r && i < n; i++)
		r = vec_push(&rows.rows, (struct unwind_row){key_of(kind, i, n), (i + 1) & 1});
	assert_int_equal(r, 0);
	return unwind_store_fill(store, table, &rows, NULL, 0);
}

/* Fills the table with rows that differ from those of the fifteen tables before it. */
static int fill(uint32_t table, size_t n)
{
	return fill_like(table, table, n);
}

static uint32_t new_table(void)
{
	uint32_t table = 0;

	assert_int_equal(unwind_store_new_table(store, &table), 0);
	return table;
}

static struct unwind_table entry(uint32_t table)
{
	struct unwind_table t = {};

	assert_int_equal(bpf_map_lookup_elem(maps.tables, &table, &t), 0);
	return t;
}

/* Notes that the table was last used @seconds_ago, as the kernel program does. */
static void looked_into(uint32_t table, uint32_t seconds_ago)
{
	struct unwind_table t = entry(table);

	t.used = unwind_store_epoch() - seconds_ago;
	assert_int_equal(bpf_map_update_elem(maps.tables, &table, &t, BPF_ANY), 0);
}

static struct unwind_chunk chunk_at(uint32_t number)
{
	uint32_t slab = number / UNWIND_SLAB_CHUNKS, i = number % UNWIND_SLAB_CHUNKS, id = 0;
	struct unwind_chunk c;
	int fd;

	assert_int_equal(bpf_map_lookup_elem(maps.slabs, &slab, &id), 0);
	fd = bpf_map_get_fd_by_id(id);
	assert_true(fd >= 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &i, &c), 0);
	close(fd);
	return c;
}

/*
 * Checks that the table has the @n rows that fill_like() stored, and that its chunks form a tree of
 * depth 2.
 */
static void check_like(uint32_t table, uint32_t kind, uint32_t n)
{
	struct unwind_table t = entry(table);
	struct unwind_chunk root = chunk_at(t.root);

	assert_int_equal(t.depth, 2);
	for (uint32_t i = 0; i < n; i += UNWIND_FANOUT) {
		struct unwind_chunk c = chunk_at(root.value[i / UNWIND_FANOUT]);

		assert_int_equal(root.key[i / UNWIND_FANOUT], 16 * i);
		for (uint32_t j = 0; j < UNWIND_FANOUT && i + j < n; j++) {
			assert_int_equal(c.key[j], key_of(kind, i + j, n));
			assert_int_equal(c.value[j], (i + j + 1) & 1);
		}
	}
}

static void check(uint32_t table, uint32_t n)
{
	check_like(table, table, n);
}

static void test_least_recently_used(void **state)
{
	uint32_t t[4];

	need_store();
	for (size_t i = 0; i < 4; i++)
		t[i] = new_table();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fill(t[i], SMALL), 0);
	looked_into(t[0], UNWIND_KEEP_SECONDS + 5);
	looked_into(t[1], UNWIND_KEEP_SECONDS + 50);
	looked_into(t[2], 1);
	assert_int_equal(fill(t[3], SMALL), 0);
	assert_int_equal(unwind_store_given_up(store), t[1]);
	assert_int_equal(unwind_store_given_up(store), 0);
	assert_int_equal(entry(t[1]).depth, 0);
	check(t[0], SMALL);
	check(t[2], SMALL);
	check(t[3], SMALL);
	/* a table that was given up (freed for lack of room) is needed again, and filled */
	assert_int_equal(fill(t[1], SMALL), 0);
	assert_int_equal(unwind_store_given_up(store), t[0]);
	check(t[1], SMALL);
	check(t[2], SMALL);
}

/*
 * A freed table's number is used for another table only when no kernel program can still use the
 * number.
 */
static void test_freed_tables(void **state)
{
	uint32_t first, t, most = 0;
	bool again = false;

	need_store();
	first = new_table();
	assert_int_equal(fill(first, UNWIND_FANOUT), 0);
	unwind_store_free_table(store, first);
	assert_int_equal(entry(first).depth, 0);
	assert_int_not_equal(new_table(), first);
	for (int i = 0; i < 4096; i++) {
		t = new_table();
		assert_int_equal(entry(t).depth, 0);
		assert_int_equal(fill(t, 2 * UNWIND_FANOUT), 0);
		check(t, 2 * UNWIND_FANOUT);
		unwind_store_free_table(store, t);
		again |= t == first;
		most = MAX(most, t);
	}
	assert_true(again);
	assert_in_range(most, 1, 4 * UNWIND_SLAB_CHUNKS);
}

static void test_in_use_stays(void **state)
{
	uint32_t t[4];

	need_store();
	for (size_t i = 0; i < 4; i++)
		t[i] = new_table();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fill(t[i], SMALL), 0);
	/* giving up this table wouldn't free enough room */
	looked_into(t[1], UNWIND_KEEP_SECONDS + 5);
	assert_int_equal(fill(t[3], 2 * SMALL), -ENOSPC);
	assert_int_equal(unwind_store_given_up(store), 0);
	for (size_t i = 0; i < 3; i++)
		check(t[i], SMALL);
	assert_int_equal(entry(t[3]).depth, 0);
	assert_int_equal(fill(t[3], 5 * SMALL), -EFBIG);
	assert_non_null(strstr(err_msg(), limit_names.unwind_memory));
	assert_true(unwind_store_bytes(store) <=
		    SLABS * UNWIND_SLAB_CHUNKS * sizeof(struct unwind_chunk));
}

/*
 * Mappings may use chunks that files may not use. When these chunks are used up as well, a table
 * that wasn't used for long is given up (freed).
 */
static void test_mappings(void **state)
{
	struct unwind_mapping m[SPACE_MAPPINGS * SPACE_CHUNKS] = {};
	struct unwind_space head = {.version = 1};
	uint32_t t, slot;

	need_store();
	t = new_table();
	for (uint32_t i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = (struct unwind_mapping){(uint64_t)i << 20, ((uint64_t)i << 20) + 4096, t, 0};
	assert_int_equal(fill(t, 470 * UNWIND_FANOUT), 0);
	for (head.version = 1; head.version <= 12; head.version++) {
		assert_int_equal(unwind_store_new_space(store, &slot), 0);
		if (head.version == 3) {
			assert_int_equal(
				unwind_store_set_space(store, slot, &head, m, ARRAY_SIZE(m)),
				-ENOSPC);
			looked_into(t, UNWIND_KEEP_SECONDS + 1);
		}
		assert_int_equal(unwind_store_set_space(store, slot, &head, m, ARRAY_SIZE(m)), 0);
	}
	assert_int_equal(unwind_store_given_up(store), t);
	assert_int_equal(entry(t).depth, 0);
}

/* Mappings take no more memory, however often they are read again. */
static void test_readings(void **state)
{
	struct unwind_mapping m[SPACE_MAPPINGS * SPACE_CHUNKS] = {};
	struct unwind_space head = {};
	uint32_t slot;
	size_t bytes;

	need_store();
	for (uint32_t i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = (struct unwind_mapping){(uint64_t)i << 20, ((uint64_t)i << 20) + 4096};
	assert_int_equal(unwind_store_new_space(store, &slot), 0);
	assert_int_equal(unwind_store_set_space(store, slot, &head, m, ARRAY_SIZE(m)), 0);
	bytes = unwind_store_bytes(store);
	for (head.version = 1; head.version <= 2 * UNWIND_SLAB_CHUNKS / SPACE_CHUNKS;
	     head.version++)
		assert_int_equal(unwind_store_set_space(store, slot, &head, m, ARRAY_SIZE(m)), 0);
	assert_int_equal(unwind_store_bytes(store), bytes);
}

/*
 * Returns the number of the rule that krait finds for @key in the table when it unwinds in user
 * space.
 */
static uint32_t walked(uint32_t table, uint32_t key)
{
	const struct unwind_table *t = unwind_store_table(store, table);
	uint32_t number = t->root;

	for (uint32_t level = 0; level < t->depth; level++) {
		const struct unwind_chunk *c = unwind_store_chunk(store, number);
		size_t i = 0;

		assert_non_null(c);
		while (i + 1 < UNWIND_FANOUT && c->key[i + 1] <= key)
			i++;
		number = c->value[i];
	}
	return number;
}

/* When krait unwinds in user space, it finds in the store exactly what was stored. */
static void test_read_for_walks(void **state)
{
	struct unwind_mapping m = {.start = 0x400000, .end = 0x401000};
	struct unwind_space head = {.version = 3, .owner_tgid = 7}, space;
	uint32_t table, empty, slot;

	need_store();
	table = new_table();
	empty = new_table();
	m.table = table;
	assert_int_equal(fill(table, SMALL), 0);
	assert_int_equal(unwind_store_new_space(store, &slot), 0);
	assert_int_equal(unwind_store_set_space(store, slot, &head, &m, 1), 0);
	assert_true(unwind_store_begin_reading(store));
	for (uint32_t i = 0; i + 1 < SMALL; i += 777)
		assert_int_equal(walked(table, key_of(table, i, SMALL) + 3), (i + 1) & 1);
	assert_int_equal(unwind_store_rule(store, 1)->cfa, UNWIND_REG);
	assert_null(unwind_store_rule(store, 64));
	assert_null(unwind_store_table(store, empty));
	assert_null(unwind_store_table(store, UNWIND_MAX_TABLES));
	assert_null(unwind_store_chunk(store, SLABS * UNWIND_SLAB_CHUNKS));
	assert_true(unwind_store_space(store, slot, 7, &space));
	assert_int_equal(
		((const struct space_chunk *)unwind_store_chunk(store, space.chunk[0]))->start[0],
		m.start);
	assert_false(unwind_store_space(store, slot, 8, &space));
	assert_false(unwind_store_space(store, 0, 7, &space));
	assert_false(unwind_store_space(store, UNWIND_MAX_SPACES, 7, &space));
	unwind_store_end_reading(store);
}

/* Tables are freed and filled again in turn. No chunk is lost. */
static void test_round(void **state)
{
	uint32_t t[3];

	need_store();
	for (size_t i = 0; i < 3; i++)
		t[i] = new_table();
	for (size_t i = 0; i < 60; i++) {
		assert_int_equal(fill(t[i % 3], 2 * SMALL - i * UNWIND_FANOUT), 0);
		check(t[i % 3], 2 * SMALL - i * UNWIND_FANOUT);
		looked_into(t[i % 3], UNWIND_KEEP_SECONDS + 60 - i % 60);
	}
}

/*
 * Twenty tables with equal rows share the memory of one. The memory stays until all of them are
 * freed, or until it is taken back because none was used for long.
 */
static void test_copies(void **state)
{
	uint32_t t[20], other;

	need_store();
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		t[i] = new_table();
		assert_int_equal(fill_like(t[i], 1, SMALL), 0);
		assert_int_equal(entry(t[i]).root, entry(t[0]).root);
	}
	other = new_table();
	/* this table has as many rows as the others; only its last row differs */
	assert_int_equal(fill_like(other, 2, SMALL), 0);
	assert_int_not_equal(entry(other).root, entry(t[0]).root);
	assert_int_equal(unwind_store_given_up(store), 0);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(t); i++)
		unwind_store_free_table(store, t[i]);
	check_like(t[19], 1, SMALL);
	check_like(other, 2, SMALL);

	t[0] = new_table();
	assert_int_equal(fill_like(t[0], 1, SMALL), 0);
	looked_into(t[19], UNWIND_KEEP_SECONDS + 5);
	t[1] = new_table();
	/* t[0] was used lately, so it isn't given up for lack of room */
	assert_int_equal(fill_like(t[1], 3, 2 * SMALL), -ENOSPC);
	check_like(t[19], 1, SMALL);
	looked_into(t[0], UNWIND_KEEP_SECONDS + 5);
	assert_int_equal(fill_like(t[1], 3, 2 * SMALL), 0);
	assert_int_equal(entry(t[0]).depth + entry(t[19]).depth, 0);
	assert_int_equal(unwind_store_given_up(store) + unwind_store_given_up(store), t[0] + t[19]);
	check_like(t[1], 3, 2 * SMALL);
	check_like(other, 2, SMALL);
}

static void *fill_often(void *arg)
{
	const uint32_t *t = arg;

	for (size_t i = 0; i < 40; i++)
		if (fill(t[i & 1], SMALL))
			return arg;
	return NULL;
}

/*
 * One thread fills tables while another thread sets mappings. They must never use the same chunks.
 */
static void test_beside(void **state)
{
	struct unwind_mapping m[SPACE_MAPPINGS] = {};
	struct unwind_space head = {};
	const struct space_chunk *mappings;
	struct unwind_chunk c;
	uint32_t t[2], slot;
	pthread_t thread;
	void *failed;

	need_store();
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = new_table();
	for (uint32_t i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = (struct unwind_mapping){(uint64_t)i << 20, ((uint64_t)i << 20) + 4096, 7, i};
	assert_int_equal(unwind_store_new_space(store, &slot), 0);
	assert_int_equal(pthread_create(&thread, NULL, fill_often, t), 0);
	for (head.version = 1; head.version < 2000; head.version++)
		assert_int_equal(unwind_store_set_space(store, slot, &head, m, ARRAY_SIZE(m)), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(bpf_map_lookup_elem(maps.spaces, &slot, &head), 0);
	c = chunk_at(head.chunk[0]);
	mappings = (struct space_chunk *)&c;
	for (uint32_t i = 0; i < ARRAY_SIZE(m); i++) {
		assert_int_equal(mappings->start[i], m[i].start);
		assert_int_equal(mappings->map[i].key, i);
	}
	check(t[0], SMALL);
	check(t[1], SMALL);
}

struct watched {
	uint32_t table;
	atomic_bool over;
	unsigned empty; /* how often the table was seen without unwind rows */
};

static void *watch(void *arg)
{
	struct unwind_table t;
	struct watched *w = arg;

	while (!w->over)
		w->empty += bpf_map_lookup_elem(maps.tables, &w->table, &t) || !t.depth;
	return NULL;
}

/*
 * While a table gets more rows, it is never seen without rows: stacks would break off. Only if
 * there isn't room for the old and the new rows, the old ones are freed first.
 */
static void test_filled_again(void **state)
{
	struct watched w = {};
	pthread_t thread;

	need_store();
	w.table = new_table();
	assert_int_equal(fill_like(w.table, 1, SMALL), 0);
	looked_into(w.table, UNWIND_KEEP_SECONDS + 5);
	assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(fill_like(w.table, i % 3, SMALL), 0);
	w.over = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w.empty, 0);
	check_like(w.table, 0, SMALL);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(fill_like(w.table, i, 3 * SMALL), 0);
		check_like(w.table, i, 3 * SMALL);
	}
	assert_int_equal(fill(w.table, 100), 0); /* makes the tree's depth another one */
	assert_int_equal(fill(w.table, SMALL), 0);
	check(w.table, SMALL);
	assert_int_equal(unwind_store_given_up(store), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_least_recently_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_freed_tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_in_use_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mappings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_readings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_read_for_walks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_copies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_beside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_filled_again, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
