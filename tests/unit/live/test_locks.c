/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the lines of `krait top` about waits for locks: who waited, and who ended the waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "live/table.h"

#define S ((int64_t)NSEC_PER_SEC)

enum value { SAMPLES, CPU, OFF, LOCK, VALUES };

static struct profile *p;
static struct live *l;

/* Makes a location, each time in another column, because all columns of a line are one place. */
static uint32_t frame(const char *name, const char *file, int32_t line)
{
	static int32_t column;
	struct profile_mapping mapping = {.name = profile_string(p, "[python 3.12]")};
	struct profile_function f = {
		.name = profile_string(p, name), .file = profile_string(p, file), .start_line = 1};
	struct profile_location loc = {.mapping = profile_mapping(p, &mapping),
				       .function = profile_function(p, &f),
				       .line = line,
				       .column = ++column};

	return profile_location(p, &loc);
}

static int setup(void **state)
{
	static const char *const types[VALUES] = {"samples", "cpu", "off_cpu", "lock_blame"};
	struct profile_meta *m;

	p = profile_new();
	m = profile_meta(p);
	for (m->n_values = 0; m->n_values < VALUES; m->n_values++)
		m->values[m->n_values] = (struct profile_value_type){
			types[m->n_values], m->n_values ? "nanoseconds" : "count"};
	m->default_value = CPU;
	l = live_new(p, NULL);
	return !l;
}

static int teardown(void **state)
{
	live_free(l);
	profile_free(p);
	return 0;
}

/*
 * Thread @tid, called @name, ends a wait of @waiter that took @ns. At that moment the thread runs
 * line @line of the function f.
 */
static void ends(const char *tid, const char *name, const char *waiter_tid, const char *waiter,
		 int32_t line, int64_t ns)
{
	uint32_t frames[] = {
		frame("Condition.notify", "/usr/lib/python3.12/threading.py", 9),
		frame("f", "app.py", line),
		frame("main", "app.py", 1),
	};
	struct profile_label v[] = {
		{profile_string(p, "pid"), profile_string(p, "7")},
		{profile_string(p, "tid"), profile_string(p, tid)},
		{profile_string(p, "thread"), profile_string(p, name)},
		{profile_string(p, "waiter"), profile_string(p, waiter)},
		{profile_string(p, "waiter_tid"), profile_string(p, waiter_tid)},
	};
	struct profile_sample s = {.stack = profile_stack(p, frames, ARRAY_SIZE(frames)),
				   .labels = profile_labels(p, v, *waiter_tid ? 5 : 3),
				   .values[LOCK] = ns};

	assert_int_equal(live_add(l, &s), 0);
}

static void expect(const char *want)
{
	_cleanup_str_ struct str lines = {};
	struct table v;

	assert_int_equal(live_tick(l, 1), 0);
	table_init(&v, l);
	table_lock_lines(&v, &lines);
	assert_string_equal(str_cstr(&lines), want);
	table_fini(&v);
}

/*
 * The lines for places, and the threads within each line, are sorted by waiting time, the longest
 * first. A place is the line of the user's code in which the wait was ended. Each interval is shown
 * by itself. A wait may be longer than the interval in which it ended.
 */
static void test_order(void **state)
{
	ends("2", "b", "1", "a", 7, S / 10);
	ends("2", "b", "3", "c", 7, S / 5);
	ends("2", "b", "1", "a", 7, S / 5);
	ends("3", "c", "1", "a", 8, 12 * S);
	ends("3", "c", "1", "a", 9, S / 200); /* this wait is too short to get a line */
	expect("Waits for locks that ended in the last 1.0 s took 12.51 s\n"
	       "  12.00 s  ended by c in f (app.py:8): a 12.00 s\n"
	       "  0.50 s  ended by b in f (app.py:7): a 0.30 s, c 0.20 s\n");
	ends("2", "b", "1", "a", 7, S / 200);
	expect("");
	expect("");
}

/*
 * A line names at most three waiting threads. All others, and threads without a label, are summed
 * up as "others".
 */
static void test_many(void **state)
{
	char tid[8], name[16];

	for (int i = 0; i < 6; i++) {
		snprintf(tid, sizeof(tid), "%d", 10 + i);
		snprintf(name, sizeof(name), "%c", 'u' + i);
		ends("2", "b", tid, name, 7, S - i * S / 10);
		ends("3", "c", tid, name, 10 + i, S / 100 * (6 - i));
	}
	ends("2", "b", "", "", 7, S / 20);
	expect("Waits for locks that ended in the last 1.0 s took 4.76 s\n"
	       "  4.55 s  ended by b in f (app.py:7): u 1.00 s, v 0.90 s, w 0.80 s, others 1.85 "
	       "s\n"
	       "  0.06 s  ended by c in f (app.py:10): u 0.06 s\n"
	       "  0.05 s  ended by c in f (app.py:11): v 0.05 s\n");
}

/*
 * An escape sequence in a name doesn't reach the terminal, and a newline in a name doesn't end the
 * line.
 */
static void test_names(void **state)
{
	ends("2", "w\x1b[2J\n", "3", "w\x1b[2J\n", 7, S);
	ends("2", "w\x1b[2J\n", "4", "", 7, S / 2);
	expect("Waits for locks that ended in the last 1.0 s took 1.50 s\n"
	       "  1.50 s  ended by w?[2J? in f (app.py:7): w?[2J? 1.00 s, tid 4 0.50 s\n");
}

/*
 * Threads with the same name are shown as one. So are four or more threads whose names differ only
 * in numbers. Waiting threads and threads that end waits are counted separately.
 */
static void test_numbers(void **state)
{
	static const char *const names[] = {"T-7 (serve)", "T-8 (serve)", "T-19 (serve)",
					    "T-20 (serve)"};
	static const char *const tids[] = {"7", "8", "19", "20"};

	for (int i = 0; i < 4; i++)
		ends(tids[i], names[i], "3", "T-3 (serve)", 7, S);
	ends("7", "T-7 (serve)", "4", "pool", 7, S / 4);
	ends("8", "T-8 (serve)", "5", "pool", 7, S / 4);
	expect("Waits for locks that ended in the last 1.0 s took 4.50 s\n"
	       "  4.50 s  ended by T-N (serve) in f (app.py:7): T-3 (serve) 4.00 s, pool 0.50 s\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
