/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the table of who waited for whom for the GIL, with made-up waits and holders. The right
 * sums come from comparing each wait with each holder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "view/waits/gil.h"

#define MS	((int64_t)NSEC_PER_MSEC)
#define THREADS 8
#define BUCKET	(10 * MS)

enum value { CPU, OFF, WAIT, BLAME, VALUES };

static struct profile *p;

static int setup(void **state)
{
	static const char *const types[VALUES] = {"cpu", "off_cpu", "gil_wait", "gil_blame"};
	struct profile_meta *m;

	p = profile_new();
	m = profile_meta(p);
	for (m->n_values = 0; m->n_values < VALUES; m->n_values++)
		m->values[m->n_values] =
			(struct profile_value_type){types[m->n_values], "nanoseconds"};
	return 0;
}

static int teardown(void **state)
{
	profile_free(p);
	return 0;
}

/*
 * Returns labels of thread number @thread, in one of two processes. Threads 0 and 1 have the same
 * name.
 */
static uint32_t who(unsigned thread)
{
	char tid[16], name[16];

	snprintf(tid, sizeof(tid), "%u", thread);
	snprintf(name, sizeof(name), "t%u", MAX(thread, 1u));
	return profile_labels(
		p,
		(struct profile_label[]){
			{profile_string(p, "pid"), profile_string(p, thread % 2 ? "7" : "8")},
			{profile_string(p, "tid"), profile_string(p, tid)},
			{profile_string(p, "thread"), profile_string(p, name)}},
		3);
}

struct made {
	unsigned thread;
	int64_t time, wait, blame, off;
};

static void add(struct gil_pairs *g, const struct made *m)
{
	struct profile_sample s = {.labels = who(m->thread), .time_ns = m->time};

	s.values[OFF] = m->off;
	s.values[WAIT] = m->wait;
	s.values[BLAME] = m->blame;
	assert_int_equal(gil_pairs_add(g, &s), 0);
}

static int64_t overlap(const struct made *w, const struct made *h)
{
	int64_t begin = h->time - h->time % BUCKET, end = begin + MAX(h->off, BUCKET);
	int64_t from = MAX(w->time, begin), to = MIN(w->time + w->wait, end);

	return w->thread == h->thread || w->thread % 2 != h->thread % 2
		       ? 0
		       : MAX(to - from, (int64_t)0);
}

/*
 * Divides the time for which @h, a holder of the GIL, is blamed among the threads that waited
 * meanwhile: truth[waiter][holder]. If no thread waited, it goes to truth[THREADS][holder].
 */
static void divide(const struct made *v, size_t n, const struct made *h,
		   double truth[THREADS + 1][THREADS])
{
	double whole = 0;

	for (size_t i = 0; i < n; i++)
		whole += (double)overlap(&v[i], h);
	if (whole <= 0)
		truth[THREADS][h->thread] += (double)h->blame;
	for (size_t i = 0; whole > 0 && i < n; i++)
		truth[v[i].thread][h->thread] +=
			(double)h->blame * (double)overlap(&v[i], h) / whole;
}

static unsigned number_of(const struct gil_thread *t)
{
	return (unsigned)strtoul(profile_label_text(p, t->labels, "tid"), NULL, 10);
}

static void expect_cell(const struct gil_pairs *g, size_t row, size_t column, double truth)
{
	int64_t ns = gil_pairs_cell(g, row, column);

	if (ns < (int64_t)truth - 1000 || ns > (int64_t)truth + 1000)
		fail_msg("row %zu, column %zu: %lld ns, not %.0f", row, column, (long long)ns,
			 truth);
}

/*
 * With 2,000 waits and holders of eight threads, the table equals the comparison of each wait with
 * each holder.
 */
static void test_as_compared(void **state)
{
	_cleanup_(gil_pairs_fini) struct gil_pairs g;
	static double truth[THREADS + 1][THREADS];
	static struct made v[2000];
	double waited[THREADS] = {};

	srand(1);
	assert_true(gil_pairs_init(&g, p));
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		bool waits = rand() % 2, asleep = !(rand() % 8);

		v[i] = (struct made){.thread = (unsigned)rand() % THREADS,
				     .time = rand() % 1000 * MS,
				     .wait = waits ? (rand() % 30 + 1) * MS : 0,
				     .blame = waits ? 0 : (rand() % 5 + 1) * MS,
				     .off = !waits && asleep ? rand() % 300 * MS : 0};
		add(&g, &v[i]);
		waited[v[i].thread] += (double)v[i].wait;
	}
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (v[i].blame)
			divide(v, ARRAY_SIZE(v), &v[i], truth);
	assert_int_equal(gil_pairs_make(&g, 10, 10), 0);
	assert_int_equal(g.rows.n, THREADS);
	assert_int_equal(g.columns.n, THREADS);
	for (size_t column = 1; column <= THREADS; column++) {
		unsigned holder = number_of(gil_pairs_holder(&g, column));

		for (size_t row = 1; row <= THREADS; row++)
			expect_cell(&g, row, column,
				    truth[number_of(gil_pairs_waiter(&g, row))][holder]);
		expect_cell(&g, 0, column, truth[THREADS][holder]);
	}
	for (size_t row = 1; row <= THREADS; row++) {
		const struct gil_thread *t = gil_pairs_waiter(&g, row);

		assert_int_equal(t->waited, (int64_t)waited[number_of(t)]);
		assert_true(row == 1 || t->waited <= gil_pairs_waiter(&g, row - 1)->waited);
	}
}

/*
 * Threads without a row or column of their own are summed up in the last row or column, and nothing
 * is lost.
 */
static void test_others(void **state)
{
	_cleanup_(gil_pairs_fini) struct gil_pairs g;
	int64_t sum = 0;

	assert_true(gil_pairs_init(&g, p));
	for (unsigned i = 0; i < THREADS; i++) {
		/* thread number i waits from 0 to (10 + i) ms, and is blamed for 1 ms from 0 on */
		add(&g, &(struct made){.thread = 2 * i, .wait = (10 + i) * MS});
		add(&g, &(struct made){.thread = 2 * i, .blame = MS});
	}
	assert_int_equal(gil_pairs_make(&g, 2, 2), 0);
	assert_int_equal(g.rows.n, 2);
	assert_int_equal(g.columns.n, 2);
	assert_int_equal(number_of(gil_pairs_waiter(&g, 1)), 2 * (THREADS - 1));
	for (size_t row = 0; row < 4; row++)
		for (size_t column = 0; column < 4; column++)
			sum += gil_pairs_cell(&g, row, column);
	assert_true(sum > THREADS * MS - 1000 && sum <= THREADS * MS);
	/*
	 * Seven threads waited for the holder in column 1. Of these, six have no row of their own,
	 * or five if one without a row is the holder in column 0. So the last row has 6/7 or 5/7 of
	 * 1 ms.
	 */
	expect_cell(&g, 3, 1,
		    (double)MS * (double)(THREADS - 2) / (THREADS - 1) -
			    (g.threads.v[g.columns.v[0]].row == 3 ? (double)MS / 7 : 0));
}

/*
 * As many waits overlap as there are holders. The time for the sums must not grow with the product
 * of both numbers.
 */
static void test_many(void **state)
{
	_cleanup_(gil_pairs_fini) struct gil_pairs g;
	const int64_t n = 20000;

	assert_true(gil_pairs_init(&g, p));
	for (int64_t i = 0; i < n; i++) {
		add(&g, &(struct made){.thread = i % 2 ? 1 : 3, .wait = n * BUCKET});
		add(&g, &(struct made){.thread = 5, .time = i * BUCKET, .blame = 2 * MS});
	}
	assert_int_equal(gil_pairs_make(&g, 10, 10), 0);
	expect_cell(&g, 0, 1, 0);
	assert_true(gil_pairs_cell(&g, 1, 1) > n * MS * 9 / 10);
	assert_true(gil_pairs_cell(&g, 2, 1) > n * MS * 9 / 10);
}

static void expect_name(const struct gil_pairs *g, unsigned thread, const char *name)
{
	_cleanup_str_ struct str b = {};

	for (size_t row = 1; row <= g->rows.n; row++)
		if (number_of(gil_pairs_waiter(g, row)) == thread)
			gil_pairs_name(g, gil_pairs_waiter(g, row), &b);
	assert_string_equal(str_cstr(&b), name);
}

/* If two threads have the same name, their ids are added to it. */
static void test_names(void **state)
{
	_cleanup_(gil_pairs_fini) struct gil_pairs g;

	assert_true(gil_pairs_init(&g, p));
	for (unsigned i = 0; i < 3; i++)
		add(&g, &(struct made){.thread = i, .wait = MS});
	assert_int_equal(gil_pairs_make(&g, 10, 10), 0);
	expect_name(&g, 0, "t1 (tid 0)");
	expect_name(&g, 1, "t1 (tid 1)");
	expect_name(&g, 2, "t2");
}

/* Times and values at the limits of their range, as a hostile file may have them. */
static void test_hostile(void **state)
{
	_cleanup_(gil_pairs_fini) struct gil_pairs g;

	assert_true(gil_pairs_init(&g, p));
	for (unsigned i = 0; i < 50; i++) {
		add(&g, &(struct made){1, INT64_MAX - i, INT64_MAX, INT64_MAX, INT64_MAX});
		add(&g, &(struct made){3, i, INT64_MAX, INT64_MAX, INT64_MAX});
		add(&g, &(struct made){5, i, -1, -1, -1});
	}
	assert_int_equal(gil_pairs_make(&g, 10, 10), 0);
	for (size_t row = 0; row < g.rows.n + 2; row++)
		assert_true(gil_pairs_nobody(&g, row) >= 0);
	assert_false(g.timeless);
	add(&g, &(struct made){1, -1, MS, 0, 0});
	assert_true(g.timeless);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_as_compared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
