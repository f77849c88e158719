/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds what a thread waits in: the system call, what the call's descriptor refers to, and the
 * state of the wait.
 */
#ifndef BPF_PROCESS_WAITING_H
#define BPF_PROCESS_WAITING_H

#include "native/saved.bpf.h"

/* The system call that a thread waits in. */
struct call {
	__s32 number; /* -1: none */
	__u64 arg[2];
};

/*
 * Reads the system call from the registers that the kernel saved on entry. If the thread is in no
 * system call, .number becomes -1 or stays unchanged.
 */
#if defined(__TARGET_ARCH_arm64)
walk_inline void read_call(const void *saved, struct call *call)
{
	const struct pt_regs___a64 *regs = saved;

	call->number = BPF_CORE_READ(regs, syscallno);
	/* regs[0] isn't used, because the result of the call is written to it */
	call->arg[0] = BPF_CORE_READ(regs, orig_x0);
	call->arg[1] = BPF_CORE_READ(regs, regs[1]);
}
#else
walk_inline void read_call(const void *saved, struct call *call)
{
	const void *at = saved + 13 * sizeof(__u64);
	struct {
		__u64 si, di, orig_ax, ip, cs; /* a part of pt_regs, whose order is ABI */
	} regs;

	/* only __USER_CS (0x33) is wanted: 32-bit code has other numbers of system calls */
	if (bpf_probe_read_kernel(&regs, sizeof(regs), at) || (regs.cs & 0xffff) != 0x33)
		return;
	call->number = (__s32)regs.orig_ax;
	call->arg[0] = regs.di;
	call->arg[1] = regs.si;
}
#endif

walk_inline __u8 kind_of_mode(__u32 mode)
{
	switch (mode & S_IFMT) {
	case 0140000:
		return WAIT_FD_SOCKET;
	case 0010000:
		return WAIT_FD_PIPE;
	case 0100000:
	case 0040000:
	case 0060000:
		return WAIT_FD_FILE;
	}
	return WAIT_FD_OTHER;
}

walk_inline struct file *file_of(struct task_struct *task, __u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

walk_inline __u8 kind_of_file(struct file *file)
{
	return file ? kind_of_mode(BPF_CORE_READ(file, f_inode, i_mode)) : WAIT_FD_NONE;
}

/* Returns the flags, WAIT_*, of the wait that @task begins. */
walk_inline __u8 flags_of(struct task_struct *task)
{
	__u8 flags = BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? WAIT_DISK : 0;

	if (bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD_PROBED(task, frozen))
		flags |= WAIT_CGROUP;
	return flags;
}

/*
 * Has the thread left the system call that its saved registers name, or does the thread wait for
 * something else than that call? A thread waits for something else if it is stopped, traced or
 * frozen, or ends.
 */
walk_inline bool has_left_call(struct task_struct *task, __u32 state)
{
	return state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN) ||
	       BPF_CORE_READ(task, flags) & PF_EXITING || flags_of(task) & WAIT_CGROUP;
}

#endif
