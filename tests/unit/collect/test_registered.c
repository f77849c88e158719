/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks with code made at run time: what krait remembers of them. Also: which processes' mappings
 * krait reads again after it lost events of perf's side band.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "collect/internal.h"

#define NAMED 11u
#define PLAIN 7u

static const struct collect_unwind_ops unwind;

struct fixture {
	struct profile *profile;
	struct collect *c;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct collect_config config = {.kallsyms = -1, .n_sources = 1, .unwind = &unwind};

	if (!f)
		return -1;
	f->profile = config.profile = profile_new();
	f->c = collect_new(&config);
	*state = f;
	return f->c ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	collect_free(f->c);
	profile_free(f->profile);
	free(f);
	return 0;
}

/*
 * A stack was sampled with mappings that krait has forgotten. Its samples then get the same stack
 * without the code made at run time, and that stack's outcome (how its unwinding ended).
 */
static void test_outcome_of_the_plain_stack(void **state)
{
	struct fixture *f = *state;
	struct raw_native native = {.version = 0xfffffff, .outcome = NATIVE_WHOLE};
	struct waiting w = {.flush = f->c->flushes - 1};
	uint8_t got = NATIVE_WHOLE;

	for (unsigned outcome = 0; outcome < NATIVE_OUTCOME_MAX; outcome++) {
		struct raw_stack raw = {.id = 100 + outcome, .native = &native};

		assert_int_equal(dated_note(f->c, &raw, PLAIN, outcome, outcome & 1), 0);
		w.rec.stack = raw.id;
		assert_int_equal(dated_stack(f->c, &w, NAMED, &got), PLAIN);
		assert_int_equal(got, outcome);
	}
	w.rec.stack = 1; /* krait has noted nothing about this stack */
	got = NATIVE_LEAF;
	assert_int_equal(dated_stack(f->c, &w, NAMED, &got), NAMED);
	assert_int_equal(got, NATIVE_LEAF);
}

/*
 * If events of perf's side band were lost, krait doesn't know which memory became executable
 * meanwhile. So it reads again the mappings of processes with code made at run time, and of no
 * other processes.
 */
static void test_lost_events(void **state)
{
	const struct proc_key with = {.start_ns = 1, .tgid = 0x7ffffff0},
			      without = {.start_ns = 2, .tgid = 0x7ffffff1};
	struct fixture *f = *state;
	long a = process_of(f->c, &with), b = process_of(f->c, &without);

	assert_true(a >= 0 && b >= 0);
	process_at(f->c, a)->state = process_at(f->c, b)->state = PROC_PYTHON;
	process_at(f->c, a)->made->registered.wanted = true;
	collect_look_again(f->c);
	assert_int_equal(process_at(f->c, a)->space_stale, SPACE_GROWN);
	assert_int_equal(process_at(f->c, b)->space_stale, SPACE_FRESH);
}

/* If what was read of run-time code takes too much memory, only the oldest reading is freed. */
static void test_memory(void **state)
{
	const struct proc_key keys[] = {{.start_ns = 1, .tgid = 0x7ffffff0},
					{.start_ns = 2, .tgid = 0x7ffffff1}};
	struct fixture *f = *state;
	struct process *p[2];
	long i[2];

	for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
		i[k] = process_of(f->c, &keys[k]);
	for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
		p[k] = process_at(f->c, i[k]);
		assert_int_equal(vec_reserve(&p[k]->made->registered.readings[k].rows.rows,
					     ((size_t)2 << 20) / sizeof(struct unwind_row)),
				 0);
		p[k]->made->registered.read_at = 9 - (uint32_t)k;
	}
	f->c->config.max_bytes = 16 << 20; /* names may take half of max_bytes */
	memory_keep_to(f->c);
	assert_in_range(collect_kept_bytes(f->c), 4 << 20, 8 << 20);
	f->c->config.max_bytes = 8 << 20;
	memory_keep_to(f->c);
	assert_in_range(collect_kept_bytes(f->c), 2 << 20, 4 << 20);
	assert_true(made_bytes(p[0]) > 0);
	assert_int_equal(made_bytes(p[1]), 0);
	assert_true(p[1]->made->registered.due_ns > 0);
	assert_int_equal(f->c->stats.names_given_up, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_outcome_of_the_plain_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
