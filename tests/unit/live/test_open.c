/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that `krait top` counts waits that aren't over yet ("open"), and that it counts each
 * nanosecond of a wait once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "live/table.h"

#define S ((int64_t)NSEC_PER_SEC)

enum value { SAMPLES, CPU, OFF, WAIT, BLAME, VALUES };

static struct profile *p;
static struct live *l;
static uint32_t stacks[2];

/* Makes a stack whose only frame is a function called @name. @column: 0: not known */
static uint32_t stack_at(const char *name, int32_t line, int32_t column)
{
	struct profile_mapping mapping = {.name = profile_string(p, "[python 3.12]")};
	struct profile_function f = {.name = profile_string(p, name),
				     .file = profile_string(p, "app.py"),
				     .start_line = 1};
	struct profile_location loc = {.mapping = profile_mapping(p, &mapping),
				       .function = profile_function(p, &f),
				       .line = line,
				       .column = column};
	uint32_t id = profile_location(p, &loc);

	return profile_stack(p, &id, 1);
}

static uint32_t stack_in(const char *name)
{
	return stack_at(name, 7, 0);
}

static int setup(void **state)
{
	static const char *const types[VALUES] = {"samples", "cpu", "off_cpu", "gil_wait",
						  "gil_blame"};
	struct profile_meta *m;

	p = profile_new();
	m = profile_meta(p);
	for (m->n_values = 0; m->n_values < VALUES; m->n_values++)
		m->values[m->n_values] = (struct profile_value_type){
			types[m->n_values], m->n_values ? "nanoseconds" : "count"};
	m->default_value = CPU;
	stacks[0] = stack_in("f");
	stacks[1] = stack_in("g");
	l = live_new(p, NULL);
	l->table = LIVE_THREADS;
	l->wall = true;
	return !l;
}

static int teardown(void **state)
{
	live_free(l);
	profile_free(p);
	return 0;
}

static uint32_t who(const char *tid, const char *state)
{
	struct profile_label v[] = {{profile_string(p, "pid"), profile_string(p, "7")},
				    {profile_string(p, "tid"), profile_string(p, tid)},
				    {profile_string(p, "thread"), profile_string(p, tid)},
				    {profile_string(p, "state"), profile_string(p, state)}};

	return profile_labels(p, v, ARRAY_SIZE(v));
}

/* Makes the sample of a wait: thread @tid waited for @ns, from @time_ns on. */
static struct profile_sample wait_of(const char *tid, const char *state, int64_t time_ns,
				     int64_t ns)
{
	return (struct profile_sample){.stack = stacks[0],
				       .labels = who(tid, state),
				       .time_ns = time_ns,
				       .values[OFF] = ns};
}

static void open_wait(struct profile_sample s, bool left)
{
	assert_int_equal(live_open_add(l, &s, left), 0);
}

static void tick(void)
{
	assert_int_equal(live_open_end(l), 0);
	assert_int_equal(live_tick(l, 1), 0);
	live_open_begin(l);
}

static void come(struct profile_sample s)
{
	s.values[SAMPLES] = 1;
	assert_int_equal(live_add(l, &s), 0);
}

static const struct live_row *row_of(const char *tid)
{
	for (size_t i = 0; i < l->rows.n; i++)
		if (streq(profile_label_text(p, l->rows.v[i].labels, "tid"), tid))
			return &l->rows.v[i];
	fail();
	return NULL;
}

/* Returns for how long thread @tid was in state @state during the interval that has just ended. */
static int64_t waited(const char *tid, enum live_state state)
{
	return live_in_state(l, row_of(tid), state);
}

/*
 * A wait takes 2.5 s. While it is open, 1 s is counted in each of two intervals. The rest is
 * counted when the wait's sample comes.
 */
static void test_parts(void **state)
{
	live_open_begin(l);
	open_wait(wait_of("1", "lock", 0, S), false);
	tick();
	assert_int_equal(waited("1", LIVE_STATE_LOCK), S);
	open_wait(wait_of("1", "lock", 0, 2 * S), false);
	tick();
	assert_int_equal(waited("1", LIVE_STATE_LOCK), S);
	come(wait_of("1", "lock", 0, 5 * S / 2));
	/* this wait wasn't counted as open before its sample came */
	come(wait_of("1", "lock", 5 * S / 2, S / 4));
	tick();
	assert_int_equal(waited("1", LIVE_STATE_LOCK), S / 2 + S / 4);
	assert_int_equal(l->all[LIVE_SINCE].value, 11 * S / 4);
}

/*
 * If a wait's sample has less time than was counted while the wait was open, nothing is subtracted.
 */
static void test_less(void **state)
{
	live_open_begin(l);
	open_wait(wait_of("1", "net", 0, S), false);
	tick();
	come(wait_of("1", "net", 0, S - 1000));
	tick();
	assert_int_equal(l->all[LIVE_SINCE].value, S);
}

/*
 * A wait whose stack wasn't taken gets no sample of its own: its time comes with later samples of
 * its thread. As that time was counted while the wait was open, it is subtracted from these
 * samples, but not from other threads' samples.
 */
static void test_left(void **state)
{
	live_open_begin(l);
	open_wait(wait_of("1", "lock", 0, 3 * S), true);
	tick();
	assert_int_equal(waited("1", LIVE_STATE_LOCK), 3 * S);
	tick();
	come(wait_of("2", "net", 4 * S, S));
	come(wait_of("1", "net", 4 * S, S));
	/* this wait took 2 s; its sample also has 2 s of earlier waits */
	come(wait_of("1", "net", 5 * S, 4 * S));
	tick();
	assert_int_equal(waited("1", LIVE_STATE_NET), 2 * S);
	assert_int_equal(waited("2", LIVE_STATE_NET), S);
	come(wait_of("1", "net", 10 * S, S));
	tick();
	assert_int_equal(waited("1", LIVE_STATE_NET), S);
}

/*
 * A thread's sample may also have time in which the thread was ready to run. That time isn't a
 * wait, and isn't subtracted.
 */
static void test_ready(void **state)
{
	live_open_begin(l);
	open_wait(wait_of("1", "lock", 0, S), false);
	tick();
	come(wait_of("1", "runnable", 0, S / 2));
	come(wait_of("1", "lock", 0, 2 * S));
	tick();
	assert_int_equal(waited("1", LIVE_STATE_RUNNABLE), S / 2);
	assert_int_equal(waited("1", LIVE_STATE_LOCK), S);
}

/* The table of threads says what a thread is waiting for, until the sample of that wait comes. */
static void test_now(void **state)
{
	_cleanup_str_ struct str name = {};
	struct table v;

	live_open_begin(l);
	open_wait(wait_of("1", "lock", 0, 12 * S), false);
	tick();
	live_open_begin(l);
	open_wait(wait_of("1", "lock", 0, 12 * S), false);
	table_init(&v, l);
	table_wait_now(&v, row_of("1"), &name);
	assert_string_equal(str_cstr(&name), "  lock 12.00s in f (app.py:7)");
	come(wait_of("1", "lock", 0, 12 * S));
	str_clear(&name);
	table_wait_now(&v, row_of("1"), &name);
	assert_string_equal(str_cstr(&name), "");
	assert_null(live_wait_now(l, row_of("1")));
	table_fini(&v);
}

/*
 * Thread 2 sleeps while it holds the GIL, for which thread 1 waits. In each interval krait shows
 * that thread 1 waits for thread 2.
 */
static void test_gil(void **state)
{
	struct profile_sample waits, holder;
	_cleanup_str_ struct str lines = {};
	struct table v;

	live_open_begin(l);
	for (int64_t i = 1; i <= 3; i++) {
		waits = wait_of("1", "gil", (i - 1) * S, S);
		waits.values[WAIT] = S;
		come(waits);
		holder = wait_of("2", "sleep", 0, i * S);
		holder.values[BLAME] = i * S;
		open_wait(holder, false);
		tick();
		assert_int_equal(l->gil.rows.n, 1);
		assert_int_equal(l->gil.columns.n, 1);
		assert_int_equal(gil_pairs_cell(&l->gil, 1, 1), S);
		assert_int_equal(gil_pairs_nobody(&l->gil, 1), 0);
	}
	table_init(&v, l);
	table_gil_lines(&v, &lines);
	assert_string_equal(str_cstr(&lines),
			    "Threads waited 1.00 s for the GIL in the last 1.0 s\n"
			    "  1.00 s  while 2 held it in f (app.py:7): 1 1.00 s\n");
	tick(); /* nobody waits for the GIL any more */
	str_clear(&lines);
	table_gil_lines(&v, &lines);
	assert_string_equal(str_cstr(&lines), "");
	table_fini(&v);
}

/*
 * The line in which the holder of the GIL was most is the one with the most time in all its columns
 * together, although a column of another line has more time than each of them.
 */
static void test_gil_line(void **state)
{
	static const int32_t lines[] = {7, 7, 8}, tenths[] = {3, 3, 4};
	struct profile_sample waits, holder;
	_cleanup_str_ struct str said = {};
	struct table v;

	live_open_begin(l);
	waits = wait_of("1", "gil", 0, S);
	waits.values[WAIT] = S;
	come(waits);
	for (int i = 0; i < 3; i++) {
		holder = wait_of("2", "sleep", 0, S);
		holder.stack = stack_at("f", lines[i], i + 1);
		holder.values[BLAME] = S * tenths[i] / 10;
		come(holder);
	}
	tick();
	table_init(&v, l);
	table_gil_lines(&v, &said);
	assert_string_equal(str_cstr(&said),
			    "Threads waited 1.00 s for the GIL in the last 1.0 s\n"
			    "  1.00 s  while 2 held it in f (app.py:7): 1 1.00 s\n");
	table_fini(&v);
}

/*
 * A program chooses the names of its threads and functions. In the lines about the GIL, an escape
 * sequence in a name doesn't reach the terminal, and a newline doesn't end the line.
 */
static void test_gil_names(void **state)
{
	struct profile_sample waits, holder;
	_cleanup_str_ struct str lines = {};
	struct table v;

	stacks[0] = stack_in("f\xe2\x80\xae");
	live_open_begin(l);
	waits = wait_of("\x1b]0;x\x07\n\n", "gil", 0, S);
	waits.values[WAIT] = S;
	come(waits);
	holder = wait_of("2\x1b[2J\n", "sleep", 0, S);
	holder.values[BLAME] = S;
	open_wait(holder, false);
	tick();
	table_init(&v, l);
	table_gil_lines(&v, &lines);
	assert_string_equal(str_cstr(&lines),
			    "Threads waited 1.00 s for the GIL in the last 1.0 s\n"
			    "  1.00 s  while 2?[2J? held it in f? (app.py:7): ?]0;x??? 1.00 s\n");
	table_fini(&v);
}

/*
 * Condensing the profile changes ids. The time of an open wait that was already counted isn't
 * counted a second time.
 */
static void test_condensed(void **state)
{
	struct condense c;

	live_open_begin(l);
	open_wait(wait_of("1", "lock", 0, S), false);
	tick();
	assert_int_equal(live_condense(l, &c, 100), 0);
	assert_int_equal(live_condensed(l, &c), 0);
	assert_int_equal(condense_end(&c, 0), 0);
	assert_null(live_wait_now(l, row_of("1")));
	come(wait_of("1", "lock", 0, 2 * S));
	tick();
	assert_int_equal(l->all[LIVE_SINCE].value, 2 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_less, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ready, setup, teardown),
		cmocka_unit_test_setup_teardown(test_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_condensed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
