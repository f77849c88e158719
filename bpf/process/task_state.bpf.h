/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a task, TASK_* of the kernel's include/linux/sched.h; 0: it runs, or is ready to. */
#ifndef BPF_TASK_STATE_H
#define BPF_TASK_STATE_H

#include "state.bpf.h"

walk_inline __u32 state_of(struct task_struct *task)
{
	struct task_struct___state *now = (void *)task;
	struct task_struct___old *old = (void *)task;

	if (bpf_core_field_exists(now->__state))
		return BPF_CORE_READ(now, __state);
	return (__u32)BPF_CORE_READ(old, state);
}

#endif
