/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that leaves its CPU and comes back to it, for tests of the programs that record waits.
 */
#ifndef TESTS_HOST_KERNEL_KERNEL_SWITCH_H
#define TESTS_HOST_KERNEL_KERNEL_SWITCH_H

#include "kernel_capture.h"

#include "events/switch.bpf.h"

#define MS     1000000ull
#define SLEEPS 2 /* the task's state: TASK_UNINTERRUPTIBLE */
/* number of a system call whose first argument is a descriptor */
#define NUMBER_READ  (CALL_FUTEX + 1)
#define NUMBER_OTHER (CALL_FUTEX + 2)
#define A_FUTEX	     0x7f0000001000ull

static struct made idle;
static uint8_t regs[sizeof(struct pt_regs___a64)];

static inline void be_in_state(uint64_t state)
{
	process.task.state = (long)state;
	process.task.__state = (unsigned)state;
}

static inline void enter(uint64_t number, uint64_t arg)
{
#ifdef __aarch64__
	struct pt_regs___a64 *r = (void *)regs;

	r->syscallno = (int)number;
	r->orig_x0 = arg;
#else
	uint64_t code = 0x33; /* register cs in 64-bit user code */

	memcpy(regs + 14 * sizeof(arg), &arg, sizeof(arg));
	memcpy(regs + 15 * sizeof(number), &number, sizeof(number));
	memcpy(regs + 17 * sizeof(code), &code, sizeof(code));
#endif
}

static inline void enter_futex(uint64_t addr, uint64_t operation)
{
	enter(CALL_FUTEX, addr);
#ifdef __aarch64__
	((struct pt_regs___a64 *)(void *)regs)->regs[1] = operation;
#else
	memcpy(regs + 13 * sizeof(operation), &operation, sizeof(operation));
#endif
}

static inline int setup(void **state)
{
	(void)state;
	capture_begin();
	shim_map(waits);
	shim_map(gils);
	shim_map(delays);
	make(&idle, 1, NULL);
	idle.task.flags = PF_KTHREAD;
	shim.regs = regs;
	armed = true;
	memset(threads_met, 0, sizeof(threads_met));
	forget_strangers();
	wait_period_ns = wait_spent_ns = wait_burst_ns = 0;
	wait_adjusted_ns = shim.now_ns;
	enter(NUMBER_READ, 3);
	set_proc(PROC_NATIVE);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	shim_clear();
	armed = false;
	return 0;
}

static inline void switch_tasks(struct made *prev, struct made *next)
{
	__u64 ctx[] = {0, (uintptr_t)&prev->task, (uintptr_t)&next->task};

	on_switch(ctx);
}

static inline void leave(uint64_t state)
{
	be_in_state(state);
	switch_tasks(&process, &idle);
}

/*
 * Lets the thread wait for @ns. The kernel program sends the wait's record when the thread next
 * leaves its CPU.
 */
static inline void wait_for(uint64_t ns)
{
	leave(SLEEPS);
	shim.now_ns += ns;
	switch_tasks(&idle, &process);
}

static inline struct wait_entry *entry(void)
{
	__u32 tid = TGID;

	return bpf_map_lookup_elem(&waits, &tid);
}

#endif
