/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ends waits whose ends the kernel doesn't report. Some kernels don't run the tracepoint
 * sched_switch when certain tasks leave their CPU. If a thread gets the CPU from such a task, krait
 * doesn't see that the thread runs again.
 */
#ifndef BPF_EVENTS_UNSEEN_H
#define BPF_EVENTS_UNSEEN_H

#include "gil_time.bpf.h"
#include "process/account.bpf.h"
#include "process/waiting.bpf.h"

/*
 * Ends the wait of @e, which took @away_ns. After the wait, the thread ran for @ran_ns until @now.
 */
walk_inline void end_unseen(struct wait_entry *e, __u64 away_ns, __u64 ran_ns, __u64 now)
{
	e->away_ns = away_ns;
	e->over_ns = now - ran_ns;
	e->phase = WAIT_IS_OVER;
}

/*
 * Called if krait didn't see thread @task, whose entry is @e, get its CPU. The time that the thread
 * had no CPU is computed as the time since it left its CPU, minus the time that it has run since.
 */
walk_inline void came_unseen(struct wait_entry *e, const struct task_struct *task, __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - e->cpu_ns;
	__u64 away = clock_of(task, stolen_of(task), now) - e->clock_ns - ran;

	if (e->away)
		comes_with_gil(e, now - ran);
	if (e->phase != WAIT_WAITS)
		return;
	end_unseen(e, (__s64)away > 0 ? away : 0, ran, now);
	count(COUNT_WAIT_UNSEEN);
}

/*
 * Called if user space has read the wait of thread @task, whose entry is @e, and no program saw the
 * thread get a CPU after the wait. If the thread ran only once since its wait was read, the wait's
 * length follows from how long it ran. If the thread ran more often, user space added the wait too
 * late.
 */
walk_inline void ends_read(struct wait_entry *e, const struct task_struct *task, __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - e->cpu_ns, away = now - e->wait.since_ns - ran;

	e->phase = WAIT_RUNS;
	if (e->left_ns && e->switches + 1 == task->nvcsw + task->nivcsw && (__s64)away > 0)
		end_unseen(e, away, ran, now);
}

#endif
