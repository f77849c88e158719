/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * With execve() a process begins a new image, which user space takes for a new process with new
 * threads. The times for which the thread waits or is ready to run count for the old image before
 * execve(), and for the new image after it. The old image's GILs are forgotten.
 *
 * By the time the new image begins, all other threads of the process have ended. If the thread that
 * calls execve() isn't the first thread of its process, it gets the first thread's number in the
 * middle of execve(), and a new thread may get the number that the calling thread had before.
 */
#ifndef BPF_EVENTS_EXEC_H
#define BPF_EVENTS_EXEC_H

#include "events/switch.bpf.h"

/*
 * Returns the time that had been stolen from the current thread's CPU when the thread got it. @e is
 * the thread's entry, NULL if the thread has none. If that time isn't known, the present time is
 * read from the clocks of the run queue, though another CPU may change them at that moment.
 */
walk_inline __u64 stolen_before(const struct task_struct *task, const struct wait_entry *e)
{
	return e && e->has_cpu ? e->aside_ns : stolen_of(task);
}

/*
 * Corrects .delay_begin_ns if krait saw the current thread for the first time within execve(). In
 * that case the thread's entry assumed that the thread had another number before. But the thread
 * had the same number, so the time for which the thread was ready to run before execve() still has
 * to be sent.
 */
walk_inline void tell_before(struct wait_entry *e, __u32 tid, __u64 now)
{
	if (e->in_exec)
		e->delay_begin_ns = delay_before(e, tid, now);
}

/*
 * Ends the account (struct rec_account) of the current thread, number @tid, at @now, and sends what
 * of the account hasn't been sent yet. @e is the thread's entry.
 */
walk_inline void end_now(struct wait_entry *e, const struct task_struct *task, __u32 tid, __u64 now)
{
	ends_run(e, task, now);
	keep_account(e, task, stolen_before(task, e), now);
	end_thread(tid, 0);
}

/*
 * Ends entry @e (of map `waits`) of the current thread, whose number was @tid and has changed. The
 * thread got its entry @later when it first left its CPU with the new number. @e ends at that
 * moment.
 */
walk_inline void end_until(struct wait_entry *e, const struct wait_entry *later, __u32 tid)
{
	if (e->phase == WAIT_IS_OVER)
		finish_wait(e, later->delay_begin_ns);
	if (e->clock_ns) {
		e->cpu_ns = 0;
		e->delay_ns = later->delay_begin_ns;
		e->clock_ns = later->begin_ns + later->delay_begin_ns;
	}
	end_thread(tid, 0);
}

/*
 * Begins the entry (in map `waits`) of the current thread, with number @tid, in the new image of
 * its process.
 */
walk_inline void begin_image(const struct task_struct *task, __u32 tid, __u64 stolen, __u64 now)
{
	struct wait_entry *e;

	if (!add_thread(tid, task->group_leader->start_time, (__u32)task->self_exec_id, true))
		return;
	e = bpf_map_lookup_elem(&waits, &tid);
	if (!e)
		return;
	begin_account(e, task, stolen, now);
	e->delay_begin_ns = e->delay_ns;
	e->aside_ns = stolen;
	e->came_delay_ns = e->delay_ns;
	e->has_cpu = 1;
}

/*
 * The kernel runs this program in exec_binprm() (fs/exec.c). The context has: task, the number that
 * the thread had before execve(), bprm.
 */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];
	__u32 before = (__u32)ctx[1], tid = task->pid;
	struct wait_entry *e, *earlier = NULL;
	__u64 now, stolen;

	if (!armed)
		return 0;
	now = bpf_ktime_get_ns();
	forget_gils(task->tgid);
	e = bpf_map_lookup_elem(&waits, &tid);
	if (e && !is_entry_of(e, task)) {
		end_earlier(tid);
		e = NULL;
	}
	if (before != tid)
		earlier = bpf_map_lookup_elem(&waits, &before);
	if (earlier && earlier->task != (__u64)task)
		earlier = NULL;
	/* krait may already have reported the end of the thread that had this number before */
	if (earlier)
		earlier->wait.flags |= WAIT_EXITS;
	/*
	 * the thread may have moved to another CPU since it got its new number; no BPF program saw
	 * such a move
	 */
	if (earlier && !e)
		earlier->aside_ns = stolen_of(task);
	stolen = stolen_before(task, e ?: earlier);
	if (e && earlier)
		end_until(earlier, e, before);
	else if (earlier)
		end_now(earlier, task, before, now);
	else if (e)
		tell_before(e, tid, now);
	if (e)
		end_now(e, task, tid, now);
	if (e || earlier)
		begin_image(task, tid, stolen, now);
	return 0;
}

#endif
