/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel program finds out in which futex call a thread is, from the registers that the kernel
 * saved on entry. Only in such a call can a thread be waiting for the GIL.
 */
#include "kernel_shim.h"
#include "kernel_task.h"

#include "python/call.bpf.h"

#define GIL_WORD 0x7f0000001000ull
#define SP	 0x7ffc00001000ull
/* <linux/futex.h>: FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME */
#define WAIT 0x189
#define WAKE 0x81

static struct made process;

/*
 * On Linux 5.10, which has no helper for a task's registers, the kernel program reads them at the
 * end of the thread's kernel stack.
 */
static struct {
	uint8_t below[16384 - SHIM_REGS_BYTES];
	uint64_t regs[SHIM_REGS_BYTES / sizeof(uint64_t)];
} kernel_stack;

static uint64_t *const regs = kernel_stack.regs;

/* Puts the thread into the system call @number, with the arguments @addr and @op. */
static void enter(uint64_t number, uint64_t addr, uint64_t op)
{
#ifdef __aarch64__
	struct pt_regs___a64 *r = (void *)regs;

	memset(r, 0, sizeof(*r));
	r->syscallno = (int)number;
	r->orig_x0 = addr;
	r->regs[1] = op;
	r->sp = SP;
#else
	/*
	 * the order of registers in struct pt_regs on x86-64: r15 r14 r13 r12 bp bx r11 r10 r9 r8
	 * ax cx dx si di orig_ax ip cs flags sp ss
	 */
	memset(regs, 0, SHIM_REGS_BYTES);
	regs[10] = (uint64_t)-38; /* ax is -ENOSYS until the call returns */
	regs[13] = op;
	regs[14] = addr;
	regs[15] = number;
	regs[17] = 0x33; /* register cs in 64-bit user code */
	regs[19] = SP;
#endif
}

static struct futex_call seen(void)
{
	struct futex_call f = {.op = -1};

	read_futex_call(&f);
	return f;
}

static int setup(void **state)
{
	(void)state;
	shim_clear();
	shim_map(walk_states);
	shim_map(layouts);
	make(&process, 5, NULL);
	process.task.stack = &kernel_stack;
	shim.task = &process.task;
	shim.regs = regs;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_clear();
	return 0;
}

static void test_call(void **state)
{
	struct futex_call f;

	(void)state;
	enter(CALL_FUTEX, GIL_WORD, WAIT);
	f = seen();
	assert_int_equal(f.addr, GIL_WORD);
	assert_int_equal(f.op, WAIT);
	assert_int_equal(f.sp, SP);
	/* the kernel takes the futex operation as an int, and ignores the upper 32 bits */
	enter(CALL_FUTEX, GIL_WORD, 1ull << 32 | WAKE);
	f = seen();
	assert_int_equal(f.op, WAKE);
	enter(CALL_FUTEX + 1, GIL_WORD, WAIT);
	assert_int_equal(seen().op, -1);
}

#ifndef __aarch64__
/* In 32-bit code, number 202 is another system call than futex(). */
static void test_32_bit(void **state)
{
	(void)state;
	enter(CALL_FUTEX, GIL_WORD, WAIT);
	regs[17] = 0x23;
	assert_int_equal(seen().op, -1);
	/*
	 * only the lower half of the saved word is the register cs; the kernel uses the other half
	 * itself
	 */
	regs[17] = 1ull << 16 | 0x33;
	assert_int_equal(seen().op, WAIT);
}
#endif

/*
 * Without a helper for a task's registers, the kernel program reads them at the end of the kernel
 * stack.
 */
static void test_old_kernel(void **state)
{
	(void)state;
	enter(CALL_FUTEX, GIL_WORD, WAIT);
	shim.newest = false;
	shim.regs = NULL;
	assert_int_equal(seen().addr, GIL_WORD);
	assert_int_equal(seen().op, WAIT);
}

/* The GIL state of a thread of Python 3.11 that doesn't hold the GIL. */
static void test_gil(void **state)
{
	struct walk *w = walk_state(SLOT_PERF);

	(void)state;
	w->thread = THREAD_STATE;
	w->current = CURRENT_NO;
	w->where.gil = PY_GIL_CURRENT;
	w->where.gil_wait = GIL_WORD - 8;
	w->where.gil_wait_bytes = PY_GIL_WAIT_BYTES;
	enter(CALL_FUTEX, GIL_WORD, WAIT);
	assert_int_equal(take_gil(SLOT_PERF, false), GIL_WAITING);
	/*
	 * while the thread runs user code, the saved registers are those of an earlier system call
	 */
	assert_int_equal(take_gil(SLOT_PERF, true), GIL_RELEASED);
	enter(CALL_FUTEX, GIL_WORD, WAKE);
	assert_int_equal(take_gil(SLOT_PERF, false), GIL_RELEASED);
	/*
	 * without gil_wait, any futex call may be a wait for the GIL; but this thread isn't in one
	 */
	w->where.gil_wait = 0;
	assert_int_equal(take_gil(SLOT_PERF, true), GIL_RELEASED);
	enter(CALL_FUTEX, GIL_WORD, WAIT);
	assert_int_equal(take_gil(SLOT_PERF, false), GIL_UNKNOWN);
	w->current = CURRENT_YES;
	assert_int_equal(take_gil(SLOT_PERF, false), GIL_HELD);
	w->thread = THREAD_NONE;
	assert_int_equal(take_gil(SLOT_PERF, false), GIL_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_call, setup, teardown),
#ifndef __aarch64__
		cmocka_unit_test_setup_teardown(test_32_bit, setup, teardown),
#endif
		cmocka_unit_test_setup_teardown(test_old_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gil, setup, teardown),
	};

	return cmocka_run_group_tests_name("futex call", tests, NULL, NULL);
}
