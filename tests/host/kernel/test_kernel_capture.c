/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One sample, from its event to its records: which threads are sampled, which parts of a stack are
 * taken in each state of a process, and in which order records are sent. A sample that interrupts
 * another one on the same CPU must be counted.
 */
#include "kernel_capture.h"

#define WEIGHT	 10101010
#define SOURCE	 11
#define THREAD_P 0x7f0000000700ull /* the thread pointer */

static const uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000020, 0xffffffff81000030};

static struct bpf_perf_event_data ctx;
static bool kernel_stack; /* whether samples of this event have the kernel's frames */
static const uint8_t regs[SHIM_REGS_BYTES];

static int setup(void **state)
{
	(void)state;
	capture_begin();
	process.task.thread.fsbase = process.task.thread.uw.tp_value = THREAD_P;
	shim.regs = regs;
	shim.kernel = kernel;
	shim.n_kernel = 3;
	kernel_stack = true;
	crowded_until_ns = 0;
	settled = false;
	sent_epoch = 0;
	longest_ns = long_samples = 0;
	set_proc(PROC_NATIVE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	/* whether or not a sample was sent, no program uses the state of stack walks any more */
	assert_int_equal(walk_state(SLOT_PERF)->users, 0);
	shim_clear();
	SHIM_SET(measures, (bool){false});
	SHIM_SET(native_mode, (__u8){NATIVE_MODE_NONE});
	SHIM_SET(pidns_inum, (__u32){0});
	return 0;
}

static __u64 counted(__u32 counter)
{
	return *(__u64 *)bpf_map_lookup_elem(&counters, &counter);
}

static void take_in(bool user_mode)
{
	struct moment m = {.ctx = &ctx,
			   .user_mode = user_mode,
			   .kernel_stack = kernel_stack,
			   .source = SOURCE,
			   .weight = WEIGHT};

	shim.n_sent = 0;
	capture(&m, SLOT_PERF);
}

/* Takes a sample of the thread while it runs kernel code. */
static void take(void)
{
	take_in(false);
}

static const void *sent(size_t i)
{
	assert_true(i < shim.n_sent);
	return shim.sent[i].bytes;
}

static __u8 sent_type(size_t i)
{
	return *(const __u8 *)sent(i);
}

/* Returns the last sample that was sent. */
static const struct rec_sample *sample(void)
{
	assert_true(shim.n_sent);
	return sent(shim.n_sent - 1);
}

/*
 * A new stack is sent once: first the records of its frames, then the stack, then the first sample
 * with it.
 */
static void test_records(void **state)
{
	const struct rec_native *native;
	const struct rec_stack *stack;
	__u64 id;

	(void)state;
	take();
	assert_int_equal(shim.n_sent, 3);
	assert_int_equal(sent_type(0), REC_NATIVE);
	assert_int_equal(sent_type(1), REC_STACK);
	assert_int_equal(sent_type(2), REC_SAMPLE);
	native = sent(0);
	stack = sent(1);
	id = sample()->stack;
	assert_int_not_equal(id, 0);
	assert_int_equal(native->stack, id);
	assert_int_equal(native->n_kernel, 3);
	assert_int_equal(native->n, 0);
	assert_memory_equal(native + 1, kernel, sizeof(kernel));
	assert_int_equal(shim.sent[0].n, sizeof(*native) + sizeof(kernel));
	assert_int_equal(stack->stack, id);
	assert_int_equal(stack->n, 0);
	assert_int_equal(stack->proc.tgid, TGID);
	take();
	assert_int_equal(shim.n_sent, 1);
	assert_int_equal(sample()->stack, id);
	shim.n_kernel = 2; /* another stack */
	take();
	assert_int_equal(shim.n_sent, 3);
	assert_int_not_equal(sample()->stack, id);
	shim.n_kernel = 3;
	sent_epoch++; /* user space begins a new epoch: no stack counts as sent any more */
	take();
	assert_int_equal(shim.n_sent, 3);
	assert_int_not_equal(sample()->stack, id);
	assert_int_equal(counted(COUNT_SAMPLES), 4);
	assert_int_equal(counted(COUNT_STACKS_SENT), 3);
}

static void test_sample(void **state)
{
	(void)state;
	process.task.pid = TGID + 3;
	process.task.self_exec_id = 2;
	set_proc(PROC_NATIVE);
	take();
	assert_int_equal(sample()->type, REC_SAMPLE);
	assert_int_equal(sample()->tid, TGID + 3);
	assert_int_equal(sample()->proc.tgid, TGID);
	assert_int_equal(sample()->proc.exec_id, 2);
	assert_int_equal(sample()->proc.start_ns, TGID * SECOND);
	assert_int_equal(sample()->time_ns, 100 * SECOND);
	assert_int_equal(sample()->weight, WEIGHT);
	assert_int_equal(sample()->source, SOURCE);
	assert_int_equal(sample()->runtime_ns, 5 * SECOND);
	assert_int_equal(sample()->outcome, WALK_OK);
	assert_int_equal(sample()->gil, GIL_NONE);
	/*
	 * on kernels before 5.11, the kernel program must read the task's fields with helper calls
	 */
	shim.newest = false;
	walk_state(SLOT_PERF)->tp = 0;
	take();
	assert_int_equal(sample()->tid, TGID + 3);
	assert_int_equal(sample()->proc.exec_id, 2);
	assert_int_equal(sample()->runtime_ns, 5 * SECOND);
	assert_int_equal(walk_state(SLOT_PERF)->tp, THREAD_P);
}

/* If the ring refused a stack, the stack is sent again with the next sample. */
static void test_refused(void **state)
{
	(void)state;
	shim.full = true;
	take();
	assert_int_equal(shim.n_sent, 0);
	shim.full = false;
	take();
	assert_int_equal(shim.n_sent, 3);
}

static void test_kernel_frames(void **state)
{
	(void)state;
	take_in(true); /* the sample interrupted user code, so it has no kernel frames */
	assert_int_equal(shim.n_sent, 1);
	assert_int_equal(sample()->stack, 0);
	assert_int_equal(shim.kernel_asked, 0);
	kernel_stack = false;
	take();
	assert_int_equal(shim.kernel_asked, 0);
	assert_int_equal(sample()->stack, 0);
	kernel_stack = true;
	shim.n_kernel = -14;
	take();
	assert_int_equal(sample()->stack, 0);
}

/*
 * Tests which records a sample gives in each state of its process. @with_kernel: samples have the
 * kernel's frames.
 */
static void test_states(void **state)
{
	static const struct {
		__u8 state, outcome;
		bool with_kernel;
	} rows[] = {
		{PROC_PENDING, WALK_PENDING, false}, {PROC_UNSUPPORTED, WALK_UNSUPPORTED, true},
		{PROC_NATIVE, WALK_OK, true},	     {PROC_CROWDED, WALK_CROWDED, false},
		{PROC_UNASKED, WALK_PENDING, false}, {PROC_LINKING, WALK_NO_PYTHON, false},
	};

	(void)state;
	crowded_until_ns = 200 * SECOND;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		set_proc(rows[i].state);
		take();
		assert_int_equal(sample()->type, REC_SAMPLE);
		assert_int_equal(sample()->outcome, rows[i].outcome);
		assert_int_equal(sample()->stack != 0, rows[i].with_kernel);
	}
	set_proc(PROC_UNSUPPORTED);
	take();
	assert_int_equal(sample()->gil, GIL_UNKNOWN);
	assert_int_equal(counted(COUNT_IGNORED), 0);
	set_proc(PROC_IGNORED);
	take();
	set_proc(PROC_HOST);
	take();
	assert_int_equal(shim.n_sent, 0);
	assert_int_equal(counted(COUNT_IGNORED), 2);
}

/*
 * A process in state PROC_LINKING counts as starting until libpython is found, provided that the
 * executable is the interpreter's own program.
 */
static void test_starting(void **state)
{
	__u32 tgid = TGID;

	(void)state;
	set_proc(PROC_LINKING);
	((struct proc_entry *)bpf_map_lookup_elem(&procs, &tgid))->where.own_program = 1;
	take();
	assert_int_equal(sample()->outcome, WALK_STARTING);
}

static void test_not_sampled(void **state)
{
	__u32 none = 0;

	(void)state;
	process.task.flags = PF_KTHREAD;
	take();
	assert_int_equal(shim.n_sent, 0);
	process.task.flags = 0;
	/* a PID namespace that the process isn't in */
	SHIM_SET(pidns_inum, (__u32){300});
	take();
	assert_int_equal(shim.n_sent, 0);
	SHIM_SET(pidns_inum, none);
	assert_int_equal(counted(COUNT_SAMPLES), 0);
	assert_int_equal(counted(COUNT_IGNORED), 0);
	take();
	assert_int_equal(counted(COUNT_SAMPLES), 1);
}

/*
 * If krait runs in a PID namespace of its own, records have the numbers that processes have in that
 * namespace.
 */
static void test_namespace(void **state)
{
	__u32 tgid = TGID % 10, one = 1;

	(void)state;
	SHIM_SET(pidns_inum, (__u32){200});
	bpf_map_update_elem(&roots, &tgid, &one, BPF_ANY);
	process.pid.pid.numbers[1].nr = 7;
	tgid = 7;
	bpf_map_update_elem(&roots, &tgid, &one, BPF_ANY);
	take(); /* the kernel program doesn't know this process yet */
	assert_int_equal(sample()->proc.tgid, 7);
	assert_int_equal(sample()->tid, 7);
}

/*
 * If the kernel program doesn't know a process, it sends user space a record of the process before
 * the first sample.
 */
static void test_new_process(void **state)
{
	__u64 refused;

	(void)state;
	process.task.start_time++;
	shim.full = true;
	take(); /* the ring is full, so the process's record can't be sent */
	refused = counted(COUNT_NO_ROOM);
	assert_int_equal(refused, 1);
	shim.full = false;
	take();
	assert_int_equal(shim.n_sent, 2);
	assert_int_equal(sent_type(0), REC_PROC);
	assert_int_equal(sample()->outcome, WALK_PENDING);
	assert_int_equal(sample()->proc.start_ns, TGID * SECOND + 1);
	/*
	 * a thread in the middle of execve() has no executable by which its process could be
	 * recognized
	 */
	process.task.start_time++;
	process.mm.start_code = 0;
	take();
	assert_int_equal(shim.n_sent, 0);
	assert_int_equal(counted(COUNT_EXEC), 1);
	assert_int_equal(counted(COUNT_NO_ROOM), refused);
}

/*
 * A thread is in do_exit(). Its memory may already be freed, so its samples have only kernel
 * frames.
 */
static void test_ending(void **state)
{
	struct signal_struct ends = {.flags = SIGNAL_GROUP_EXIT};

	(void)state;
	process.task.flags = PF_EXITING;
	process.task.signal = &ends;
	set_proc(PROC_PYTHON);
	take();
	assert_int_equal(sample()->type, REC_SAMPLE_END);
	assert_int_equal(sample()->outcome, WALK_ENDING);
	assert_int_not_equal(sample()->stack, 0);
	ends.flags = 0; /* only this thread ends, and not the whole process */
	take();
	assert_int_equal(sample()->outcome, WALK_NO_PYTHON);
	set_proc(PROC_CROWDED);
	take();
	assert_int_equal(sample()->outcome, WALK_CROWDED);
	/* user space hasn't answered yet, because it can't read the ending process any more */
	set_proc(PROC_PENDING);
	take();
	assert_int_equal(shim.n_sent, 0);
	process.task.start_time++;
	take();
	assert_int_equal(shim.n_sent, 0);
	assert_int_equal(counted(COUNT_NO_ROOM), 0);
}

/*
 * Between vfork() and execve(), a child runs in its parent's memory, in which the kernel program
 * mustn't look for Python frames.
 */
static void test_parents_memory(void **state)
{
	struct signal_struct ends = {.flags = SIGNAL_GROUP_EXIT};

	(void)state;
	/* the process isn't known yet, because it has another start time */
	process.task.start_time++;
	process.task.mm = parent.task.mm;
	process.task.se.sum_exec_runtime = NEW_THREAD_NS - 1;
	take();
	assert_int_equal(shim.n_sent, 0);
	/* the parent waits for the child's execve() */
	process.task.vfork_done = (void *)&process;
	take();
	assert_int_equal(sent_type(0), REC_PROC);
	process.task.vfork_done = NULL;
	process.task.signal = &ends; /* another thread is ending the process */
	set_proc(PROC_PYTHON);
	take();
	assert_int_equal(sample()->type, REC_SAMPLE);
	assert_int_equal(sample()->outcome, WALK_NO_PYTHON);
	process.task.mm = &process.mm;
	process.task.start_time++;
	take();
	assert_int_equal(sent_type(0), REC_PROC);
}

/*
 * The thread state of a Python process can't be read. User space gets a record of the absent
 * (unreadable) memory.
 */
static void test_absent(void **state)
{
	const struct rec_absent *absent;
	__u32 tgid = TGID;
	struct py_where *where;

	(void)state;
	set_proc(PROC_PYTHON);
	where = &((struct proc_entry *)bpf_map_lookup_elem(&procs, &tgid))->where;
	where->gil = PY_GIL_CURRENT;
	where->tss = PY_TSS_TLS_STATIC;
	where->tls_offset = -0x700;
	take();
	/*
	 * four records: the kernel's frames, the stack, the sample, the memory that couldn't be
	 * read
	 */
	assert_int_equal(shim.n_sent, 4);
	assert_int_equal(sent_type(2), REC_SAMPLE);
	assert_int_equal(((const struct rec_sample *)sent(2))->outcome, WALK_TLS_FAULT);
	absent = sent(3);
	assert_int_equal(absent->type, REC_ABSENT);
	assert_int_equal(absent->range[ABSENT_THREAD].addr, THREAD_P - 0x700);
	assert_int_equal(shim.sent[3].flags, BPF_RB_FORCE_WAKEUP);
	/* memory that couldn't be read in one sample isn't reported again with the next one */
	set_proc(PROC_CROWDED);
	crowded_until_ns = 200 * SECOND;
	take();
	assert_int_equal(sample()->outcome, WALK_CROWDED);
	assert_int_equal(shim.sent[shim.n_sent - 1].bytes[0], REC_SAMPLE);
}

/*
 * If another stack walk uses the state of walks, the sample is counted as lost (COUNT_BUSY).
 * Nothing is sent, and the other walk's state stays as it is.
 */
static void test_busy(void **state)
{
	static struct walk before;
	struct walk *w;

	(void)state;
	take();
	w = walk_take(SLOT_PERF);
	assert_non_null(w);
	before = *w;
	take();
	take();
	assert_int_equal(shim.n_sent, 0);
	assert_int_equal(counted(COUNT_BUSY), 2);
	assert_int_equal(counted(COUNT_SAMPLES), 1);
	assert_memory_equal(w, &before, sizeof(before));
	walk_give_back(w);
	take();
	assert_int_equal(shim.n_sent, 1);
	assert_int_equal(counted(COUNT_BUSY), 2);
}

/* If `measures` is set, the kernel program measures how long samples take. */
static void test_measured(void **state)
{
	(void)state;
	shim.tick_ns = SAMPLE_NS;
	take();
	assert_int_equal(longest_ns, 0);
	SHIM_SET(measures, (bool){true});
	take();
	assert_true(longest_ns >= SAMPLE_NS && longest_ns % SAMPLE_NS == 0);
	assert_int_equal(long_samples, 1);
	shim.tick_ns = 1;
	take();
	assert_true(longest_ns >= SAMPLE_NS);
	assert_int_equal(long_samples, 1);
}

/*
 * The timer's program and a fexit program may interrupt each other. Each has its own place for the
 * state of a stack walk, so both take their samples. The time of the fexit program's sample isn't
 * measured, because that program may be preempted.
 */
static void test_slots_apart(void **state)
{
	struct moment m = {.ctx = &ctx, .source = SOURCE, .weight = WEIGHT};
	struct walk *perf = walk_take(SLOT_PERF);

	(void)state;
	assert_non_null(perf);
	SHIM_SET(measures, (bool){true});
	shim.tick_ns = SAMPLE_NS;
	shim.n_sent = 0;
	capture(&m, SLOT_TASK);
	assert_int_equal(sample()->type, REC_SAMPLE);
	assert_int_equal(counted(COUNT_BUSY), 0);
	assert_int_equal(longest_ns, 0);
	assert_int_equal(walk_state(SLOT_TASK)->users, 0);
	take();
	assert_int_equal(shim.n_sent, 0);
	assert_int_equal(counted(COUNT_BUSY), 1);
	walk_give_back(perf);
}

/*
 * A perf event (an NMI) comes while the program that runs at task switches walks a stack. No sample
 * is taken, because both programs might need the lock of the map of processes. The lost sample is
 * counted (COUNT_BUSY).
 */
static void test_in_switch(void **state)
{
	struct walk *walks = walk_take(SLOT_SWITCH);

	(void)state;
	assert_non_null(walks);
	take();
	assert_int_equal(shim.n_sent, 0);
	assert_int_equal(counted(COUNT_BUSY), 1);
	walk_give_back(walks);
	take();
	assert_int_equal(sample()->type, REC_SAMPLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_starting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_sampled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_namespace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ending, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parents_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_absent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slots_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_switch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_measured, setup, teardown),
	};

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
