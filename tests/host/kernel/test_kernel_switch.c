/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The waits of a thread, from its task switches to the records. No time may be lost if the ring is
 * full or if a stack can't be taken. Also tests which threads are recorded, which waits belong to
 * one site (place in the program), what happens with waits that user space has read, and how long
 * threads waited for the GIL, and for whom.
 */
#include "kernel_switch.h"

#include "events/exec.bpf.h"

static struct rq rq;
static struct cfs_rq queue = {&rq};

/*
 * Returns the sum of waiting time in all records that were sent, including time of waits without a
 * stack.
 */
static uint64_t sent_ns(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < shim.n_sent; i++) {
		const struct rec_wait *rec = (const void *)shim.sent[i].bytes;

		if (rec->sample.type == REC_WAIT)
			sum += rec->sample.weight + rec->others_ns;
	}
	return sum;
}

/* Returns how much of the waiting time in all records was spent waiting for the GIL. */
static uint64_t sent_gil_ns(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < shim.n_sent; i++) {
		const struct rec_wait *rec = (const void *)shim.sent[i].bytes;

		if (rec->sample.type == REC_WAIT)
			sum += rec->gil_ns + rec->gil_others_ns;
	}
	return sum;
}

static void test_wait(void **state)
{
	(void)state;
	wait_for(10 * MS);
	assert_int_equal(sent_ns(), 0);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 10 * MS);
	assert_null(entry());
}

static const struct rec_account *account_sent(void)
{
	const struct rec_account *a = (const void *)shim.sent[shim.n_sent - 1].bytes;

	assert_true(shim.n_sent && a->sample.type == REC_ACCOUNT);
	return a;
}

/*
 * When a whole process ends, the account (last record) of each of its threads has the exit status.
 * When a single thread ends, only the account of the process's first thread has one.
 */
static void test_exit_status(void **state)
{
	struct signal_struct group = {.flags = SIGNAL_GROUP_EXIT, .group_exit_code = 9 << 8};
	struct signal_struct alone = {.group_exit_code = 8 << 8};
	const struct {
		struct signal_struct *signal;
		int tid;
		__u32 status;
	} ends[] = {{&group, 0, 9 << 8}, {&group, 1, 9 << 8}, {&alone, 0, 7 << 8}, {&alone, 1, 0}};
	int first = process.task.tgid;

	(void)state;
	process.task.exit_code = 7 << 8;
	process.task.flags |= PF_EXITING;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		process.task.signal = ends[i].signal;
		process.task.pid = first + ends[i].tid;
		wait_for(10 * MS);
		leave(TASK_DEAD);
		assert_int_equal(account_sent()->exit_status, ends[i].status);
	}
	process.task.pid = first;
	process.task.signal = NULL;
	process.task.flags = 0;
}

/* The ring is full and refuses a record. The time in it is sent with the thread's next record. */
static void test_full_ring(void **state)
{
	(void)state;
	wait_for(10 * MS);
	shim.full = true;
	leave(SLEEPS);
	shim.full = false;
	shim.now_ns += 20 * MS;
	switch_tasks(&idle, &process);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 30 * MS);
}

/*
 * In the middle of execve() no stack can be taken. The time of waits there is added to the next
 * record with a stack.
 */
static void test_in_execve(void **state)
{
	(void)state;
	process.task.self_exec_id = 1;
	process.mm.start_code = 0;
	wait_for(5 * MS);
	process.mm.start_code = 0x500000;
	set_proc(PROC_NATIVE);
	wait_for(7 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 12 * MS);
}

/*
 * Returns the last record of a wait. If the thread has ended, the record of its account comes after
 * that.
 */
static const struct rec_wait *last_wait(void)
{
	const struct rec_wait *last = NULL;

	for (size_t i = 0; i < shim.n_sent; i++)
		if (((const struct rec_wait *)(const void *)shim.sent[i].bytes)->sample.type ==
		    REC_WAIT)
			last = (const void *)shim.sent[i].bytes;
	assert_non_null(last);
	return last;
}

/*
 * The stack of a thread's last wait can't be taken. The time of that wait goes to the last stack
 * that was taken.
 */
static void test_last_stack(void **state)
{
	(void)state;
	wait_for(10 * MS);
	process.task.self_exec_id = 1;
	process.mm.start_code = 0;
	enter(NUMBER_OTHER, 4);
	wait_for(5 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 15 * MS);
	assert_int_equal(last_wait()->others_ns, 5 * MS);
	assert_int_equal(last_wait()->call, NUMBER_READ);
	assert_int_equal(last_wait()->arg[0], 3);
}

/*
 * When a thread ends, the kernel program sends the waiting time that is in no record yet: for each
 * site (place in the program) a record with the sum. Such a record doesn't count as a wait.
 */
static void test_owed(void **state)
{
	uint64_t ns[WAIT_SITES] = {};
	unsigned first, second;

	(void)state;
	wait_for(MS);
	shim.full = true;
	leave(SLEEPS);
	first = entry()->site;
	shim.now_ns += 3 * MS;
	switch_tasks(&idle, &process);
	enter(NUMBER_OTHER, 5);
	leave(SLEEPS);
	second = entry()->site;
	shim.now_ns += 5 * MS;
	switch_tasks(&idle, &process);
	leave(0);
	shim.full = false;
	shim.n_sent = 0;
	leave(TASK_DEAD);
	for (size_t i = 0; i < shim.n_sent; i++) {
		const struct rec_wait *rec = (const void *)shim.sent[i].bytes;

		if (rec->sample.type != REC_WAIT)
			continue;
		assert_int_equal(rec->times, 0);
		assert_int_equal(rec->sample.weight, 0);
		ns[rec->site] += rec->others_ns;
	}
	assert_int_not_equal(first, second);
	assert_int_equal(ns[first], 4 * MS);
	assert_int_equal(ns[second], 5 * MS);
}

/*
 * None of the thread's stacks can be taken, because another program uses the state of stack walks.
 */
static void test_never_a_stack(void **state)
{
	__u32 slot = SLOT_SWITCH;
	struct walk *w = bpf_map_lookup_elem(&walk_states, &slot);

	(void)state;
	w->users = 1;
	wait_for(5 * MS);
	wait_for(6 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 11 * MS);
	assert_int_equal(last_wait()->sample.tid, TGID);
	assert_int_equal(last_wait()->sample.proc.tgid, TGID);
	assert_int_equal(last_wait()->call, -1);
	set_proc(PROC_PENDING);
	wait_for(5 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 11 * MS);
	w->users = 0;
}

/*
 * A process isn't recorded any more. When the kernel program notices that, it sends the waiting
 * time of the thread that is in no record yet.
 */
static void test_unwanted_later(void **state)
{
	(void)state;
	wait_for(10 * MS);
	shim.full = true;
	leave(SLEEPS);
	shim.full = false;
	shim.now_ns += 5 * MS;
	switch_tasks(&idle, &process);
	set_proc(PROC_IGNORED);
	leave(SLEEPS);
	assert_null(entry());
	assert_int_equal(sent_ns(), 15 * MS);
	leave(SLEEPS);
	assert_null(entry());
	assert_int_equal(sent_ns(), 15 * MS);
}

/*
 * A thread of a process that isn't recorded gets no entry in the map of waits. After execve() the
 * thread may get one.
 */
static void test_unwanted(void **state)
{
	(void)state;
	set_proc(PROC_IGNORED);
	leave(SLEEPS);
	assert_null(entry());
	process.task.self_exec_id = 1;
	leave(SLEEPS);
	assert_non_null(entry());
}

/*
 * The kernel program remembers that a process isn't recorded, and doesn't look it up again until
 * forget_strangers(). The same holds for a thread without an entry in the map of waits.
 */
static void test_stranger(void **state)
{
	(void)state;
	set_proc(PROC_IGNORED);
	leave(SLEEPS);
	set_proc(PROC_NATIVE);
	leave(SLEEPS);
	assert_null(entry());
	forget_strangers();
	leave(SLEEPS);
	assert_non_null(entry());
	assert_int_equal(threads_met[TGID % THREADS_MET], 1);
	leave(TASK_DEAD);
	assert_int_equal(threads_met[TGID % THREADS_MET], 0);
}

/* Two threads whose numbers have the same low bits aren't mistaken for each other. */
static void test_same_bits(void **state)
{
	static struct made other;

	(void)state;
	make(&other, TGID + THREADS_MET, NULL);
	other.task.flags = PF_KTHREAD;
	leave(SLEEPS);
	switch_tasks(&idle, &other);
	switch_tasks(&other, &idle);
	assert_int_equal(entry()->phase, WAIT_WAITS);
}

/*
 * If the kernel program learns only with the first stack that a process isn't recorded, it removes
 * the thread's entry from the map of waits.
 */
static void test_unwanted_found(void **state)
{
	__u32 tgid = TGID;

	(void)state;
	bpf_map_delete_elem(&procs, &tgid);
	process.task.real_parent = NULL;
	leave(SLEEPS);
	assert_null(entry());
}

/*
 * Another CPU has changed wait_period_ns after this CPU read its clock. So the time since the
 * change seems negative.
 */
static void test_clock_behind(void **state)
{
	(void)state;
	wait_spent_ns = 5;
	wait_adjusted_ns = 1000;
	adjust_period(999);
	assert_int_equal(wait_adjusted_ns, 1000);
	assert_int_equal(wait_spent_ns, 5);
	adjust_period(1000 + ADJUST_MOST);
	assert_int_equal(wait_spent_ns, 0);
}

/*
 * wait_period_ns (the longer it is, the fewer stacks are taken) is changed early only if enough
 * time was spent on stacks to compute how long the period must be.
 */
static void test_period_changes(void **state)
{
	(void)state;
	wait_adjusted_ns = 1000;
	wait_burst_ns = wait_budget_ppm * 1000ull * BURST_S;
	wait_spent_ns = ADJUST_LEAST - 1;
	adjust_period(1000 + ADJUST_NS);
	assert_int_equal(wait_period_ns, 0);
	wait_spent_ns = ADJUST_LEAST;
	adjust_period(1000 + ADJUST_NS);
	/* 32 stacks of 50 us cost 9.5 times the budget, which is 1 % of 16.8 ms */
	assert_in_range(wait_period_ns, 9.4 * PERIOD_LEAST, 9.6 * PERIOD_LEAST);
	wait_spent_ns = 0;
	adjust_period(1000 + ADJUST_NS + ADJUST_MOST);
	assert_in_range(wait_period_ns, 4.6 * PERIOD_LEAST, 4.8 * PERIOD_LEAST);
}

/*
 * Stacks in a burst may cost as much as the budget allows in 10 s. What one burst doesn't use, the
 * next burst may use.
 */
static void test_burst(void **state)
{
	uint64_t now = 1000, allowed = MS * 134 / 100, spent = 0;

	(void)state;
	wait_adjusted_ns = now;
	for (; !wait_period_ns && spent < 200 * MS; spent += 20 * allowed) {
		wait_spent_ns = 20 * allowed;
		adjust_period(now += ADJUST_MOST);
	}
	assert_in_range(spent, 100 * MS, 150 * MS);
	for (int i = 0; wait_period_ns && i < 50; i++)
		adjust_period(now += ADJUST_MOST);
	assert_int_equal(wait_period_ns, 0);
	wait_spent_ns = 60 * allowed;
	adjust_period(now += ADJUST_MOST);
	assert_int_not_equal(wait_period_ns, 0);
	for (int i = 0; i < 100; i++)
		adjust_period(now += ADJUST_MOST);
	wait_spent_ns = 60 * allowed;
	adjust_period(now += ADJUST_MOST);
	assert_int_equal(wait_period_ns, 0);
}

/* Each stack is charged to the budget with at least STACK_NS, even if taking it took less time. */
static void test_stack_counts(void **state)
{
	(void)state;
	wait_for(MS);
	assert_int_equal(wait_spent_ns, STACK_NS);
	wait_for(MS);
	assert_int_equal(wait_spent_ns, 2 * STACK_NS);
}

/* Sums over all records that were sent. */
struct told {
	unsigned stacks;
	double stand_for; /* for how many waits the records stand, in all */
	uint64_t ns;
};

static void take_sent(struct told *ret)
{
	ret->ns += sent_ns();
	for (size_t i = 0; i < shim.n_sent; i++) {
		const struct rec_wait *rec = (const void *)shim.sent[i].bytes;

		if (rec->sample.type != REC_WAIT || !rec->sample.weight)
			continue;
		ret->stacks++;
		ret->stand_for += (double)rec->times / WAIT_ONE;
	}
	shim.n_sent = 0;
}

/*
 * Takes stacks of waits of 1 ms, with @period as wait_period_ns. The number of stacks must fit the
 * chance with which a stack is taken, and together they must stand for all waits.
 */
static void check_chance(uint64_t period)
{
	struct told told = {};

	wait_adjusted_ns = shim.now_ns + (1ull << 60); /* keeps wait_period_ns unchanged */
	wait_period_ns = period;
	for (int i = 0; i < 500; i++) {
		wait_for(MS);
		take_sent(&told);
	}
	leave(TASK_DEAD);
	take_sent(&told);
	assert_int_equal(told.ns, 500 * MS);
	assert_in_range(told.stacks, 500 * MS / period - 1, 500 * MS / period + 2);
	assert_in_range((uint64_t)told.stand_for, 500 - period / MS - 1, 500 + period / MS + 1);
}

static void test_chance(void **state)
{
	(void)state;
	check_chance(MS);
	check_chance(7 * MS);
	check_chance(100 * MS);
	check_chance(3 * MS / 2);
}

/*
 * A long wait, which user space can read from outside, has a record that counts for this wait
 * alone, whether or not the kernel program chose its stack.
 */
static void test_long(void **state)
{
	(void)state;
	wait_adjusted_ns = shim.now_ns + (1ull << 60);
	wait_for(MS);
	wait_period_ns = PERIOD_MOST;
	do
		wait_for(MS);
	while (entry()->times);
	shim.n_sent = 0;
	/*
	 * puts .mark, at which a stack is taken, so far away that the next wait's stack isn't
	 * chosen
	 */
	entry()->sites[entry()->site].mark = WAIT_STEP;
	leave(SLEEPS);
	assert_int_equal(entry()->times, 0);
	shim.now_ns += WAIT_LONG_NS;
	switch_tasks(&idle, &process);
	leave(SLEEPS);
	assert_true(last_wait()->flags & WAIT_LEFT);
	assert_int_equal(last_wait()->sample.weight, WAIT_LONG_NS);
	assert_int_equal(last_wait()->since_ns + WAIT_LONG_NS, last_wait()->sample.time_ns);
	assert_in_range(last_wait()->others_ns, MS, 1000 * MS);
	assert_int_equal(last_wait()->times, WAIT_ONE);
	assert_int_equal(entry()->wait.flags & WAIT_LEFT, 0);
}

/* Even if the stack of a long wait was chosen, the record stands for this wait alone. */
static void test_long_chosen(void **state)
{
	(void)state;
	wait_adjusted_ns = shim.now_ns + (1ull << 60);
	wait_for(MS);
	wait_period_ns = PERIOD_MOST;
	do
		leave(SLEEPS);
	while (!entry()->times);
	assert_true(entry()->wait.times > WAIT_ONE);
	shim.now_ns += WAIT_LONG_NS;
	switch_tasks(&idle, &process);
	leave(SLEEPS);
	assert_int_equal(last_wait()->flags & WAIT_LEFT, 0);
	assert_int_equal(last_wait()->times, WAIT_ONE);
}

/*
 * Each wait advances .place by the chance that its stack is taken, and where .place passes .mark,
 * the stack is taken. If the chance is high, one wait may pass two marks, and counts twice.
 */
static void test_two_marks(void **state)
{
	struct wait_site s = {.place = WAIT_STEP / 4 * 3, .mark = WAIT_STEP - 1};

	(void)state;
	assert_int_equal(marks_passed(&s, WAIT_ONE * 2), 2);
	assert_int_equal(s.place, WAIT_STEP / 4);
	assert_int_equal(marks_passed(&s, WAIT_ONE * 4), 0);
}

static __u32 site_of(__s32 number, __u64 arg)
{
	struct wait_entry e = {};

	find_site(&e, &(struct call){.number = number, .arg = {arg}});
	return e.sites[e.site].site;
}

/*
 * Waits in the same system call belong to different sites (places in the program) if their
 * descriptors or futexes differ.
 */
static void test_sites(void **state)
{
	(void)state;
	assert_int_equal(site_of(NUMBER_READ, 3), site_of(NUMBER_READ, 3));
	assert_int_not_equal(site_of(NUMBER_READ, 3), site_of(NUMBER_READ, 4));
	assert_int_not_equal(site_of(NUMBER_READ, 3), site_of(NUMBER_OTHER, 3));
	assert_int_equal(site_of(NUMBER_OTHER, A_FUTEX), site_of(NUMBER_OTHER, A_FUTEX + 4096));
	assert_int_not_equal(site_of(CALL_FUTEX, A_FUTEX), site_of(CALL_FUTEX, A_FUTEX + 4096));
	/* -1 is no system call, so the argument makes no difference */
	assert_int_equal(site_of(-1, 3), site_of(-1, 4));
}

/*
 * After a signal or stop, the kernel may restart a system call under another number. The wait
 * counts for the original call.
 */
static void test_restart(void **state)
{
	(void)state;
	enter(CALL_RESTART, A_FUTEX);
	leave(SLEEPS);
	/* the original call isn't known */
	assert_int_equal(entry()->wait.call, CALL_RESTART);
	enter(CALL_FUTEX, A_FUTEX);
	leave(SLEEPS);
	enter(CALL_RESTART, A_FUTEX);
	leave(SLEEPS);
	assert_int_equal(entry()->wait.call, CALL_FUTEX);
}

/*
 * Adds an entry to the map of waits as user space does when it has read that the thread waits. By
 * then, the thread had left its CPU @switches times.
 */
static void add_read_wait(uint64_t switches)
{
	const struct wait_entry e = {
		.wait = {.sample = {.type = REC_WAIT, .tid = TGID}, .since_ns = shim.now_ns},
		.start_ns = process.task.start_time,
		.switches = switches,
		.times = WAIT_ONE,
		.phase = WAIT_WAITS};
	__u32 tid = TGID;

	count_met(tid, 1);
	assert_int_equal(bpf_map_update_elem(&waits, &tid, &e, BPF_NOEXIST), 0);
}

static uint64_t counted(__u32 counter)
{
	const __u64 *n = bpf_map_lookup_elem(&counters, &counter);

	return n ? *n : 0;
}

/*
 * A wait that began before the recording counts if the thread hasn't run since user space read it.
 */
static void test_began_before(void **state)
{
	(void)state;
	process.task.nvcsw = 5;
	process.task.nivcsw = 2;
	add_read_wait(7);
	shim.now_ns += 10 * MS;
	switch_tasks(&idle, &process);
	wait_for(3 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 13 * MS);
}

/*
 * The thread has run since user space read its wait, and now waits again, maybe with another stack.
 * So the stack that was read isn't used.
 */
static void test_read_before_it_ran(void **state)
{
	(void)state;
	process.task.nvcsw = 8;
	add_read_wait(7);
	shim.now_ns += 10 * MS;
	switch_tasks(&idle, &process);
	wait_for(3 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 3 * MS);
}

/*
 * User space adds the wait only after the thread runs again. No time is lost, and COUNT_WAIT_UNSEEN
 * isn't raised.
 */
static void test_added_too_late(void **state)
{
	uint64_t unseen = counted(COUNT_WAIT_UNSEEN);

	(void)state;
	process.task.nvcsw = 7;
	add_read_wait(7);
	shim.now_ns += 10 * MS;
	wait_for(3 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 3 * MS);
	assert_int_equal(counted(COUNT_WAIT_UNSEEN), unseen);
}

/*
 * The kernel program missed the end of a thread, and a new thread has its number. The old thread's
 * waits and account (its final sums) are sent, and the new thread gets none of that time.
 */
static void test_number_again(void **state)
{
	uint64_t unseen = counted(COUNT_WAIT_UNSEEN);
	const struct rec_account *a;

	(void)state;
	began_ns = 0;
	process.task.sched_info.run_delay = 70 * MS;
	wait_for(10 * MS);
	process.task.start_time += SECOND;
	process.task.sched_info.run_delay = MS;
	leave(0);
	assert_int_equal(sent_ns(), 10 * MS);
	a = (const void *)shim.sent[shim.n_sent - 1].bytes;
	assert_int_equal(a->sample.type, REC_ACCOUNT);
	assert_int_equal(a->sample.ready_ns, 70 * MS);
	leave(SLEEPS);
	process.task.start_time += SECOND;
	shim.now_ns += 5 * MS;
	switch_tasks(&idle, &process);
	assert_int_equal(entry()->phase, WAIT_WAITS);
	leave(SLEEPS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 10 * MS);
	assert_int_equal(counted(COUNT_WAIT_UNSEEN), unseen + 1); /* the last one */
}

#define A_GIL	  0x7f0000002000ull
#define A_HOLDER  0x7f0000003000ull
#define A_STATE	  0x7f0000004000ull
#define AN_OWNER  (A_STATE + 152)
#define UNIT	  (1 << GIL_SHIFT)
#define WAIT_CALL 128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */

static struct {
	uint64_t holder;
	int32_t locked, reserved;
} gil_words;

static uint64_t owner; /* thread_id in the thread's PyThreadState */

/* entry in the map of waits: another thread of the process, which waits for the same GIL */
static struct wait_entry other;

/*
 * Lets the thread wait once, so that its entry in the map of waits has the address of its GIL. From
 * then on no stacks are taken.
 */
static void know_gil(void)
{
	struct wait_entry *e;

	wait_for(MS);
	leave(0);
	switch_tasks(&idle, &process);
	e = entry();
	e->gil = other.gil = A_GIL;
	e->gil_bytes = 100;
	e->gil_holder = A_HOLDER;
	e->gil_locks = 1;
	e->tstate = A_STATE;
	e->owner_at = AN_OWNER;
	e->owner = owner = 0x7fff0000;
	shim_give(AN_OWNER, &owner, sizeof(owner));
	e->host_tgid = other.host_tgid = TGID;
	other.gil_slot = GIL_SLOTS;
	gil_words.holder = gil_words.locked = 0;
	shim_give(A_HOLDER, &gil_words, sizeof(gil_words));
	wait_period_ns = PERIOD_MOST;
	for (int i = 0; i < WAIT_SITES; i++) {
		e->sites[i].recent = 1;
		e->sites[i].mark = WAIT_STEP - 1;
	}
}

static struct gil_now gil_now(void)
{
	return gil_value(gil_of_entry(entry())->word, shim.now_ns);
}

/*
 * One 64-bit word holds the number of waiters and the sum of their waiting times. Both are right,
 * however the waits overlap.
 */
static void test_gil_value(void **state)
{
	uint64_t units = 5000000, value = GIL_FIRST, sum = GIL_FIRST;
	unsigned n = 0, random = 1;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		bool begins = !n || (n < 1000 && (random = random * 1103515245 + 12345) >> 31);

		units += i % 97;
		sum += n * (uint64_t)(i % 97);
		value += begins ? GIL_ONE - units : units - GIL_ONE;
		n += begins ? 1 : -1u;
		assert_int_equal(gil_value(value, units * UNIT).waiters, n);
		assert_int_equal(gil_value(value, units * UNIT).sum_ns, sum * UNIT);
	}
}

/*
 * A wait for the GIL lasts from when the thread leaves its CPU until it has a CPU again. That
 * includes the time in which the thread is ready to run.
 */
static void test_gil_wait(void **state)
{
	(void)state;
	know_gil();
	enter_futex(A_GIL + 8, WAIT_CALL);
	leave(SLEEPS);
	assert_int_equal(gil_now().waiters, 1);
	shim.now_ns += 8 * MS;
	process.task.sched_info.run_delay += 3 * MS;
	switch_tasks(&idle, &process);
	assert_int_equal(gil_now().waiters, 0);
	assert_in_range(gil_now().sum_ns - GIL_FIRST * UNIT, 8 * MS - UNIT, 8 * MS + UNIT);
	/* 100 bytes further there is no word of the GIL */
	enter_futex(A_GIL + 100, WAIT_CALL);
	wait_for(4 * MS);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), (1 + 5 + 4) * MS);
	assert_int_equal(sent_gil_ns(), 8 * MS);
}

/*
 * If the kernel program misses the end of a wait for the GIL, the wait ends when the thread next
 * leaves its CPU, and its record has all the time until then.
 */
static void test_gil_unseen(void **state)
{
	(void)state;
	know_gil();
	enter_futex(A_GIL + 8, WAIT_CALL);
	leave(SLEEPS);
	shim.now_ns += 4 * MS;
	leave(SLEEPS);
	assert_int_equal(gil_now().waiters, 1);
	assert_int_equal(entry()->gil_owed_ns, 4 * MS);
	enter(NUMBER_READ, 3);
	leave(SLEEPS);
	assert_int_equal(gil_now().waiters, 0);
}

/* A thread that is stopped or ends during a wait for the GIL doesn't count as waiting any more. */
static void test_gil_stopped(void **state)
{
	(void)state;
	know_gil();
	enter_futex(A_GIL + 8, WAIT_CALL);
	leave(SLEEPS);
	assert_int_equal(gil_now().waiters, 1);
	switch_tasks(&idle, &process);
	leave(TASK_STOPPED);
	assert_int_equal(gil_now().waiters, 0);
	process.task.flags = PF_EXITING;
	leave(SLEEPS);
	assert_int_equal(gil_now().waiters, 0);
	process.task.flags = 0;
	leave(SLEEPS);
	assert_int_equal(gil_now().waiters, 1);
}

/*
 * While the GIL's holder isn't on a CPU, the holder is blamed for other threads' waiting, whether
 * it is ready to run or sleeps.
 */
static void test_gil_held(void **state)
{
	(void)state;
	know_gil();
	gil_words.holder = A_STATE;
	gil_words.locked = 1;
	gil_wait_begins(&other);
	leave(0);
	shim.now_ns += 7 * MS;
	gil_wait_begins(&other); /* a second thread */
	shim.now_ns += 2 * MS;
	switch_tasks(&idle, &process);
	assert_in_range(entry()->blame_ns, 11 * MS - 2 * UNIT, 11 * MS + 2 * UNIT);
	entry()->blame_ns = 0;
	enter(NUMBER_READ, 3);
	leave(SLEEPS);
	shim.now_ns += 5 * MS;
	switch_tasks(&idle, &process);
	assert_in_range(entry()->held_ns, 10 * MS - 2 * UNIT, 10 * MS + 2 * UNIT);
	gil_words.locked = 0;
	leave(0);
	shim.now_ns += 6 * MS;
	switch_tasks(&idle, &process);
	assert_in_range(entry()->slept_blame_ns, 10 * MS - 2 * UNIT, 10 * MS + 2 * UNIT);
	assert_int_equal(entry()->blame_ns, 0);
}

/*
 * The GIL's holder sleeps again and again while other threads wait. If the record of one sleep
 * isn't sent, that of a later sleep says how long the others waited in all.
 */
static void test_gil_slept(void **state)
{
	(void)state;
	know_gil();
	gil_words.holder = A_STATE;
	gil_words.locked = 1;
	gil_wait_begins(&other);
	enter(NUMBER_READ, 3);
	wait_for(5 * MS);
	leave(SLEEPS);
	assert_in_range(entry()->slept_blame_ns, 5 * MS - 2 * UNIT, 5 * MS + 2 * UNIT);
	assert_int_equal(take_blame(entry()), 0);
	entry()->times = WAIT_ONE; /* a wait whose stack was taken */
	shim.now_ns += 2 * MS;
	switch_tasks(&idle, &process);
	leave(0);
	assert_in_range(last_wait()->sample.blame_ns, 7 * MS - 4 * UNIT, 7 * MS + 4 * UNIT);
	assert_int_equal(entry()->slept_blame_ns, 0);
}

/*
 * If no record of the holder's sleeps was sent for a second, a sample of the holder says how long
 * other threads waited.
 */
static void test_gil_slept_long_ago(void **state)
{
	(void)state;
	know_gil();
	entry()->blame_ns = MS;
	entry()->slept_blame_ns = 2 * MS;
	entry()->slept_since_ns = shim.now_ns;
	assert_int_equal(take_blame(entry()), MS);
	shim.now_ns += 1001 * MS;
	assert_int_equal(take_blame(entry()), 2 * MS);
	assert_int_equal(take_blame(entry()), 0);
}

/*
 * The thread has freed its PyThreadState. Another thread's state is in that memory now, and that
 * thread holds the GIL.
 */
static void test_gil_state_again(void **state)
{
	(void)state;
	know_gil();
	gil_words.holder = A_STATE;
	gil_words.locked = 1;
	gil_wait_begins(&other);
	owner++;
	leave(0);
	shim.now_ns += 7 * MS;
	switch_tasks(&idle, &process);
	assert_int_equal(entry()->blame_ns, 0);
	enter(NUMBER_READ, 3);
	leave(SLEEPS);
	shim.now_ns += 7 * MS;
	switch_tasks(&idle, &process);
	assert_int_equal(entry()->held_ns, 0);
}

/*
 * When a process's last thread ends, the process's entries in the map of GILs are removed, even if
 * that thread has no GIL.
 */
static void test_gil_forgotten(void **state)
{
	struct signal_struct alive = {.live = {1}};

	(void)state;
	know_gil();
	gil_wait_begins(&other);
	other.gil = A_GIL + 4096;
	gil_wait_begins(&other);
	process.task.signal = &alive;
	leave(TASK_DEAD);
	assert_int_equal(shim_find(&gils)->n, 2);
	alive.live.counter = 0;
	assert_null(entry());
	leave(TASK_DEAD);
	assert_int_equal(shim_find(&gils)->n, 0);
}

/* Lets a second thread wait for the GIL at @gil for a millisecond. */
static void other_waits(uint64_t gil)
{
	other.gil = gil;
	other.host_tgid = TGID;
	gil_wait_begins(&other);
	shim.now_ns += MS;
	gil_wait_ends(&other);
}

/*
 * A process whose GIL gets new addresses again and again has only a few entries in the map of GILs.
 * An entry stays while a thread waits for its GIL. If all entries are in use, waits for a further
 * GIL are only counted (COUNT_NO_GIL).
 */
static void test_gil_changes(void **state)
{
	uint64_t before = counted(COUNT_NO_GIL);

	(void)state;
	know_gil();
	enter_futex(A_GIL + 8, WAIT_CALL);
	leave(SLEEPS);
	for (uint64_t i = 1; i < 40; i++) {
		other_waits(A_GIL + 4096 * i);
		assert_true(shim_find(&gils)->n <= GIL_SLOTS);
		assert_int_equal(gil_of_entry(&other)->wait, other.gil);
		assert_int_equal(gil_now().waiters, 1);
	}
	assert_int_equal(counted(COUNT_NO_GIL), before);
	for (uint64_t i = 1; i < GIL_SLOTS; i++) {
		other.gil = A_GIL + 4096 * i;
		assert_true(gil_wait_begins(&other));
	}
	other.gil = A_GIL + 4096 * GIL_SLOTS;
	assert_false(gil_wait_begins(&other));
	gil_wait_ends(&other); /* the beginning of this wait wasn't counted */
	assert_int_equal(counted(COUNT_NO_GIL), before + 1);
	shim.now_ns += 39 * MS;
	switch_tasks(&idle, &process);
	assert_int_equal(gil_now().waiters, 0);
	assert_in_range(gil_now().sum_ns - GIL_FIRST * UNIT, 78 * MS - 2 * UNIT,
			78 * MS + 2 * UNIT);
}

/*
 * When the sum of waiting times gets too large for its word, new waits are counted in another word.
 * A wait that has begun is counted in the old word until it ends.
 */
static void test_gil_full(void **state)
{
	struct gil_count *old;

	(void)state;
	know_gil();
	enter_futex(A_GIL + 8, WAIT_CALL);
	leave(SLEEPS);
	old = gil_of_entry(entry());
	old->word += (GIL_ONE - (shim.now_ns >> GIL_SHIFT)) / 2;
	assert_true(gil_now().full);
	assert_int_equal(gil_now().waiters, 1);
	assert_int_equal(gil_slot(TGID, A_GIL, false), GIL_SLOTS);
	other_waits(A_GIL);
	assert_ptr_not_equal(gil_of_entry(&other), old);
	switch_tasks(&idle, &process);
	assert_int_equal(gil_value(old->word, shim.now_ns).waiters, 0);
	assert_int_equal(gil_at(TGID, gil_slot(TGID, A_GIL, false))->wait, A_GIL);
}

/*
 * A wait ends whose beginning wasn't counted. The number of waiters would become negative; it is 0.
 */
static void test_gil_below_zero(void **state)
{
	struct gil_now now = gil_value(GIL_FIRST - GIL_ONE + 1000, 1000 * UNIT);

	(void)state;
	assert_int_equal(now.waiters, 0);
	assert_int_equal(now.sum_ns, GIL_FIRST * UNIT);
}

/* The file behind descriptor 3 of the thread. */
static struct open {
	struct inode inode;
	struct file file;
	struct file *fd[4];
	struct fdtable table;
	struct files_struct files;
	struct dentry dentry;
	struct socket socket;
	struct unix_sock sock, peer;
	struct {
		struct unix_address addr;
	} own, other;
} at;

static void open_as(unsigned short mode, const char *name)
{
	memset(&at, 0, sizeof(at));
	at.inode.i_mode = mode;
	at.dentry.d_name.name = (const unsigned char *)name;
	at.file = (struct file){
		.f_inode = &at.inode, .f_path.dentry = &at.dentry, .private_data = &at.socket};
	at.socket.sk = &at.sock.sk;
	at.fd[3] = &at.file;
	at.table = (struct fdtable){.max_fds = 4, .fd = at.fd};
	at.files.fdt = &at.table;
	process.task.files = &at.files;
}

static const struct wait_on *on(void)
{
	leave(SLEEPS);
	return &entry()->wait.on;
}

static void test_on_connection(void **state)
{
	struct sock_common *sk = &at.sock.sk.__sk_common;

	(void)state;
	open_as(0140000, "");
	sk->skc_family = FAMILY_IPV4;
	sk->skc_daddr = 0x0500000a; /* 10.0.0.5 */
	sk->skc_dport = 0x3815;	    /* port 5432 in network byte order */
	assert_int_equal(on()->kind, WAIT_ON_IPV4);
	assert_int_equal(on()->port, 5432);
	assert_memory_equal(on()->text, "\x0a\x00\x00\x05", 4);
	assert_false(on()->listens);
	assert_int_equal(entry()->wait.fd, WAIT_FD_SOCKET);
	sk->skc_dport = 0;
	sk->skc_rcv_saddr = 0x0100007f;
	sk->skc_num = 80;
	assert_int_equal(on()->port, 80);
	assert_memory_equal(on()->text, "\x7f\x00\x00\x01", 4);
	assert_true(on()->listens);
	sk->skc_family = FAMILY_IPV6;
	sk->skc_dport = 0x3815;
	sk->skc_v6_daddr.in6_u.u6_addr8[15] = 9;
	assert_int_equal(on()->kind, shim.newest ? WAIT_ON_IPV6 : WAIT_ON_NOTHING);
	shim.newest = true;
	assert_int_equal(on()->kind, WAIT_ON_IPV6);
	assert_int_equal(on()->text[15], 9);
}

/*
 * A Unix socket is shown with the path of its peer. A socket from accept() is shown with its own
 * path.
 */
static void test_on_unix(void **state)
{
	struct unix_address *own = &at.own.addr, *other = &at.other.addr;

	(void)state;
	shim.newest = true;
	open_as(0140000, "");
	at.sock.sk.__sk_common.skc_family = FAMILY_UNIX;
	assert_int_equal(on()->kind, WAIT_ON_NOTHING);
	at.sock.addr = own;
	own->len = 2 + sizeof("/run/x");
	strcpy(own->name[0].sun_path, "/run/x");
	assert_int_equal(on()->kind, WAIT_ON_UNIX);
	assert_string_equal(on()->text, "/run/x");
	at.sock.peer = &at.peer.sk;
	at.peer.addr = other;
	other->len = 2 + 4; /* the name of an abstract socket doesn't end with a NUL */
	memcpy(other->name[0].sun_path, "\0abcde", 6);
	assert_string_equal(on()->text, "@abc");
	other->len = 110;
	memset(other->name[0].sun_path, 'a', 108);
	assert_int_equal(strlen((const char *)on()->text), WAIT_ON_BYTES - 1);
	other->len = -5;
	assert_int_equal(on()->kind, WAIT_ON_NOTHING);
}

static void test_on_file(void **state)
{
	(void)state;
	open_as(0100000, "app.log");
	assert_int_equal(on()->kind, WAIT_ON_FILE);
	assert_string_equal(on()->text, "app.log");
	assert_int_equal(on()->fd, 3);
	open_as(0010000, ""); /* a pipe without a name */
	assert_int_equal(on()->kind, WAIT_ON_NOTHING);
	assert_int_equal(entry()->wait.fd, WAIT_FD_PIPE);
	/* descriptor 4 isn't open, and the text of the wait before isn't shown for it */
	enter(NUMBER_READ, 4);
	assert_int_equal(on()->kind, WAIT_ON_NOTHING);
	assert_int_equal(entry()->wait.fd, WAIT_FD_NONE);
}

#ifdef __x86_64__
/*
 * A poll() of one descriptor is shown as a wait for that descriptor. The kernel program reads the
 * descriptor's number from the process's memory.
 */
static void test_on_poll(void **state)
{
	uint32_t fds[4] = {3, 1, 3, 1};
	uint64_t n = 1;

	(void)state;
	open_as(0100000, "app.log");
	shim_give(0x7f0000002000, fds, sizeof(fds));
	enter(CALL_POLL, 0x7f0000002000);
	memcpy(regs + 13 * sizeof(n), &n, sizeof(n));
	assert_string_equal(on()->text, "app.log");
	assert_int_equal(entry()->wait.fd, WAIT_FD_NONE);
	n = 2;
	memcpy(regs + 13 * sizeof(n), &n, sizeof(n));
	assert_int_equal(on()->kind, WAIT_ON_NOTHING);
	n = 0;
	memcpy(regs + 13 * sizeof(n), &n, sizeof(n));
}
#endif

/* Gives the simulated kernel run queues, whose clocks the kernel program reads. */
static int setup_queue(void **state)
{
	setup(state);
	rq = (struct rq){.clock = 7 * SECOND, .clock_task = 6 * SECOND};
	process.task.se.cfs_rq = idle.task.se.cfs_rq = &queue;
	process.task.se.exec_start = rq.clock_task;
	return 0;
}

/* Advances the run queue's clock by @ns, of which the hypervisor stole @stolen. */
static void pass(uint64_t ns, uint64_t stolen)
{
	shim.now_ns += ns;
	rq.clock += ns;
	rq.clock_task += ns - stolen;
}

/* Lets the thread run for @ns by the kernel's accounting. */
static void run_for(uint64_t ns)
{
	pass(ns, 0);
	process.task.se.exec_start += ns;
	process.task.se.sum_exec_runtime += ns;
}

/* The thread gets a CPU. The kernel read the run queue's clock @ago ns before the switch. */
static void get_cpu(uint64_t ago)
{
	process.task.se.exec_start = rq.clock_task;
	shim.now_ns += ago;
	switch_tasks(&idle, &process);
}

/*
 * When the kernel wakes a thread, it reads the run queue's clock, but it doesn't read the clock
 * again for the switch that follows. So the time until the switch counts as the thread's CPU time,
 * and not as waiting. The time from the end of a thread's CPU time to the switch counts as waiting.
 */
static void test_scheduler_clock(void **state)
{
	(void)state;
	run_for(MS);
	pass(3000, 0); /* before it switches, the kernel looks for tasks that wait for other CPUs */
	leave(SLEEPS);
	pass(9000, 0);
	get_cpu(2000);
	process.task.se.sum_exec_runtime += 2000;
	process.task.se.exec_start += 2000;
	rq.clock += 2000;
	rq.clock_task += 2000;
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 12000);
	assert_int_equal(account_sent()->switches_ns, 12000);
	assert_int_equal(account_sent()->kernel_ns, 12000);
}

/*
 * A thread that never waits has an account, too: how long it was ready to run, and how much time
 * was stolen.
 */
static void test_preempted(void **state)
{
	(void)state;
	began_ns = process.task.start_time + 1;
	process.task.sched_info.run_delay = 40 * MS; /* before the recording */
	leave(0);
	pass(5 * MS, 0);
	get_cpu(0);
	process.task.sched_info.run_delay += 5 * MS;
	run_for(MS);
	pass(2 * MS, 2 * MS);
	leave(TASK_DEAD);
	assert_int_equal(account_sent()->sample.ready_ns, 5 * MS);
	assert_int_equal(account_sent()->sample.stolen_ns, 2 * MS);
	assert_int_equal(account_sent()->sample.tid, TGID);
	assert_int_equal(account_sent()->kernel_ns, 0);
	assert_int_equal(account_sent()->switches_ns, 0);
}

/*
 * User space has noted how long the thread had been ready to run before the recording. Ready time
 * after the note counts, even before the thread first leaves a CPU. A note about an earlier thread
 * with the same number doesn't count.
 */
static void test_noted_delay(void **state)
{
	uint64_t noted = 40 * MS;
	__u32 tid = TGID;

	(void)state;
	began_ns = shim.now_ns - 100 * MS;
	process.task.sched_info.run_delay = 45 * MS;
	bpf_map_update_elem(&delays, &tid, &noted, BPF_ANY);
	leave(0);
	leave(TASK_DEAD);
	assert_int_equal(account_sent()->sample.ready_ns, 5 * MS);
	noted = 46 * MS;
	bpf_map_update_elem(&delays, &tid, &noted, BPF_ANY);
	leave(0);
	leave(TASK_DEAD);
	assert_int_equal(account_sent()->sample.ready_ns, 0);
}

/*
 * User space has read that the thread waits. The thread's account (the sums of its times) begins
 * with that wait, at the recording's start. From then on, time in which the thread was ready or
 * ran, or that was stolen, isn't waiting.
 */
static void test_read_wait_counts(void **state)
{
	(void)state;
	process.task.nvcsw = 7;
	process.task.sched_info.run_delay = 40 * MS;
	process.task.se.sum_exec_runtime = 90 * MS;
	add_read_wait(7);
	entry()->left_ns = shim.now_ns;
	entry()->delay_ns = entry()->delay_begin_ns = 40 * MS;
	entry()->cpu_ns = 90 * MS;
	pass(12 * MS, 0);
	get_cpu(0);
	process.task.sched_info.run_delay += 2 * MS;
	run_for(3 * MS);
	pass(MS, MS);
	leave(SLEEPS);
	pass(5 * MS, 0);
	get_cpu(0);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 15 * MS);
	assert_int_equal(account_sent()->switches_ns, 15 * MS);
	assert_int_equal(account_sent()->kernel_ns, 15 * MS);
	assert_int_equal(account_sent()->sample.ready_ns, 2 * MS);
	assert_int_equal(account_sent()->sample.stolen_ns, MS);
}

/*
 * When a thread gets a CPU, the kernel adds the last part of its ready time only after the switch.
 * The kernel program knows that part at the switch already.
 */
static void test_delay_on_cpu(void **state)
{
	(void)state;
	leave(0);
	process.task.sched_info.run_delay = 4 * MS;
	process.task.sched_info.last_queued = rq.clock;
	pass(3 * MS, 0);
	get_cpu(0);
	assert_int_equal(entry()->came_delay_ns, 7 * MS);
	process.task.sched_info.run_delay = 7 * MS;
	process.task.sched_info.last_queued = 0;
	leave(SLEEPS);
	get_cpu(0);
	assert_int_equal(entry()->came_delay_ns, 7 * MS);
	process.task.se.cfs_rq = NULL;
	leave(SLEEPS);
	get_cpu(0);
	assert_int_equal(entry()->came_delay_ns, 0);
}

static const struct rec_sample *sample_taken(void)
{
	struct moment m = {.ctx = NULL, .weight = 1};
	const struct rec_sample *rec;

	shim.n_sent = 0;
	assert_true(capture(&m, SLOT_PERF));
	rec = (const void *)shim.sent[shim.n_sent - 1].bytes;
	assert_int_equal(rec->type, REC_SAMPLE);
	return rec;
}

/* The thread has called execve(). Its number before the call was @before. */
static void exec(__u32 before)
{
	__u64 ctx[] = {(uintptr_t)&process.task, before, 0};

	process.task.self_exec_id++;
	on_exec(ctx);
}

/*
 * Returns the account (record of a thread's final sums) that was sent for the process after
 * @exec_id execs.
 */
static const struct rec_account *account_of(__u32 exec_id)
{
	const struct rec_account *found = NULL;

	for (size_t i = 0; i < shim.n_sent; i++) {
		const struct rec_account *a = (const void *)shim.sent[i].bytes;

		if (a->sample.type == REC_ACCOUNT && a->sample.proc.exec_id == exec_id) {
			assert_null(found);
			found = a;
		}
	}
	assert_non_null(found);
	return found;
}

/*
 * execve() begins a new account (the sums of a thread's times) for the thread. The account sent for
 * the old program says how long, up to the call, the thread was ready and waited, and how much time
 * was stolen.
 */
static void test_exec(void **state)
{
	(void)state;
	began_ns = 0;
	leave(0);
	pass(5 * MS, 0);
	get_cpu(0);
	process.task.sched_info.run_delay += 5 * MS;
	run_for(MS);
	leave(SLEEPS);
	pass(10 * MS, 0);
	get_cpu(0);
	process.task.sched_info.run_delay += 4 * MS;
	run_for(MS);
	exec(TGID);
	assert_int_equal(account_of(0)->sample.ready_ns, 9 * MS);
	assert_int_equal(account_of(0)->switches_ns, 6 * MS);
	assert_int_equal(account_of(0)->kernel_ns, 6 * MS);
	assert_int_equal(last_wait()->sample.proc.exec_id, 0);
	assert_int_equal(sent_ns(), 6 * MS);
	set_proc(PROC_NATIVE);
	SHIM_SET(accounts, (bool){true});
	assert_int_equal(sample_taken()->ready_ns, 0);
	run_for(MS);
	pass(2 * MS, 2 * MS);
	leave(0);
	pass(3 * MS, 0);
	get_cpu(0);
	process.task.sched_info.run_delay += 3 * MS;
	leave(TASK_DEAD);
	assert_int_equal(account_of(1)->sample.ready_ns, 3 * MS);
	assert_int_equal(account_of(1)->sample.stolen_ns, 2 * MS);
	assert_int_equal(account_of(1)->switches_ns, 0);
	assert_int_equal(account_of(1)->kernel_ns, 0);
}

/* Sums up all accounts (records of a thread's final sums) that were sent. */
static struct rec_account all_accounts(void)
{
	struct rec_account all = {};

	for (size_t i = 0; i < shim.n_sent; i++) {
		const struct rec_account *a = (const void *)shim.sent[i].bytes;

		if (a->sample.type != REC_ACCOUNT)
			continue;
		all.sample.ready_ns += a->sample.ready_ns;
		all.switches_ns += a->switches_ns;
		all.kernel_ns += a->kernel_ns;
	}
	return all;
}

/* Lets the thread wait for @ns, and be ready to run for @ready of these. */
static void wait_and_be_ready(uint64_t ns, uint64_t ready)
{
	leave(SLEEPS);
	pass(ns, 0);
	get_cpu(0);
	process.task.sched_info.run_delay += ready;
}

/*
 * By execve(), a thread that isn't the process's first takes the first thread's number. The entry
 * under its old number is removed, whether or not the thread has left its CPU since. All its time
 * counts once.
 */
static void test_exec_elsewhere(void **state)
{
	(void)state;
	began_ns = 0;
	for (unsigned left = 0; left < 2; left++) {
		process.task.pid = TGID + 1;
		run_for(MS);
		wait_and_be_ready(4 * MS, MS);
		run_for(MS);
		wait_and_be_ready(10 * MS, 3 * MS);
		process.task.pid = TGID;
		process.task.in_execve = 1;
		run_for(MS);
		if (left)
			wait_and_be_ready(7 * MS, 2 * MS);
		run_for(MS);
		exec(TGID + 1);
		process.task.in_execve = 0;
		assert_int_equal(shim_find(&waits)->n, 1);
		assert_int_equal(entry()->wait.sample.proc.exec_id, 1);
		leave(TASK_DEAD);
		assert_int_equal(shim_find(&waits)->n, 0);
		assert_int_equal(sent_ns(), (left ? 15 : 10) * MS);
		assert_int_equal(all_accounts().switches_ns, sent_ns());
		assert_int_equal(all_accounts().kernel_ns, sent_ns());
		assert_int_equal(all_accounts().sample.ready_ns, (left ? 6 : 4) * MS);
		process.task.self_exec_id = 0;
		process.task.sched_info.run_delay = 0;
		shim.n_sent = 0;
	}
}

/*
 * The kernel program first sees a thread during its execve(), and the thread's number stays the
 * same. The account has all of the thread's time.
 */
static void test_met_in_exec(void **state)
{
	(void)state;
	began_ns = 0;
	process.task.sched_info.run_delay = 5 * MS;
	process.task.in_execve = 1;
	wait_and_be_ready(7 * MS, 2 * MS);
	exec(TGID);
	process.task.in_execve = 0;
	assert_int_equal(account_of(0)->sample.ready_ns, 7 * MS);
}

/*
 * The kernel program sees the end of the first thread only after another thread has taken its
 * number.
 */
static void test_first_ends_late(void **state)
{
	struct made first = process;

	(void)state;
	began_ns = 0;
	wait_and_be_ready(8 * MS, 0); /* changes the first thread's entry in the map of waits */
	first.task = process.task;
	process.task.se.sum_exec_runtime = MS;
	entry()->task = (uintptr_t)&first.task;
	process.task.in_execve = 1;
	wait_and_be_ready(7 * MS, 2 * MS);
	assert_int_equal(sent_ns(), 8 * MS);
	assert_int_equal(entry()->task, (uintptr_t)&process.task);
	assert_int_equal(entry()->delay_begin_ns, 0);
}

/*
 * A process that isn't recorded gets no entry in the map of waits by execve(). The entries for the
 * GILs of its former program are removed.
 */
static void test_exec_alone(void **state)
{
	(void)state;
	other_waits(A_GIL);
	assert_int_equal(shim_find(&gils)->n, 1);
	exec(TGID);
	assert_int_equal(shim_find(&gils)->n, 0);
	assert_null(entry());
	assert_int_equal(shim.n_sent, 0);
}

/* The thread gets the CPU, but the kernel program doesn't notice the switch. */
static void get_cpu_unseen(void)
{
	process.task.se.exec_start = rq.clock_task;
}

/*
 * The kernel program missed the switch back to the thread. It computes from the thread's CPU time
 * how long the thread waited. No time is lost, whether the thread next leaves its CPU or calls
 * execve().
 */
static void test_unseen(void **state)
{
	uint64_t unseen = counted(COUNT_WAIT_UNSEEN);

	(void)state;
	began_ns = 0;
	run_for(MS);
	leave(SLEEPS);
	pass(10 * MS, 0);
	get_cpu_unseen();
	process.task.sched_info.run_delay += 2 * MS;
	run_for(3 * MS);
	leave(SLEEPS);
	assert_int_equal(last_wait()->sample.weight, 8 * MS);
	assert_int_equal(last_wait()->sample.time_ns, shim.now_ns - 3 * MS);
	pass(6 * MS, 0);
	get_cpu_unseen();
	run_for(MS);
	exec(TGID);
	leave(TASK_DEAD);
	assert_int_equal(sent_ns(), 14 * MS);
	assert_int_equal(all_accounts().switches_ns, 14 * MS);
	assert_int_equal(all_accounts().kernel_ns, 14 * MS);
	assert_int_equal(counted(COUNT_WAIT_UNSEEN), unseen + 2);
}

/*
 * The kernel program missed the switch back to a thread whose wait user space has read. If the
 * thread ran only once since then, its CPU time tells when the wait ended.
 */
static void test_read_unseen(void **state)
{
	(void)state;
	process.task.nvcsw = 5;
	process.task.nivcsw = 2;
	add_read_wait(7);
	entry()->left_ns = shim.now_ns;
	entry()->cpu_ns = process.task.se.sum_exec_runtime;
	pass(10 * MS, 0);
	get_cpu_unseen();
	run_for(3 * MS);
	process.task.nvcsw++;
	leave(SLEEPS);
	assert_int_equal(last_wait()->sample.weight, 10 * MS);
	assert_int_equal(last_wait()->sample.time_ns, shim.now_ns - 3 * MS);
}

/*
 * If the kernel program misses a switch, the account (a record of sums) shows it: its two sums of
 * waiting time differ.
 */
static void test_switch_missed(void **state)
{
	(void)state;
	leave(0);
	get_cpu(0);
	run_for(MS);
	armed = false;
	leave(SLEEPS);
	pass(8 * MS, 0);
	get_cpu(0);
	armed = true;
	run_for(MS);
	leave(TASK_DEAD);
	assert_int_equal(account_sent()->switches_ns, 0);
	assert_int_equal(account_sent()->kernel_ns, 8 * MS);
}

/*
 * A sample of CPU time says for how long in all the thread was ready to run. Ready time that the
 * record of a wait will report isn't in the sample.
 */
static void test_sample_says(void **state)
{
	const struct rec_wait *wait;

	(void)state;
	SHIM_SET(accounts, (bool){true});
	began_ns = 0;
	leave(0);
	get_cpu(0);
	process.task.sched_info.run_delay += 5 * MS;
	assert_int_equal(sample_taken()->ready_ns, 5 * MS);
	leave(SLEEPS);
	pass(10 * MS, 0);
	get_cpu(0);
	process.task.sched_info.run_delay += 3 * MS;
	assert_int_equal(sample_taken()->ready_ns, 5 * MS);
	shim.n_sent = 0;
	leave(0);
	wait = (const void *)shim.sent[0].bytes;
	assert_int_equal(wait->sample.type, REC_WAIT);
	assert_int_equal(wait->sample.ready_ns, 8 * MS);
	assert_int_equal(wait->sample.weight, 7 * MS);
	assert_int_equal(sample_taken()->ready_ns, 8 * MS);
}

/* A thread of an unknown process gets no entry in the map of waits when it is preempted. */
static void test_preempted_stranger(void **state)
{
	__u32 tgid = TGID;

	(void)state;
	bpf_map_delete_elem(&procs, &tgid);
	leave(0);
	assert_null(entry());
	set_proc(PROC_PENDING);
	leave(0);
	assert_null(entry());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_scheduler_clock, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_preempted, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_noted_delay, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_read_wait_counts, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_delay_on_cpu, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_exec_elsewhere, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_exec_alone, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_met_in_exec, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_first_ends_late, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_unseen, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_read_unseen, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_switch_missed, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_sample_says, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_preempted_stranger, setup_queue, teardown),
		cmocka_unit_test_setup_teardown(test_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exit_status, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_execve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_a_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwanted_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwanted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stranger, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwanted_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clock_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chance, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_chosen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_marks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_period_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_burst, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sites, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_began_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_before_it_ran, setup, teardown),
		cmocka_unit_test_setup_teardown(test_added_too_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_number_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_value, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_unseen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_slept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_slept_long_ago, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_state_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil_below_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(test_on_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(test_on_unix, setup, teardown),
		cmocka_unit_test_setup_teardown(test_on_file, setup, teardown),
#ifdef __x86_64__
		cmocka_unit_test_setup_teardown(test_on_poll, setup, teardown),
#endif
	};

	return cmocka_run_group_tests_name("switch", tests, NULL, NULL);
}
