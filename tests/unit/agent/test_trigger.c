/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trigger pins (keeps in the agent's store) the minute before and the minute after its condition
 * is met. If the condition is met again within that time, the pin gets longer. The test reads the
 * pins from the pipe to the writer. It makes up the times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "agent/trigger.h"
#include "record/command/signals.h"

#define WALL_MS 1700000000000ll
#define SECOND	NSEC_PER_SEC

static struct world {
	struct link link;
	struct triggers t;
	struct profile *p;
	int in; /* the writer's end of the pipe */
} w;

static int set_up(void **state)
{
	struct profile_meta *m;
	int fds[2];

	w = (struct world){.p = profile_new()};
	m = profile_meta(w.p);
	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"cpu", "nanoseconds"};
	m->values[2] = (struct profile_value_type){"off_cpu", "nanoseconds"};
	m->n_values = 3;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	w.in = fds[0];
	w.link.out = fds[1];
	triggers_begin(&w.t, &w.link, w.p, 500000, 2000000, SECOND);
	return 0;
}

static int tear_down(void **state)
{
	close(w.in);
	close(w.link.out);
	profile_free(w.p);
	str_fini(&w.link.waiting);
	return 0;
}

/*
 * Looks at all triggers at second @s of the test. Returns whether the condition of any of them is
 * met.
 */
static bool turn(unsigned s)
{
	return triggers_turn(&w.t, (s + 1) * SECOND, WALL_MS + s * 1000ll);
}

static bool next_pin(struct pin *p)
{
	struct agent_frame f;

	if (read(w.in, &f, sizeof(f)) != (ssize_t)sizeof(f))
		return false;
	assert_true(f.is_pin && f.bytes == sizeof(*p));
	assert_int_equal(read(w.in, p, sizeof(*p)), sizeof(*p));
	return true;
}

static void expect_pin(const char *cause, const char *words, int since_s, int until_s)
{
	struct pin p = {};

	assert_true(next_pin(&p));
	assert_string_equal(p.cause, cause);
	assert_string_equal(p.words, words);
	assert_int_equal(p.since_ms, WALL_MS + since_s * 1000);
	assert_int_equal(p.until_ms, WALL_MS + until_s * 1000);
}

static void expect_none(void)
{
	struct pin p;

	assert_false(next_pin(&p));
}

/* Each moment that a user marks gets a pinned window of its own. */
static void test_mark(void **state)
{
	assert_false(turn(1));
	expect_none();
	strcpy(w.link.marks[0], "one");
	strcpy(w.link.marks[1], "two");
	w.link.n_marks = 2;
	assert_true(turn(100));
	expect_pin("mark", "one", 40, 160);
	expect_pin("mark", "two", 40, 160);
	assert_int_equal(w.link.n_marks, 0);
	assert_true(turn(159));
	assert_false(turn(160));
	expect_none();
}

/*
 * Users mark more moments at once than there may be pinned windows still open. All of them are sent
 * to the writer.
 */
static void test_many_marks(void **state)
{
	char words[16];

	for (unsigned i = 0; i < LINK_MARKS; i++)
		snprintf(w.link.marks[i], sizeof(*w.link.marks), "m%u", i);
	w.link.n_marks = LINK_MARKS;
	assert_true(turn(100));
	for (unsigned i = 0; i < LINK_MARKS; i++) {
		snprintf(words, sizeof(words), "m%u", i);
		expect_pin("mark", words, 40, 160);
	}
	expect_none();
}

/*
 * A second signal within a pinned window makes the window longer. While no writer process runs, the
 * agent keeps pins, and sends them later.
 */
static void test_signal(void **state)
{
	char words[64];
	int out = w.link.out;

	snprintf(words, sizeof(words), "SIGUSR1 from process %d", getpid());
	signals_take_usr1();
	kill(getpid(), SIGUSR1);
	w.link.out = -1;
	assert_true(turn(100));
	expect_none();
	w.link.out = out;
	assert_true(turn(101));
	expect_pin("signal", words, 40, 160);
	kill(getpid(), SIGUSR1);
	assert_true(turn(110));
	expect_none();
	assert_true(turn(130));
	expect_pin("signal", words, 40, 170);
	assert_true(turn(169));
	assert_false(turn(170));
	kill(getpid(), SIGUSR1);
	assert_true(turn(200));
	expect_pin("signal", words, 140, 260);
}

static void burn(const char *key, const char *name, double seconds)
{
	const struct profile_label l = {profile_string(w.p, key), profile_string(w.p, name)};
	struct profile_sample s = {.labels = profile_labels(w.p, &l, 1)};

	s.values[0] = 1;
	s.values[1] = (int64_t)(seconds * NSEC_PER_SEC);
	triggers_sample(&w.t, w.p, &s);
}

/* The trigger's limit is half of a CPU over ten seconds. */
static void test_cpu(void **state)
{
	burn("process", "app.py", 4.9);
	burn("service", "shop", 4);
	burn("service", "shop", 1);
	assert_false(turn(10));
	burn("process", "app.py", 4.9);
	burn("service", "shop", 4);
	burn("service", "shop", 1.1);
	assert_false(turn(19));
	assert_true(turn(20));
	expect_pin("cpu", "shop took 51 % of one CPU in 10 s", -40, 80);
	/* the condition stays met until a window with less CPU time */
	assert_true(turn(29));
	burn("service", "shop", 1);
	assert_true(turn(30));
	assert_true(turn(88));
	assert_false(turn(89));
}

static void wait_in(const char *name, const char *idle, double seconds)
{
	const struct profile_label l[] = {
		{profile_string(w.p, "service"), profile_string(w.p, name)},
		{profile_string(w.p, "idle"), profile_string(w.p, idle)},
	};
	struct profile_sample s = {.labels = profile_labels(w.p, l, *idle ? 2 : 1)};

	s.values[2] = (int64_t)(seconds * NSEC_PER_SEC);
	triggers_sample(&w.t, w.p, &s);
}

/*
 * Waits for work don't count towards this trigger. Its limit is two threads that wait all the time.
 */
static void test_waiting(void **state)
{
	wait_in("shop", "yes", 1000);
	wait_in("shop", "", 19);
	assert_false(turn(10));
	wait_in("shop", "", 19);
	wait_in("shop", "", 4);
	assert_true(turn(20));
	expect_pin("waiting", "shop waited 230 % of one thread's time in 10 s", -40, 80);
}

/*
 * If two processes fail between two looks at the triggers, only the first one is named. A process
 * that somebody told to end hasn't failed.
 */
static void test_failure(void **state)
{
	static const int fine[] = {0, SIGTERM, SIGINT, SIGHUP, (128 + SIGTERM) << 8, 130 << 8};
	char name[300];

	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		triggers_ended(&w.t, 7, "app.py", fine[i]);
	assert_false(turn(100));
	triggers_ended(&w.t, 8, "app.py", 3 << 8);
	triggers_ended(&w.t, 9, "other.py", 1 << 8);
	assert_true(turn(200));
	expect_pin("failure", "app.py (process 8) ended with status 3", 140, 260);
	/* a process that fails again and again gives one pinned window */
	triggers_ended(&w.t, 10, "app.py", SIGSEGV | 0x80);
	assert_true(turn(231));
	expect_pin("failure", "app.py (process 8) ended with status 3", 140, 291);
	assert_false(turn(291));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	triggers_ended(&w.t, 11, name, SIGKILL);
	assert_true(turn(300));
	struct pin p = {};

	assert_true(next_pin(&p));
	assert_non_null(strstr(p.words, "x (process 11) was killed by signal 9 (Killed)"));
	expect_none();
}

/* If a condition is met for very long, one window of ten minutes is pinned. */
static void test_long(void **state)
{
	struct pin p = {};
	int pins = 0;
	bool held = false;

	for (unsigned s = 10; s <= 2000; s += 10) {
		burn("service", "shop", 9);
		held = turn(s);
		while (next_pin(&p)) {
			pins++;
			assert_int_equal(p.since_ms, WALL_MS - 50000);
		}
	}
	assert_false(held);
	assert_int_equal(p.until_ms, WALL_MS + 610000);
	assert_in_range(pins, 2, 30);
	/* after a calm time the condition is met again */
	assert_false(turn(2010));
	burn("service", "shop", 9);
	assert_true(turn(2020));
	expect_pin("cpu", "shop took 90 % of one CPU in 10 s", 1960, 2080);
}

/* A service's name may have any bytes, because its process chooses the name. */
static void test_hostile(void **state)
{
	char name[300];

	memset(name, '\xff', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "a\n\x1b", 3);
	burn("service", name, 9);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "many %u", i);
		burn("service", name, 0.1);
	}
	assert_true(turn(10));
	struct pin p = {};

	assert_true(next_pin(&p));
	assert_int_equal(strncmp(p.words, "a??\xef\xbf\xbd", 6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mark, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_marks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_signal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cpu, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waiting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
