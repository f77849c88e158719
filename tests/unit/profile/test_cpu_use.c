/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much a program ran and waited: which of these times are certain, and which comments and which
 * sentence krait derives from them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "profile/cpu_use.h"
#include "profile/profile.h"
#include "view/lede/cpu_words.h"

/*
 * Returns the CPU use of a process in 10 s that ran for @ran ms and waited for a CPU for @queued
 * ms, while the machine's host took @taken ms from all CPUs together.
 */
static struct cpu_use split(uint64_t ran, uint64_t queued, uint64_t taken)
{
	struct cpu_use u = {.wall_ms = 10000, .ran_ms = ran, .queued_ms = queued};

	cpu_use_split(&u, taken);
	assert_true(u.main);
	assert_int_equal(u.ran_ms + u.queued_ms + u.waited_ms + u.unknown_ms, u.wall_ms);
	return u;
}

static void test_split(void **state)
{
	struct cpu_use u = split(200, 100, 0);

	assert_int_equal(u.waited_ms, 9700);
	assert_int_equal(u.unknown_ms, 0);
	/* the process may have waited for a CPU while the host had it, but for 300 ms at most */
	u = split(200, 100, 300);
	assert_int_equal(u.waited_ms, 9400);
	assert_int_equal(u.unknown_ms, 300);
}

/*
 * A thread that runs all the time doesn't count as waiting, however much CPU time the machine's
 * host takes.
 */
static void test_stolen(void **state)
{
	assert_int_equal(split(5000, 0, 5000).waited_ms, 0);
	assert_int_equal(split(4000, 1000, 5000).waited_ms, 0);
	/* the host took this time from eight CPUs together */
	assert_int_equal(split(7000, 0, 24000).waited_ms, 0);
	assert_int_equal(split(7000, 0, 24000).unknown_ms, 3000);
}

/*
 * The kernel's counters may be a tick ahead of the clock, so their sum may exceed the elapsed time.
 */
static void test_more_than_all(void **state)
{
	struct cpu_use u = split(9900, 200, 0);

	assert_int_equal(u.queued_ms, 100);
	assert_int_equal(u.waited_ms, 0);
	u = split(10010, 20, 50);
	assert_int_equal(u.ran_ms, 10000);
	assert_int_equal(u.waited_ms, 0);
}

/* Compares all members but .name. Padding between members may differ. */
static void assert_same(const struct cpu_use *a, const struct cpu_use *b)
{
	assert_int_equal(a->all, b->all);
	assert_int_equal(a->processes, b->processes);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->wall_ms, b->wall_ms);
	assert_int_equal(a->cpu_ms, b->cpu_ms);
	assert_int_equal(a->threads, b->threads);
	assert_int_equal(a->main, b->main);
	assert_int_equal(a->ran_ms, b->ran_ms);
	assert_int_equal(a->queued_ms, b->queued_ms);
	assert_int_equal(a->waited_ms, b->waited_ms);
	assert_int_equal(a->unknown_ms, b->unknown_ms);
}

static void test_comment_is_read_back(void **state)
{
	struct cpu_use in = {.pid = 12,
			     .wall_ms = 1000,
			     .cpu_ms = 30,
			     .threads = 4,
			     .main = true,
			     .ran_ms = 20,
			     .queued_ms = 10,
			     .waited_ms = 960,
			     .unknown_ms = 10,
			     .name = "a: b.py"},
		       out;
	_cleanup_str_ struct str text = {}, all = {};

	str_add(&text, CPU_USE ": ");
	cpu_use_print(&in, &text);
	assert_string_equal(
		str_cstr(&text),
		"CPU use: pid 12: 1000 ms, CPU 30 ms, 4 threads, main thread ran 20 ms, "
		"queued 10 ms, waited 960 ms, not known 10 ms: a: b.py");
	assert_true(cpu_use_parse(str_cstr(&text), &out));
	assert_string_equal(out.name, in.name);
	assert_same(&in, &out);
	in = (struct cpu_use){.all = true, .wall_ms = 1000, .cpu_ms = 30, .processes = 2};
	str_add(&all, CPU_USE ": ");
	cpu_use_print(&in, &all);
	assert_true(cpu_use_parse(str_cstr(&all), &out));
	assert_same(&in, &out);
	assert_null(out.name);
}

static void test_nonsense_is_refused(void **state)
{
	static const char *const texts[] = {
		"note: x",
		"CPU use",
		"CPU use: ",
		"CPU use: all: ",
		"CPU use: all: 0 ms, CPU 0 ms, 1 processes",
		"CPU use: all: -1 ms, CPU 0 ms, 1 processes",
		"CPU use: all: 10 ms, CPU 0 ms, 1 processes, x",
		"CPU use: all: 99999999999999999999 ms, CPU 0 ms, 1 processes",
		"CPU use: all: 10 ms, CPU 0 ms, 4294967296 processes",
		"CPU use: pid 1: 0 ms, CPU 0 ms, 1 threads: x",
		"CPU use: pid 1: 10 ms, CPU 0 ms, 1 threads",
		"CPU use: pid 1: 10 ms, CPU 0 ms, 1 threads, main thread ran 1 ms: x",
		/* the main thread's times add up to 9 ms, but 10 ms have passed */
		("CPU use: pid 1: 10 ms, CPU 0 ms, 1 threads, main thread ran 1 ms, queued 1 ms, "
		 "waited 7 ms, not known 0 ms: x"),
	};
	struct cpu_use u;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(cpu_use_parse(texts[i], &u));
}

static void assert_says(const char *const *comments, const char *words)
{
	_cleanup_str_ struct str said = {};
	struct profile *p = profile_new();

	for (; *comments; comments++)
		profile_add_comment(p, CPU_USE, *comments);
	assert_int_equal(cpu_words_add(p, &said), *words != '\0');
	assert_string_equal(str_cstr(&said), words);
	profile_free(p);
}

#define SAYS(words, ...) assert_says((const char *const[]){__VA_ARGS__, NULL}, words)
#define MAIN(pid, cpu, threads, ran, queued, waited, unknown, name)                                \
	"pid " pid ": 1000 ms, CPU " cpu " ms, " threads " threads, main thread ran " ran          \
	" ms, queued " queued " ms, waited " waited " ms, not known " unknown " ms: " name
#define ALL(cpu, processes) "all: 1000 ms, CPU " cpu " ms, " processes " processes"

static void test_one_process(void **state)
{
	SAYS("app.py ran 2 %, waited for a CPU 1 %, for anything else 97 %",
	     MAIN("1", "20", "1", "20", "10", "970", "0", "app.py"), ALL("20", "1"));
	SAYS("app.py ran 30 %, waited for a CPU 0 %, for anything else 0 %; 70 % unknown (waiting, "
	     "or taken by the machine's host)",
	     MAIN("1", "300", "1", "300", "0", "0", "700", "app.py"), ALL("300", "1"));
	/* only the main thread's waits are shown, because the other threads wait as well */
	SAYS("app.py used 2 % of one CPU; its main thread ran 2 %, waited for a CPU 0 %, for "
	     "anything else 98 %",
	     MAIN("1", "20", "8", "20", "0", "980", "0", "app.py"), ALL("20", "1"));
	SAYS("app.py used 30 % of one CPU; its main thread ran 0.5 %, waited for a CPU 0 %, for "
	     "anything else 100 %",
	     MAIN("1", "300", "1", "5", "0", "995", "0", "app.py"), ALL("300", "1"));
	SAYS("app.py used 2 % of one CPU", "pid 1: 1000 ms, CPU 20 ms, 3 threads: app.py",
	     ALL("20", "1"));
}

static void test_several_processes(void **state)
{
	SAYS("2 processes used 4 % of one CPU; on average their main threads ran 2 %, waited for a "
	     "CPU "
	     "0.5 %, for anything else 98 %",
	     MAIN("1", "20", "1", "20", "10", "970", "0", "a"),
	     MAIN("2", "20", "1", "20", "0", "980", "0", "b"), ALL("40", "2"));
	/* Of three processes, b waits for a CPU; a (the master) and c wait for something else. */
	SAYS("3 processes used 5 % of one CPU; on average their main threads ran 2 %, waited for a "
	     "CPU "
	     "15 % (b, pid 2, 40 %), for anything else 84 %",
	     MAIN("1", "10", "1", "10", "0", "990", "0", "a"),
	     MAIN("2", "20", "1", "20", "400", "580", "0", "b"),
	     MAIN("3", "20", "1", "20", "40", "940", "0", "c"), ALL("50", "3"));
	SAYS("2 processes used 3 % of one CPU; on average their main threads ran 2 %, waited for a "
	     "CPU "
	     "46 % (a, pid 1, 90 %), for anything else 53 %",
	     MAIN("1", "20", "1", "20", "900", "80", "0", "a"),
	     MAIN("2", "10", "1", "10", "10", "980", "0", "b"), ALL("30", "2"));
	SAYS("3 processes used 40 % of one CPU; the main thread of a (1) ran 2 %, waited for a CPU "
	     "1 %, for anything else 97 %",
	     MAIN("1", "20", "1", "20", "10", "970", "0", "a"), ALL("400", "3"));
	SAYS("1 process used 1 % of one CPU", ALL("10", "1"));
}

/* krait says nothing if half a CPU or more was used, or if it doesn't know how much. */
static void test_nothing_is_said(void **state)
{
	SAYS("", ALL("500", "1"));
	SAYS("", MAIN("1", "20", "1", "20", "10", "970", "0", "a"), ALL("2000", "3"));
	SAYS("", MAIN("1", "20", "1", "20", "10", "970", "0", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_more_than_all),
		cmocka_unit_test(test_comment_is_read_back),
		cmocka_unit_test(test_nonsense_is_refused),
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_several_processes),
		cmocka_unit_test(test_nothing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
