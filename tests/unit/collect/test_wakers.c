/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wait's record says which thread ended the wait. Once krait knows that the wait was for a lock,
 * and not for work, it blames that thread: it adds a sample with that thread's stack and the time
 * of the wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/text/str.h"
#include "collect/internal.h"
#include "collect/thread/internal.h"
#include "one_layout.h"

#define WAITER 71
#define WAKER  72

static const struct proc_key key = {.start_ns = 1000, .tgid = 0x7ffffff0, .exec_id = 1};

static const struct collect_ops ops = {
	.add_layout = add_layout, .layout = get_layout, .set_proc = set_no_proc};

/* The indexes of the profile's values: samples, off_cpu, then the values of waits. */
enum { SAMPLES, OFF_CPU, LOCK_BLAME = 2 + VALUE_LOCK_BLAME, VALUES = 2 + COLLECT_WAIT_VALUES };

struct fixture {
	struct profile *profile;
	struct collect *collect;
};

static int setup(void **state)
{
	static const char *const idle[] = {"prog.no_work"};
	struct fixture *f = calloc(1, sizeof(*f));
	struct collect_config config = {.ops = &ops,
					.kallsyms = -1,
					.start_ns = 500,
					.n_sources = 1,
					.cpu_source = -1,
					.waits = true,
					.idle_at = idle,
					.n_idle_at = 1};
	struct rec_proc rec = {.type = REC_PROC, .state = PROC_PYTHON, .proc = key, .comm = "prog"};

	f->profile = config.profile = profile_new();
	profile_meta(f->profile)->n_values = VALUES;
	f->collect = collect_new(&config);
	collect_record(f->collect, &rec, sizeof(rec));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	collect_free(f->collect);
	profile_free(f->profile);
	free(f);
	return 0;
}

/* Sends stack @id, whose only frame is a function of prog.py. */
static void send_stack(struct fixture *f, uint64_t id, const char *name)
{
	const char *texts[] = {"/app/prog.py", NULL, name, NULL};
	struct rec_code code = {
		.type = REC_CODE, .code = id, .check = id + 1, .proc = key, .version = 1};
	struct {
		struct rec_stack head;
		struct wire_frame frame;
	} stack = {{.type = REC_STACK, .outcome = WALK_OK, .n = 1, .stack = id, .proc = key},
		   {.code = id, .check = id + 1, .lasti = -1}};
	_cleanup_str_ struct str out = {};

	for (int i = 0; i < CODE_TEXT_MAX; i++)
		if (texts[i])
			code.text[i] = (struct wire_text){.addr = 1,
							  .len = strlen(texts[i]),
							  .bytes = strlen(texts[i]),
							  .kind = 1,
							  .ascii = 1};
	str_add_n(&out, &code, sizeof(code));
	for (int i = 0; i < CODE_TEXT_MAX; i++) {
		str_add(&out, texts[i] ?: "");
		while (out.n % 8)
			str_add_c(&out, '\0');
	}
	collect_record(f->collect, out.s, out.n);
	collect_record(f->collect, &stack, sizeof(stack));
}

#define WAITS	 11 /* stacks */
#define RELEASES 12
#define NO_WORK	 13

static struct rec_sample sample(uint32_t tid, uint64_t stack, uint64_t weight)
{
	return (struct rec_sample){.type = REC_SAMPLE,
				   .outcome = WALK_OK,
				   .tid = tid,
				   .time_ns = 2500,
				   .stack = stack,
				   .proc = key,
				   .weight = weight};
}

/* Makes the record of a wait of 1,000 ns with stack @stack, which thread WAKER ended. */
static struct rec_wait wait_in(uint64_t stack)
{
	struct rec_wait wait = {.sample = sample(WAITER, stack, 1000),
				.since_ns = 1500,
				.call = SYS_futex,
				.state = 1,
				.waker = sample(WAKER, RELEASES, 0)};

	wait.sample.type = REC_WAIT;
	return wait;
}

static void send_wait(struct fixture *f, const struct rec_wait *wait)
{
	collect_record(f->collect, wait, sizeof(*wait));
}

struct sums {
	struct fixture *f;
	int64_t of[VALUES];
	unsigned n;
	struct profile_sample blame; /* the last sample that blames a thread */
};

static int add(void *arg, const struct profile_sample *s)
{
	struct sums *sums = arg;

	sums->n++;
	for (unsigned i = 0; i < VALUES; i++)
		sums->of[i] += s->values[i];
	if (s->values[LOCK_BLAME])
		sums->blame = *s;
	return 0;
}

static struct sums flushed(struct fixture *f, bool last)
{
	struct sums sums = {.f = f};

	assert_int_equal(collect_flush(f->collect, last), 0);
	assert_int_equal(profile_each(f->profile, add, &sums), 0);
	return sums;
}

static const char *text(const struct sums *s, const char *label)
{
	return profile_label_text(s->f->profile, s->blame.labels, label);
}

static const char *function(const struct sums *s)
{
	const struct profile *p = s->f->profile;
	size_t n;
	const uint32_t *at = profile_get_stack(p, s->blame.stack, &n);

	assert_int_equal(n, 1);
	return profile_get_string(
		p, profile_get_function(p, profile_get_location(p, at[0])->function)->name);
}

static void test_blame(void **state)
{
	struct fixture *f = *state;
	struct rec_wait wait = wait_in(WAITS);
	struct sums s;

	send_stack(f, WAITS, "waits");
	send_stack(f, RELEASES, "releases");
	send_wait(f, &wait);
	collect_comm(f->collect, key.tgid, WAITER, "one");
	flushed(f, false);
	s = flushed(f, true);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.of[SAMPLES], 1);
	assert_int_equal(s.of[OFF_CPU], 1000);
	assert_int_equal(s.of[LOCK_BLAME], 1000);
	assert_string_equal(function(&s), "releases");
	assert_string_equal(text(&s, "tid"), "72");
	assert_string_equal(text(&s, "waiter_tid"), "71");
	/* the blaming sample has no state, because the waker neither ran nor waited in it */
	assert_string_equal(text(&s, "state"), "");
	assert_int_equal(s.blame.time_ns, 2000);
}

/*
 * The label that names the waiter has the waiter's name at that moment. After the thread was
 * renamed, later labels have the new name.
 */
static void test_names(void **state)
{
	struct fixture *f = *state;
	struct rec_wait wait = wait_in(WAITS);
	struct sums s;

	send_stack(f, WAITS, "waits");
	send_stack(f, RELEASES, "releases");
	send_wait(f, &wait);
	flushed(f, false);
	s = flushed(f, false);
	assert_string_equal(text(&s, "waiter"), "");
	collect_comm(f->collect, key.tgid, WAITER, "one");
	send_wait(f, &wait);
	s = flushed(f, false);
	assert_string_equal(text(&s, "waiter"), "one");
	collect_comm(f->collect, key.tgid, WAITER, "two");
	send_wait(f, &wait);
	s = flushed(f, true);
	assert_string_equal(text(&s, "waiter"), "two");
}

/* No thread is blamed for ending a wait for work, or a wait for something that isn't a lock. */
static void test_other_waits(void **state)
{
	struct fixture *f = *state;
	struct rec_wait idle = wait_in(NO_WORK), asleep = wait_in(WAITS), gil = wait_in(WAITS);
	struct sums s;

	asleep.call = SYS_nanosleep;
	gil.flags = WAIT_FOR_GIL;
	send_stack(f, WAITS, "waits");
	send_stack(f, RELEASES, "releases");
	send_stack(f, NO_WORK, "no_work");
	send_wait(f, &idle);
	send_wait(f, &asleep);
	send_wait(f, &gil);
	flushed(f, false);
	s = flushed(f, true);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.of[OFF_CPU], 3000);
	assert_int_equal(s.of[LOCK_BLAME], 0);
}

/*
 * The stacks of the waiter and of the waker (which ended the wait) come in any order, with other
 * samples in between.
 */
static void test_late_stacks(void **state)
{
	struct fixture *f = *state;
	struct rec_wait wait = wait_in(WAITS), other = wait_in(NO_WORK);
	struct rec_sample ran = sample(WAKER, RELEASES, 7);

	send_stack(f, RELEASES, "releases");
	send_wait(f, &wait);
	collect_record(f->collect, &ran, sizeof(ran));
	send_wait(f, &other);
	flushed(f, false);
	assert_int_equal(flushed(f, false).of[LOCK_BLAME], 0);
	send_stack(f, NO_WORK, "no_work");
	assert_int_equal(flushed(f, false).of[LOCK_BLAME], 0);
	send_stack(f, WAITS, "waits");
	assert_int_equal(flushed(f, false).of[LOCK_BLAME], 1000);
	wait.waker.stack = RELEASES + 100;
	send_wait(f, &wait);
	assert_int_equal(flushed(f, false).of[LOCK_BLAME], 1000);
	send_stack(f, RELEASES + 100, "releases_too");
	assert_int_equal(flushed(f, true).of[LOCK_BLAME], 2000);
	assert_int_equal(f->collect->n_waiting, 0);
}

/*
 * Before the waker's stack comes, the waiting thread ends, and a new thread gets its entry in
 * krait's table.
 */
static void test_forgotten_waiter(void **state)
{
	struct fixture *f = *state;
	struct rec_wait wait = wait_in(WAITS);
	struct rec_sample other = sample(WAITER + 100, WAITS, 7);
	struct sums s;

	send_stack(f, WAITS, "waits");
	send_wait(f, &wait);
	flushed(f, false);
	collect_exit(f->collect, key.tgid, WAITER, 2600);
	collect_exit(f->collect, key.tgid, 8, 20 * NSEC_PER_SEC);
	collect_record(f->collect, &other, sizeof(other));
	flushed(f, false);
	assert_int_equal(f->collect->threads->free.n, 0);
	send_stack(f, RELEASES, "releases");
	s = flushed(f, true);
	assert_int_equal(s.of[LOCK_BLAME], 1000);
	assert_string_equal(text(&s, "waiter_tid"), "");
	assert_string_equal(text(&s, "tid"), "72");
}

/*
 * A record that names no thread that ended the wait (waker): it is too short, or says that there is
 * no waker, or names an impossible one.
 */
static void test_no_waker(void **state)
{
	struct fixture *f = *state;
	struct rec_wait wait = wait_in(WAITS);
	struct sums s;

	send_stack(f, WAITS, "waits");
	send_stack(f, RELEASES, "releases");
	collect_record(f->collect, &wait, WAIT_BYTES);
	wait.waker.outcome = WALK_OUTCOME_MAX;
	send_wait(f, &wait);
	wait = wait_in(WAITS);
	wait.waker.tid = 0;
	send_wait(f, &wait);
	flushed(f, false);
	s = flushed(f, true);
	assert_int_equal(s.of[OFF_CPU], 3000);
	assert_int_equal(s.of[LOCK_BLAME], 0);
}

/*
 * If krait never learns to which process the waker (the thread that ended the wait) belongs, the
 * wait is shown without it.
 */
static void test_unknown_process(void **state)
{
	struct fixture *f = *state;
	struct rec_wait wait = wait_in(WAITS);
	struct sums s;

	wait.waker.proc.tgid--;
	wait.waker.outcome = WALK_PENDING;
	wait.waker.stack = 0;
	send_stack(f, WAITS, "waits");
	send_wait(f, &wait);
	flushed(f, false);
	s = flushed(f, true);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.of[OFF_CPU], 1000);
	assert_int_equal(f->collect->n_waiting, 0);
}

/* A thread ends waits of ever new threads. The number of its label sets stays bounded. */
static void test_many_waiters(void **state)
{
	struct fixture *f = *state;
	struct rec_wait wait = wait_in(WAITS);
	struct sums s = {};
	unsigned labelled = 0;

	send_stack(f, WAITS, "waits");
	send_stack(f, RELEASES, "releases");
	flushed(f, false);
	for (uint32_t i = 0; i < 1500; i++) {
		wait.sample.tid = 1000 + i;
		send_wait(f, &wait);
		s = flushed(f, false);
	}
	for (uint32_t id = 1; id <= profile_n_labels(f->profile); id++)
		labelled += profile_label_value(f->profile, id, "waiter_tid") != 0;
	assert_int_equal(s.of[LOCK_BLAME], 1500 * 1000);
	/* the label sets are made again when krait knows more of the process */
	assert_in_range(labelled, 1000, 1100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blame, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgotten_waiter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_waker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_waiters, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
