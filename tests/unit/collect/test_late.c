/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each CPU has its own ring, and a full ring is read in several parts. So records may come long
 * after later records of another ring, until a round is over (collect_config.rounds). No sample may
 * lose its labels by that, and no thread a part of its times.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/internal.h"
#include "one_layout.h"

#define FLUSHES 200 /* more than any number of flushes that the collector could count */

static struct profile *profile;
static struct collect *collect;
static struct proc_key key = {.start_ns = 1000, .exec_id = 1};
static uint32_t rounds;

static uint32_t get_rounds(void *ctx)
{
	return rounds;
}

static const struct collect_ops ops = {
	.add_layout = add_layout, .layout = get_layout, .set_proc = set_no_proc};

/* The indexes of the profile's values: samples, off_cpu, then the values of waits. */
enum { OFF_CPU = 1, GIL_WAIT = 2 + VALUE_GIL_WAIT, VALUES = 2 + COLLECT_WAIT_VALUES };

static int setup(void **state)
{
	struct collect_config config = {.ops = &ops,
					.kallsyms = -1,
					.start_ns = 500,
					.n_sources = 1,
					.cpu_source = -1,
					.waits = true,
					.rounds = get_rounds};

	key.tgid = (uint32_t)getpid();
	rounds = 0;
	profile = config.profile = profile_new();
	profile_meta(profile)->n_values = VALUES;
	collect = collect_new(&config);
	return 0;
}

static int teardown(void **state)
{
	collect_free(collect);
	profile_free(profile);
	return 0;
}

static void flush(void)
{
	assert_int_equal(collect_flush(collect, false), 0);
}

/* The rings are read to their ends @n times. */
static void end_rounds(unsigned n)
{
	while (n--) {
		rounds++;
		flush();
	}
}

/* A ring is so full that reading it to its end takes very long. */
static void read_full_ring(void)
{
	for (int i = 0; i < FLUSHES; i++)
		flush();
}

static void send_proc(void)
{
	struct rec_proc rec = {.type = REC_PROC, .state = PROC_PYTHON, .proc = key, .comm = "prog"};

	collect_record(collect, &rec, sizeof(rec));
}

static struct rec_sample record(uint32_t tid, uint64_t time_ns, uint64_t weight)
{
	return (struct rec_sample){.type = REC_SAMPLE,
				   .outcome = WALK_OK,
				   .tid = tid,
				   .time_ns = time_ns,
				   .proc = key,
				   .weight = weight};
}

static void send_sample(uint32_t tid)
{
	struct rec_sample rec = record(tid, 2500, 1000);

	collect_record(collect, &rec, sizeof(rec));
}

/*
 * Sends a wait of 1,000 ns. Its record also has @others_ns of waits whose stacks weren't taken, of
 * which a half were waits for the GIL. A wait without a stack here stands for three waits, and one
 * with a stack for itself alone: that one leaves others_ns to later waits.
 */
static void send_wait(uint64_t stack, uint64_t time_ns, uint64_t others_ns)
{
	struct rec_wait rec = {.sample = record(key.tgid, time_ns, 1000),
			       .since_ns = time_ns - 1000,
			       .call = SYS_futex,
			       .state = 1,
			       .times = stack ? WAIT_ONE : 3 * WAIT_ONE,
			       .others_ns = others_ns,
			       .gil_others_ns = others_ns / 2};

	rec.sample.type = REC_WAIT;
	rec.sample.stack = stack;
	collect_record(collect, &rec, WAIT_BYTES);
}

/* Sends a stack without any Python frames, and with one of the kernel. */
static void send_stack(uint64_t id)
{
	struct {
		struct rec_native head;
		uint64_t pc;
	} native = {{.type = REC_NATIVE, .n_kernel = 1, .stack = id, .proc = key},
		    0xffffffff81000000 + 16 * id};
	struct rec_stack rec = {.type = REC_STACK, .outcome = WALK_OK, .stack = id, .proc = key};

	collect_record(collect, &native, sizeof(native));
	collect_record(collect, &rec, sizeof(rec));
}

/* Sends the last record of the first thread, which was ready to run for @ready_ns in all. */
static void send_account(uint64_t ready_ns)
{
	struct rec_account rec = {.sample = record(key.tgid, 90500, 0), .switches_ns = 70};

	rec.sample.type = REC_ACCOUNT;
	rec.sample.ready_ns = ready_ns;
	collect_record(collect, &rec, sizeof(rec));
}

struct sums {
	int64_t waits, ready, of[VALUES];
	unsigned n;
	uint32_t labels; /* of the last sample */
};

static int add(void *arg, const struct profile_sample *s)
{
	const char *state = profile_label_text(profile, s->labels, "state");
	struct sums *sums = arg;

	sums->n++;
	sums->labels = s->labels;
	sums->waits += streq(state, "lock") ? s->values[OFF_CPU] : 0;
	sums->ready += streq(state, "runnable") ? s->values[OFF_CPU] : 0;
	for (unsigned i = 0; i < VALUES; i++)
		sums->of[i] += s->values[i];
	return 0;
}

static struct sums sums(void)
{
	struct sums ret = {};

	assert_int_equal(profile_each(profile, add, &ret), 0);
	return ret;
}

static unsigned accounts(void)
{
	struct collect_stats st;

	collect_stats(collect, &st);
	return st.accounts.threads;
}

static const char *text(const struct sums *s, const char *label)
{
	return profile_label_text(profile, s->labels, label);
}

static void check_late_process(void)
{
	struct sums s;

	send_sample(key.tgid);
	read_full_ring();
	end_rounds(1);
	assert_int_equal(sums().n, 0);
	send_proc();
	end_rounds(1);
	s = sums();
	assert_int_equal(s.n, 1);
	assert_string_not_equal(text(&s, "process"), "");
}

/* The record that says what a process is comes very late. */
static void test_process(void **state)
{
	check_late_process();
}

/* krait examined the process before its first sample. */
static void test_expected(void **state)
{
	long i = process_of(collect, &(struct proc_key){.tgid = key.tgid});
	struct process *p = process_at(collect, (uint32_t)i);

	p->expected = true;
	p->state = PROC_PYTHON;
	check_late_process();
}

/* The record that says what a process is never comes. */
static void test_no_process(void **state)
{
	send_sample(key.tgid);
	end_rounds(1);
	assert_int_equal(sums().n, 0);
	end_rounds(1);
	assert_int_equal(sums().n, 1);
}

/* Rounds also end where collect_flush() is put off. */
static void test_ask(void **state)
{
	rounds++;
	collect_ask(collect);
	/* these records come in the second round */
	send_sample(key.tgid);
	send_account(300);
	end_rounds(1);
	assert_int_equal(sums().n, 0);
	send_proc();
	end_rounds(1);
	assert_int_equal(sums().ready, 300);
	assert_int_equal(sums().n, 2);
}

/* A process's samples and the account of its thread come long after perf's report of the end. */
static void test_ended(void **state)
{
	send_proc();
	send_sample(key.tgid);
	end_rounds(1);
	collect_exit(collect, key.tgid, key.tgid, 90400);
	read_full_ring();
	end_rounds(3);
	/* in the next round, the process would be forgotten */
	send_account(300);
	end_rounds(2);
	assert_int_equal(sums().ready, 300);
	end_rounds(10);
	assert_true(process_known(collect, &key)->forgotten);
}

/* The same after an exec. */
static void test_execed(void **state)
{
	send_proc();
	send_sample(key.tgid);
	end_rounds(1);
	collect_exec(collect, key.tgid, 90400);
	read_full_ring();
	send_account(300);
	end_rounds(2);
	assert_int_equal(sums().ready, 300);
	end_rounds(20);
	assert_true(process_known(collect, &key)->forgotten);
}

/* A thread's account comes before all other records of its process. */
static void test_account_first(void **state)
{
	send_account(300);
	read_full_ring();
	send_wait(0, 2500, 0);
	send_wait(0, 3500, 4000);
	end_rounds(1);
	assert_int_equal(sums().n, 0);
	assert_int_equal(accounts(), 0);
	send_proc();
	end_rounds(1);
	assert_int_equal(sums().waits, 6000);
	assert_int_equal(sums().of[GIL_WAIT], 2000);
	assert_int_equal(sums().ready, 300);
	assert_int_equal(accounts(), 1);
}

/* The same at the end of the recording: the last collect_flush() has all records at once. */
static void test_last(void **state)
{
	send_account(300);
	send_wait(0, 2500, 0);
	send_wait(0, 3500, 4000);
	send_proc();
	assert_int_equal(collect_flush(collect, true), 0);
	assert_int_equal(sums().waits, 6000);
	assert_int_equal(sums().ready, 300);
	assert_int_equal(accounts(), 1);
}

/*
 * When a thread's account is handed on, two of its waits still wait for their stacks. Each has time
 * of waits without a stack.
 */
static void check_late_stacks(void)
{
	send_stack(11);
	send_stack(12);
	end_rounds(2);
	assert_int_equal(sums().waits, 3 * 1000 + 4000 + 500 + 600);
	assert_int_equal(sums().of[GIL_WAIT], 2000 + 250 + 300);
}

static void test_late_stacks(void **state)
{
	send_proc();
	send_wait(0, 2500, 4000);
	send_wait(11, 3500, 500);
	send_wait(12, 4500, 600);
	send_account(0);
	end_rounds(3);
	assert_int_equal(sums().waits, 5000);
	check_late_stacks();
}

/* The same, and krait has forgotten the process before the stacks come. */
static void test_late_stacks_of_forgotten(void **state)
{
	send_proc();
	send_wait(0, 2500, 4000);
	send_wait(11, 3500, 500);
	send_wait(12, 4500, 600);
	send_account(0);
	collect_exit(collect, key.tgid, key.tgid, 90400);
	end_rounds(10);
	assert_true(process_known(collect, &key)->forgotten);
	check_late_stacks();
}

/* The account of a process that is never met is dropped. */
static void test_no_samples(void **state)
{
	send_account(300);
	end_rounds(1);
	assert_int_equal(collect->intake->accounts.n, 1);
	end_rounds(1);
	assert_int_equal(collect->intake->accounts.n, 0);
	assert_int_equal(accounts(), 0);
	assert_int_equal(sums().n, 0);
	assert_null(process_known(collect, &key));
}

static uint32_t thread_id;

static void *name_itself(void *arg)
{
	pthread_setname_np(pthread_self(), "late");
	thread_id = (uint32_t)syscall(SYS_gettid);
	send_sample(thread_id);
	end_rounds(1);
	return NULL;
}

/* A thread ends before the record of its process comes. */
static void test_name(void **state)
{
	pthread_t thread;
	struct sums s;

	assert_int_equal(pthread_create(&thread, NULL, name_itself, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	send_proc();
	end_rounds(1);
	s = sums();
	assert_int_equal(s.n, 1);
	assert_string_equal(text(&s, "thread"), "late");
}

/* Samples that wait count as memory as long as they wait. */
static void test_memory(void **state)
{
	for (int i = 0; i < 10000; i++)
		send_sample(key.tgid);
	flush();
	assert_int_equal(collect->n_waiting, 10000);
	assert_int_equal(collect->kept.waiting, 10000 * sizeof(struct waiting));
	send_proc();
	end_rounds(2);
	assert_int_equal(collect->n_waiting, 0);
	assert_int_equal(collect->kept.waiting, 0);
	assert_int_equal(collect->intake->waiting.cap, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_expected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ask, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_execed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_account_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_stacks_of_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
