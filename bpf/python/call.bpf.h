/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the futex call that the current thread is in, by its user registers as the kernel saved
 * them.
 */
#ifndef BPF_PYTHON_CALL_H
#define BPF_PYTHON_CALL_H

#include "python/gil.bpf.h"
#include "native/registers.bpf.h"

#if defined(__TARGET_ARCH_arm64)
#define CALL_FUTEX   98
#define CALL_RESTART 128  /* restart_syscall() */
#define CALL_POLL    (-2) /* no system call has this number, because aarch64 has no poll() */
#define CALL_PPOLL   73

walk_inline void read_futex_call(struct futex_call *f)
{
	const struct pt_regs___a64 *regs = saved_regs();

	if (BPF_CORE_READ(regs, syscallno) != CALL_FUTEX)
		return;
	/* regs[0] isn't used, because the result of the call is written to it */
	f->addr = BPF_CORE_READ(regs, orig_x0);
	f->op = (__u32)BPF_CORE_READ(regs, regs[1]);
	f->sp = BPF_CORE_READ(regs, sp);
}
#else
#define CALL_FUTEX   202
#define CALL_RESTART 219 /* restart_syscall() */
#define CALL_POLL    7
#define CALL_PPOLL   271

/* The beginning of struct pt_regs, whose order is ABI. */
struct call_regs {
	__u64 si, di, orig_ax, ip, cs, flags, sp;
};

walk_inline void read_futex_call(struct futex_call *f)
{
	const void *at = saved_regs() + 13 * sizeof(__u64);
	struct call_regs regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), at) || regs.orig_ax != CALL_FUTEX ||
	    /* only __USER_CS (0x33) is wanted: 32-bit code has other numbers of system calls */
	    (regs.cs & 0xffff) != 0x33)
		return;
	f->addr = regs.di;
	f->op = (__u32)regs.si;
	f->sp = regs.sp;
}
#endif

/*
 * Returns the enum gil_state of the thread whose frames were walked. A thread in user mode is in no
 * system call.
 */
walk_global int take_gil(__u32 slot, __u32 user_mode)
{
	struct futex_call call = {.op = -1};
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);

	if (!l)
		return GIL_UNKNOWN;
	if (!user_mode)
		read_futex_call(&call);
	return gil_of(w, l, &call);
}

#endif
