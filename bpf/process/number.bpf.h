/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Translates processes and threads into their numbers in krait's own PID namespace. */
#ifndef BPF_PROCESS_NUMBER_H
#define BPF_PROCESS_NUMBER_H

#include "state.bpf.h"

/*
 * the most levels of PID namespaces: that of the host, and below it as many as the kernel allows
 * (MAX_PID_NS_LEVEL, 32)
 */
#define MAX_PIDNS_LEVEL 33

/*
 * inode of krait's own PID namespace; 0: krait is in the host's PID namespace, so numbers needn't
 * be translated
 */
const volatile __u32 pidns_inum;

/*
 * Returns the number that the struct pid at address @at has in krait's PID namespace; 0: the
 * process or thread isn't visible in that namespace.
 */
walk_global __u32 number_at(__u64 at)
{
	struct pid *pid = (void *)at;
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < MAX_PIDNS_LEVEL; i++) {
		struct upid up = {};

		if (i > level)
			return 0;
		bpf_core_read(&up, sizeof(up), &pid->numbers[i]);
		if (BPF_CORE_READ(up.ns, ns.inum) == pidns_inum)
			return up.nr;
	}
	return 0;
}

/* Returns the number of @pid in krait's PID namespace; 0: @pid isn't visible in that namespace. */
walk_inline __u32 number_of(struct pid *pid)
{
	return number_at((__u64)pid);
}

/*
 * Returns the tgid of @task in krait's PID namespace: the number that the process's first thread
 * has in that namespace. 0: the process isn't visible there.
 */
walk_inline __u32 tgid_of(struct task_struct *task)
{
	if (!pidns_inum)
		return BPF_CORE_READ(task, tgid);
	return number_of(BPF_CORE_READ(task, group_leader, thread_pid));
}

/*
 * Is the thread in krait's own PID namespace? If so, a number that the thread sees for its child is
 * also the number that krait sees.
 */
walk_inline bool has_own_numbers(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid up = {};

	if (!pidns_inum)
		return !level;
	if (level >= MAX_PIDNS_LEVEL)
		return false;
	bpf_core_read(&up, sizeof(up), &pid->numbers[level]);
	return BPF_CORE_READ(up.ns, ns.inum) == pidns_inum;
}

#endif
