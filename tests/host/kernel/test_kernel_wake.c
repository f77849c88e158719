/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests which thread ends a wait for a lock (the waker): the thread whose futex call wakes the
 * waiting one up. If an interrupt wakes a thread up, there is no waker, whichever thread was
 * interrupted. Exactly one record names the waker.
 */
#include "kernel_switch.h"

#include "events/wake.bpf.h"

#define WAITER_CALL (FUTEX_WAIT_BITSET | FUTEX_PRIVATE)
#define WAKER_CALL  (FUTEX_WAKE | FUTEX_PRIVATE)
#define WAKER	    (TGID + 1) /* tid of another thread of the same process */
#define STRANGER    60	       /* tid of a thread of another process */
#define NUMBER_EXIT (CALL_FUTEX + 3)

static struct made waker, stranger;

static int setup_wakers(void **state)
{
	int r = setup(state);

	make(&waker, WAKER, &parent);
	waker.task.mm = process.task.mm;
	waker.task.tgid = TGID;
	waker.task.group_leader = &process.task;
	make(&stranger, STRANGER, &parent);
	return r;
}

/* The thread begins to wait in a futex call on @addr. */
static void wait_in(uint64_t addr, uint64_t operation)
{
	enter_futex(addr, operation);
	leave(SLEEPS);
}

/*
 * After 10 ms, the thread is woken up and gets a CPU. At that moment, thread @by is in system call
 * @number.
 */
static void wake(struct made *by, uint64_t number, uint64_t addr, uint64_t operation)
{
	__u64 ctx[] = {(uintptr_t)&process.task};

	shim.now_ns += 10 * MS;
	enter_futex(addr, operation);
	if (number != CALL_FUTEX)
		enter(number, addr);
	shim.task = &by->task;
	on_waking(ctx);
	shim.task = &process.task;
	switch_tasks(&idle, &process);
}

/* Returns the index in shim.sent of the last record of a wait. */
static size_t last(void)
{
	size_t i = shim.n_sent;

	do
		assert_true(i--);
	while (shim.sent[i].bytes[0] != REC_WAIT);
	return i;
}

static const struct rec_wait *last_wait(void)
{
	return (const void *)shim.sent[last()].bytes;
}

/*
 * The thread leaves its CPU again, so that the wait's record is sent. Returns the waker in the
 * record; 0: none.
 */
static uint32_t woken_by(void)
{
	enter(NUMBER_READ, 3);
	leave(SLEEPS);
	assert_int_equal(last_wait()->sample.weight, 10 * MS);
	if (shim.sent[last()].n == WAIT_BYTES)
		return 0;
	assert_int_equal(shim.sent[last()].n, sizeof(struct rec_wait));
	return last_wait()->waker.tid;
}

static void test_woken(void **state)
{
	const struct rec_sample *by;

	(void)state;
	wait_in(A_FUTEX, WAITER_CALL);
	wake(&waker, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	assert_int_equal(woken_by(), WAKER);
	by = &last_wait()->waker;
	assert_int_equal(by->type, REC_SAMPLE);
	assert_int_equal(by->proc.tgid, TGID);
	assert_int_equal(by->weight, 0);
	assert_true(by->time_ns > last_wait()->since_ns);
}

/* Futex operations that wake waiters make the caller a waker; other operations don't. */
static void test_operations(void **state)
{
	static const int wakes[] = {FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP,
				    FUTEX_WAKE_BITSET};
	static const int others[] = {FUTEX_WAIT, FUTEX_WAIT_BITSET, 2, 6, 7, 8, 11, 12, 13};

	(void)state;
	for (size_t i = 0; i < sizeof(wakes) / sizeof(*wakes); i++) {
		wait_in(A_FUTEX, WAITER_CALL);
		wake(&waker, CALL_FUTEX, A_FUTEX, wakes[i] | FUTEX_PRIVATE);
		assert_int_equal(woken_by(), WAKER);
		switch_tasks(&idle, &process);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		wait_in(A_FUTEX, WAITER_CALL);
		wake(&waker, CALL_FUTEX, A_FUTEX, others[i] | FUTEX_PRIVATE);
		assert_int_equal(woken_by(), 0);
		switch_tasks(&idle, &process);
	}
}

/* An interrupt wakes the thread up. The interrupted thread is in some system call, or in none. */
static void test_interrupts(void **state)
{
	(void)state;
	wait_in(A_FUTEX, WAITER_CALL);
	wake(&waker, NUMBER_EXIT, A_FUTEX, WAKER_CALL);
	assert_int_equal(woken_by(), 0);
	switch_tasks(&idle, &process);
	wait_in(A_FUTEX, WAITER_CALL);
	wake(&waker, (uint64_t)-1, A_FUTEX, WAKER_CALL);
	assert_int_equal(woken_by(), 0);
	switch_tasks(&idle, &process);
	wait_in(A_FUTEX, WAITER_CALL);
	/* this call wakes waiters of another futex */
	wake(&waker, CALL_FUTEX, A_FUTEX + 4, WAKER_CALL);
	assert_int_equal(woken_by(), 0);
}

/* Processes may map a shared futex at different addresses, but at the same offset in the page. */
static void test_processes(void **state)
{
	(void)state;
	wait_in(A_FUTEX + 16, FUTEX_WAIT_BITSET);
	wake(&stranger, CALL_FUTEX, A_FUTEX + 0x77000 + 16, FUTEX_WAKE);
	assert_int_equal(woken_by(), STRANGER);
	switch_tasks(&idle, &process);
	wait_in(A_FUTEX + 16, FUTEX_WAIT_BITSET);
	wake(&stranger, CALL_FUTEX, A_FUTEX + 0x77000 + 20, FUTEX_WAKE);
	assert_int_equal(woken_by(), 0);
	switch_tasks(&idle, &process);
	/* a private futex: the same address in another process is another futex */
	wait_in(A_FUTEX, WAITER_CALL);
	wake(&stranger, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	assert_int_equal(woken_by(), 0);
	switch_tasks(&idle, &process);
	wait_in(A_FUTEX, WAITER_CALL);
	wake(&stranger, CALL_FUTEX, A_FUTEX, FUTEX_WAKE);
	assert_int_equal(woken_by(), 0);
}

/* A wait for the GIL has no waker. The GIL's holder is blamed for it instead. */
static void test_gil(void **state)
{
	(void)state;
	wait_in(A_FUTEX, WAITER_CALL);
	entry()->wait.flags |= WAIT_FOR_GIL;
	wake(&waker, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	assert_int_equal(woken_by(), 0);
	switch_tasks(&idle, &process);
	wait_in(A_FUTEX, WAITER_CALL);
	entry()->wait.sample.gil = GIL_WAITING;
	wake(&waker, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	assert_int_equal(woken_by(), 0);
}

/*
 * The kernel program looks for the waker only if the wait's stack was taken. The look costs a part
 * of the budget.
 */
static void test_budget(void **state)
{
	uint64_t spent, samples;
	__u32 counter = COUNT_SAMPLES;

	(void)state;
	shim.tick_ns = 100;
	wait_in(A_FUTEX, WAITER_CALL);
	spent = wait_spent_ns;
	wake(&waker, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	assert_true(wait_spent_ns > spent);
	leave(SLEEPS);
	assert_int_equal(last_wait()->waker.tid, WAKER);
	switch_tasks(&idle, &process);
	wait_in(A_FUTEX, WAITER_CALL);
	entry()->times = 0;
	spent = wait_spent_ns;
	samples = *(uint64_t *)bpf_map_lookup_elem(&counters, &counter);
	wake(&waker, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	assert_int_equal(wait_spent_ns, spent);
	assert_int_equal(*(uint64_t *)bpf_map_lookup_elem(&counters, &counter), samples);
	shim.tick_ns = 0;
}

/*
 * A waker is named for one wait only. The next wait, whose end was caused by nobody, has none. Nor
 * has a record of left-over time at the thread's end.
 */
static void test_once(void **state)
{
	(void)state;
	wait_in(A_FUTEX, WAITER_CALL);
	wake(&waker, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	assert_int_equal(woken_by(), WAKER);
	shim.now_ns += 10 * MS;
	switch_tasks(&idle, &process);
	assert_int_equal(woken_by(), 0);
	switch_tasks(&idle, &process);
	wait_in(A_FUTEX, WAITER_CALL);
	wake(&waker, CALL_FUTEX, A_FUTEX, WAKER_CALL);
	shim.full = true; /* the record is lost; its time goes into a later record */
	leave(0);
	shim.full = false;
	switch_tasks(&idle, &process);
	shim.n_sent = 0;
	leave(TASK_DEAD);
	assert_int_equal(shim.sent[last()].n, WAIT_BYTES);
	assert_true(last_wait()->others_ns > 9 * MS);
}

/* The waker is a thread that isn't recorded. */
static void test_unwanted(void **state)
{
	struct proc_entry ignored = {.state = PROC_IGNORED};
	__u32 tgid = STRANGER;

	(void)state;
	read_key(&stranger.task, STRANGER, &ignored.key);
	bpf_map_update_elem(&procs, &tgid, &ignored, BPF_ANY);
	wait_in(A_FUTEX, FUTEX_WAIT_BITSET);
	wake(&stranger, CALL_FUTEX, A_FUTEX, FUTEX_WAKE);
	assert_int_equal(woken_by(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_woken, setup_wakers, teardown),
		cmocka_unit_test_setup_teardown(test_operations, setup_wakers, teardown),
		cmocka_unit_test_setup_teardown(test_interrupts, setup_wakers, teardown),
		cmocka_unit_test_setup_teardown(test_processes, setup_wakers, teardown),
		cmocka_unit_test_setup_teardown(test_gil, setup_wakers, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup_wakers, teardown),
		cmocka_unit_test_setup_teardown(test_once, setup_wakers, teardown),
		cmocka_unit_test_setup_teardown(test_unwanted, setup_wakers, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
