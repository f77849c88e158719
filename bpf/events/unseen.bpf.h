/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits whose ends the kernel doesn't report. Some kernels hide the switches from certain tasks. Who
 * gets the CPU from such a task isn't seen to come back.
 */
#ifndef BPF_EVENTS_UNSEEN_H
#define BPF_EVENTS_UNSEEN_H

#include "gil_time.bpf.h"
#include "process/account.bpf.h"
#include "process/waiting.bpf.h"

/*
 * It wasn't seen that thread @task, whose entry is @e, got its CPU. How long it was away follows from
 * how long it ran since.
 */
walk_inline void came_unseen(struct wait_entry *e, const struct task_struct *task, __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - e->cpu_ns;
	__u64 away = clock_of(task, stolen_of(task), now) - e->clock_ns - ran;

	if (e->away)
		comes_with_gil(e, now - ran);
	if (e->phase != WAIT_WAITS)
		return;
	e->away_ns = (__s64)away > 0 ? away : 0;
	e->over_ns = now - ran;
	e->phase = WAIT_IS_OVER;
	count(COUNT_WAIT_UNSEEN);
}

/*
 * User space has read the wait of thread @task, whose entry is @e, but it wasn't seen that the thread
 * came back. If it ran once since it was read, the wait's length follows from that, too. Else user
 * space has added the wait too late.
 */
walk_inline void ends_read(struct wait_entry *e, const struct task_struct *task, __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - e->cpu_ns, away = now - e->wait.since_ns - ran;

	e->phase = WAIT_RUNS;
	if (!e->left_ns || e->switches + 1 != task->nvcsw + task->nivcsw || (__s64)away <= 0)
		return;
	e->away_ns = away;
	e->over_ns = now - ran;
	e->phase = WAIT_IS_OVER;
}

#endif
