/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds what the kernel keeps of a thread's user state: its registers and its thread pointer. */
#ifndef BPF_NATIVE_SAVED_H
#define BPF_NATIVE_SAVED_H

#include "state.bpf.h"

/* size of a kernel stack on this architecture (THREAD_SIZE); used before 5.15 */
const volatile __u32 kernel_stack_bytes = 16384;

/*
 * Tells whether the kernel has bpf_task_pt_regs(), which returns a task's saved registers. An older
 * kernel needs regs_on_stack().
 */
#define HAS_TASK_REGS                                                                              \
	bpf_core_enum_value_exists(enum bpf_func_id___ask, BPF_FUNC_task_pt_regs___ask)

/* Returns the saved user registers, which lie at the end of the thread's kernel stack. */
walk_inline const void *regs_on_stack(struct task_struct *task)
{
	return (const void *)(BPF_CORE_READ(task, stack) + kernel_stack_bytes -
			      bpf_core_type_size(struct pt_regs));
}

walk_inline __u64 thread_pointer(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread.fsbase))
		return BPF_CORE_READ(task, thread.fsbase);
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

#endif
