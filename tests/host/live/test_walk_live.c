/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the walkers on live interpreters, which are read with process_vm_readv(). For two blocked
 * threads of every installed interpreter, the walk must find the stack that stack.py has printed.
 * If every Nth read fails, the walk must find the innermost part of that stack, and give an outcome
 * that says why the rest is missing.
 */
#include "walk_live.h"

/* number of frames that the stack walk without failing reads has found */
static size_t n_clean;
static struct wire_frame clean[ABI_MAX_FRAMES];
static uint64_t clean_addr[ABI_MAX_FRAMES];

/*
 * Checks that the stack walk with failing reads has found consecutive frames of the stack. They
 * begin with the innermost frame or, in 3.11 and 3.12, with that of an evaluation loop further out.
 */
static void assert_part(void)
{
	size_t from = 0;

	while (host.w->n && from < n_clean && host.addrs->frame[0] != clean_addr[from])
		from++;
	assert_true(!from || host.layout.walk == PY_WALK_CFRAME);
	assert_true(from + host.w->n <= n_clean);
	for (size_t i = 0; i < host.w->n; i++) {
		assert_int_equal(host.addrs->frame[i], clean_addr[from + i]);
		assert_true(host_same_frame(&host.out->frame[i], &clean[from + i]));
	}
	if (host.w->outcome == WALK_OK)
		assert_int_equal(from + host.w->n, n_clean);
}

/*
 * Checks that the stack walk finds the GIL released, because both threads are in read(). Unless
 * @certain, it may also say that it doesn't know.
 */
static void assert_released(bool certain)
{
	const struct futex_call none = {.op = -1};
	uint8_t got = gil_of(host.w, &host.layout, &none);

	if (certain || got != GIL_UNKNOWN)
		assert_int_equal(got, target.where.gil == PY_GIL_FREE ? GIL_NONE : GIL_RELEASED);
}

static void walk_failing(uint64_t tp)
{
	assert_released(true);
	n_clean = host.w->n;
	memcpy(clean, host.out->frame, sizeof(clean));
	memcpy(clean_addr, host.addrs->frame, sizeof(clean_addr));
	for (host.fail_nth = 1; host.fail_nth <= 200; host.fail_nth++) {
		host_walk(&target.where, tp);
		assert_part();
		assert_released(false);
	}
	host.fail_nth = 0;
}

static void walk_thread(pid_t tid, const struct truth *truth)
{
	uint64_t tp = 0;
	size_t n;

	assert_true(blocks_in_read(tid));
	if (!thread_pointer(tid, &tp))
		fail_msg("ptrace of %d failed: %s", tid, strerror(errno));
	host_forget_sent();
	assert_int_equal(host_walk(&target.where, tp), WALK_OK);
	send_stack(host.w);
	if (!is_part_of(truth, &n))
		fail_msg("frame %zu isn't the program's", n);
	assert_int_equal(n, truth->n);
	walk_failing(tp);
}

static void test_interpreter(void **state)
{
	const struct interpreter *p = *state;
	const char *why;

	start(p->path);
	if (!read_truth() || !read_truth())
		fail_msg("%s said nothing of its stack", p->name);
	host.pid = target.pid;
	why = find();
	if (why) {
		printf("SKIP walk_live %s: %s\n", p->name, why);
		return;
	}
	walk_thread(target.pid, &target.main);
	walk_thread(second_thread(), &target.thread);
}

int main(void)
{
	return each_interpreter("walk_live", test_interpreter, NULL);
}
