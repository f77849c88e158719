/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Python program renames its threads. Samples that already have a thread's old name get the new
 * one. The test makes up the names instead of reading them from a process with src/python.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/internal.h"
#include "python/heap/threads.h"
#include "one_layout.h"

#define WAITER 1000
#define WAKER  500000

static struct profile *profile;
static struct collect *collect;
static struct proc_key key = {.start_ns = 1000, .exec_id = 1};

static unsigned n_named;   /* threads WAITER... have a name */
static const char *prefix; /* each thread's name is this prefix and a number */

int py_thread_names(pid_t pid, const struct py_layout *layout, const struct py_where *where,
		    const struct py_thread_id *known, size_t n, struct py_thread_names *ret)
{
	for (unsigned i = 0; i < n_named; i++) {
		struct py_thread_name name = {.tid = (pid_t)(WAITER + i)};

		assert_true(asprintf(&name.name, "%s-%u", prefix, i) > 0);
		assert_int_equal(vec_push(&ret->list, name), 0);
	}
	return 0;
}

void py_thread_names_fini(struct py_thread_names *names)
{
	vec_foreach(t, &names->list)
		free(t->name);
	vec_fini(&names->list);
}

static const struct collect_ops ops = {
	.add_layout = add_layout, .layout = get_layout, .set_proc = set_no_proc};

/* The indexes of the profile's values: samples, off_cpu, then the values of waits. */
enum { LOCK_BLAME = 2 + VALUE_LOCK_BLAME, VALUES = 2 + COLLECT_WAIT_VALUES };

static int setup(void **state)
{
	struct collect_config config = {.ops = &ops,
					.kallsyms = -1,
					.start_ns = 500,
					.n_sources = 1,
					.cpu_source = -1,
					.waits = true};
	struct rec_proc rec = {.type = REC_PROC, .state = PROC_PYTHON, .comm = "prog"};

	key.tgid = (uint32_t)getpid();
	rec.proc = key;
	n_named = 0;
	profile = config.profile = profile_new();
	profile_meta(profile)->n_values = VALUES;
	collect = collect_new(&config);
	collect_record(collect, &rec, sizeof(rec));
	return 0;
}

static int teardown(void **state)
{
	collect_free(collect);
	profile_free(profile);
	return 0;
}

static struct rec_sample sample(uint32_t tid, uint64_t weight)
{
	return (struct rec_sample){.type = REC_SAMPLE,
				   .outcome = WALK_OK,
				   .tid = tid,
				   .time_ns = 2500,
				   .proc = key,
				   .weight = weight};
}

/* Thread @waker ends a wait of thread @waiter for a lock. */
static void send_wait(uint32_t waiter, uint32_t waker)
{
	struct rec_wait wait = {.sample = sample(waiter, 1000),
				.since_ns = 1500,
				.call = SYS_futex,
				.state = 1,
				.waker = sample(waker, 0)};

	wait.sample.type = REC_WAIT;
	collect_record(collect, &wait, sizeof(wait));
}

/*
 * Sends the first samples of @n threads, whose ids are WAITER, WAITER + 1 and so on. Each thread
 * has a name in the kernel.
 */
static void meet(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rec_sample ran = sample(WAITER + i, 7);

		collect_record(collect, &ran, sizeof(ran));
	}
	assert_int_equal(collect_flush(collect, true), 0);
	for (unsigned i = 0; i < n; i++)
		collect_comm(collect, key.tgid, WAITER + i, "prog");
}

/* Lets the collector put its samples into the profile, and read the threads' names. */
static void flush(void)
{
	process_newest(collect, key.tgid)->walked = true;
	assert_int_equal(collect_flush(collect, true), 0);
}

/*
 * Numbers of samples that blame a thread for another thread's wait: .named counts those whose
 * waiter is called .name, .others those whose waiter has another name.
 */
struct counted {
	const char *name;
	unsigned named, others;
};

static int count(void *arg, const struct profile_sample *s)
{
	struct counted *c = arg;
	const char *name = profile_label_text(profile, s->labels, "waiter");

	if (!s->values[LOCK_BLAME])
		return 0;
	*(!strncmp(name, c->name, strlen(c->name)) ? &c->named : &c->others) += 1;
	return 0;
}

static struct counted counted(const char *name)
{
	struct counted c = {.name = name};

	assert_int_equal(profile_each(profile, count, &c), 0);
	return c;
}

/*
 * When a thread was renamed twice, all its samples have the last name, also samples from before the
 * first renaming.
 */
static void test_renamed_twice(void **state)
{
	static const char *const names[] = {"a", "b", "c"};

	meet(1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		n_named = 1;
		prefix = names[i];
		send_wait(WAITER, WAKER);
		flush();
		assert_int_equal(counted(names[i]).named, i + 1);
		assert_int_equal(counted(names[i]).others, 0);
	}
}

/*
 * Lets the collector look at the threads' names, @apart_ns after its last look. Returns how long it
 * waits until the next look.
 */
static uint64_t pause_after(uint64_t apart_ns)
{
	struct process *p = process_newest(collect, key.tgid);

	p->walked = true;
	p->names_looked_ns = p->names_due_ns = 1;
	p->names_apart_ns = apart_ns;
	assert_int_equal(collect_flush(collect, false), 0);
	assert_int_equal(p->names_due_ns, p->names_looked_ns + apart_ns);
	return p->names_apart_ns;
}

/*
 * The pause after a look at the threads' names is longer than the one before it, and much longer if
 * the look found no new name. A new thread makes looks frequent again.
 */
static void test_pauses(void **state)
{
	meet(1);
	n_named = 1;
	prefix = "a";
	assert_int_equal(pause_after(NSEC_PER_SEC), 2 * NSEC_PER_SEC);
	assert_int_equal(pause_after(NSEC_PER_SEC), 2 * NSEC_PER_SEC);
	assert_int_equal(pause_after(4 * NSEC_PER_SEC), 16 * NSEC_PER_SEC);
	prefix = "b";
	assert_int_equal(pause_after(4 * NSEC_PER_SEC), 8 * NSEC_PER_SEC);
	assert_int_equal(pause_after(4 * NSEC_PER_SEC), 16 * NSEC_PER_SEC);
	meet(2);
	assert_in_range(process_newest(collect, key.tgid)->names_apart_ns, 0, NSEC_PER_SEC);
}

/*
 * Returns the CPU time, in ns, of renaming @n threads. Each of them has waits that other threads
 * ended.
 */
static uint64_t cost_of(unsigned n)
{
	uint64_t began_ns;

	setup(NULL);
	meet(n);
	for (unsigned i = 0; i < n; i++)
		send_wait(WAITER + i, WAKER + i / 500);
	flush();
	assert_int_equal(counted("w").named, 0);
	n_named = n;
	prefix = "w";
	began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	flush();
	began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	assert_int_equal(counted("w").named, n);
	teardown(NULL);
	return began_ns;
}

/* The work of renaming is proportional to the number of threads, not to its square. */
static void test_many_renamed(void **state)
{
	uint64_t few = cost_of(500), many = cost_of(4000);

	print_message("500 threads: %.1f ms, 4,000: %.1f ms\n", (double)few / 1e6,
		      (double)many / 1e6);
	assert_in_range(many, 0, 24 * few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_renamed_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pauses, setup, teardown),
		cmocka_unit_test(test_many_renamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
