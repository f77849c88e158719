/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells user space how much code a process maps now. /proc/PID/status also says this, but the
 * kernel needs ten times as long to write that file.
 */
#ifndef BPF_EVENTS_QUESTION_H
#define BPF_EVENTS_QUESTION_H

#include "process/proc.bpf.h"

/*
 * User space runs this program with BPF_PROG_TEST_RUN; the program isn't attached to any event.
 * @args has rec_proc.task, and .start_ns and .exec_id of the process's key. Returns how many pages
 * of code the process maps; 0: not known. If the process has ended, the memory at rec_proc.task may
 * be another task's: start time and exec_id show that.
 */
SEC("raw_tp/question")
int on_question(__u64 *args)
{
	struct task_struct *task = (void *)args[0];

	if (BPF_CORE_READ(task, start_time) != args[1] ||
	    (__u32)BPF_CORE_READ(task, self_exec_id) != args[2])
		return 0;
	return (int)BPF_CORE_READ(task, mm, exec_vm);
}

#endif
