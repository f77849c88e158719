/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Computes how a thread spent its time, by the kernel's accounts: CPU time, the time in which it
 * was ready to run, and the time that was stolen from it. In the rest of the time the thread
 * waited. All these times are values of the scheduler's clock that the scheduler itself has read.
 * If another clock were read a little later, waits of a few microseconds would be wrong by some
 * percent (docs/decisions/0023).
 */
#ifndef BPF_PROCESS_ACCOUNT_H
#define BPF_PROCESS_ACCOUNT_H

#include "process/proc.bpf.h"

/*
 * whether waits are recorded, so that samples of other events say how long the thread was ready to
 * run
 */
const volatile bool accounts;

/*
 * Reads the state of process @tgid once: user space may change the state at any time. Returns the
 * process's entry, or NULL.
 */
walk_inline const struct proc_entry *entry_with_state(__u32 tgid, __u8 *state)
{
	const struct proc_entry *p = proc_entry_of(tgid);

	if (p)
		*state = p->state;
	barrier();
	return p;
}

/*
 * Is it known that process image @key isn't recorded? If the entry in `procs` is that of the
 * process before execve(), or of an earlier process with the same number, the answer is no.
 */
walk_inline bool is_unwanted(const struct proc_key *key)
{
	__u8 state = 0;
	const struct proc_entry *p = entry_with_state(key->tgid, &state);

	return p && (state == PROC_IGNORED || state == PROC_HOST) && same_key(&p->key, key);
}

/*
 * Is process image @key recorded, as far as is known? If the process had no sample yet, its entry
 * in `procs` has only its number, and an equal number is enough for this function.
 */
walk_inline bool is_recorded(const struct proc_key *key)
{
	__u8 state = 0;
	const struct proc_entry *p = entry_with_state(key->tgid, &state);

	return p && (state == PROC_PYTHON || state == PROC_NATIVE) &&
	       (!p->key.start_ns || same_key(&p->key, key));
}

/* Returns how long the thread was ready to run so far; 0 on a kernel without CONFIG_SCHED_INFO. */
walk_inline __u64 run_delay(const struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/*
 * Returns what run_delay() of @task will be once it has the CPU that it gets now. Just after the
 * switch the kernel adds the time since .last_queued, by the clock of the run queue
 * (kernel/sched/stats.h, sched_info_arrive()). Returns 0 if that isn't known.
 */
walk_inline __u64 delay_on_cpu(const struct task_struct *task)
{
	const struct cfs_rq *q;
	__u64 since;

	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(task->sched_info.last_queued))
		return 0;
	q = task->se.cfs_rq;
	since = task->sched_info.last_queued;
	return q ? task->sched_info.run_delay + (since ? q->rq->clock - since : 0) : 0;
}

/*
 * Returns how much time was stolen so far from the CPU that @task leaves or gets now: by the host
 * of a virtual machine and, on kernels that count it, by interrupts. Only the difference of two
 * values has a meaning.
 */
walk_inline __u64 stolen_of(const struct task_struct *task)
{
	const struct cfs_rq *q;

	if (!bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	q = task->se.cfs_rq;
	return q ? q->rq->clock - q->rq->clock_task : 0;
}

/*
 * Called when @task gets or leaves its CPU. Returns the time on the scheduler's clock at which its
 * CPU time begins or ends. @stolen: stolen_of(@task). (.exec_start is .clock_task of that moment.
 * .clock may have moved on since, while the kernel looked for the next task.) @now: returned if the
 * kernel doesn't have that clock.
 */
walk_inline __u64 clock_of(const struct task_struct *task, __u64 stolen, __u64 now)
{
	if (!bpf_core_field_exists(task->se.cfs_rq) || !task->se.cfs_rq)
		return now;
	return task->se.exec_start + stolen;
}

/*
 * Brings the account of @e up to date when its thread leaves the CPU. @stolen: how much time has
 * been stolen from that CPU so far (stolen_of()).
 */
walk_inline void settle_account(struct wait_entry *e, const struct task_struct *task, __u64 stolen,
				__u64 now)
{
	if (e->has_cpu && stolen > e->aside_ns)
		e->stolen_ns += stolen - e->aside_ns;
	e->has_cpu = 0;
	e->left_ns = now;
	e->clock_ns = clock_of(task, stolen, now);
	e->cpu_ns = task->se.sum_exec_runtime;
	e->delay_ns = run_delay(task);
}

#define NOT_NOTED (~0ull)

/* Returns the run_delay of thread @tid that user space read before the recording, or NOT_NOTED. */
walk_global __u64 noted_delay(__u32 tid)
{
	const __u64 *delay = bpf_map_lookup_elem(&delays, &tid);

	return delay ? *delay : NOT_NOTED;
}

/*
 * Returns the run_delay that the thread had when the recording began. If the thread was ready to
 * run at that moment, the kernel counts this time only when the thread gets a CPU. How much of it
 * was before the recording isn't known exactly, but what came after can't be longer than the
 * recording so far.
 */
walk_inline __u64 delay_before(const struct wait_entry *e, __u32 tid, __u64 now)
{
	__u64 passed = now - began_ns, before = e->delay_begin_ns;

	if (e->start_ns >= began_ns)
		return 0;
	if (!e->made_before)
		before = noted_delay(tid);
	if (before > e->delay_ns)
		return e->delay_ns;
	return e->delay_ns - before > passed ? e->delay_ns - passed : before;
}

/* Is @e the entry of thread @task, and not of another thread that had the same number? */
walk_inline bool is_entry_of(const struct wait_entry *e, const struct task_struct *task)
{
	return e->start_ns == task->start_time && (!e->task || e->task == (__u64)task);
}

/*
 * Begins the account (struct rec_account) of a thread that leaves its CPU. @stolen: how much time
 * has been stolen from that CPU so far (stolen_of()).
 */
walk_inline void begin_account(struct wait_entry *e, const struct task_struct *task, __u64 stolen,
			       __u64 now)
{
	e->start_ns = task->start_time;
	e->task = (__u64)task;
	settle_account(e, task, stolen, now);
	e->waited_ns = 0;
	e->begin_ns = e->clock_ns - e->cpu_ns - e->delay_ns - e->stolen_ns;
	e->delay_begin_ns = delay_before(e, task->pid, now);
}

/*
 * Begins the account of a thread that leaves the CPU after a wait that user space has read. That
 * wait counts from the recording's beginning (.left_ns), so the thread's account also begins at the
 * recording's beginning.
 */
walk_inline void begin_with_wait(struct wait_entry *e, const struct task_struct *task, __u64 stolen,
				 __u64 now)
{
	__u64 passed = now - e->left_ns, before = e->cpu_ns + e->delay_begin_ns;

	settle_account(e, task, stolen, now);
	e->begin_ns = e->clock_ns - passed - before;
}

/*
 * Called when thread @task leaves its CPU. Begins the account in @e, the thread's entry, or brings
 * the account up to date.
 */
walk_inline void keep_account(struct wait_entry *e, const struct task_struct *task, __u64 stolen,
			      __u64 now)
{
	if (e->clock_ns)
		settle_account(e, task, stolen, now);
	else if (e->waited_ns && e->left_ns)
		begin_with_wait(e, task, stolen, now);
	else
		begin_account(e, task, stolen, now);
}

/*
 * Returns how long the thread has waited since its account began: the time that the account counts
 * neither as CPU time, nor as ready, nor as stolen.
 */
walk_inline __u64 rest_of_account(const struct wait_entry *e)
{
	__u64 rest = e->clock_ns - e->cpu_ns - e->delay_ns - e->begin_ns - e->stolen_ns;

	return (__s64)rest > 0 ? rest : 0;
}

/*
 * Copies into the sample that is taken in @slot the times that the current thread's account has.
 * The time that the thread was ready to run after its last wait is left out if the record of that
 * wait, which isn't sent yet, will have it.
 */
walk_global int note_account(__u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct walk *w = walk_state(slot);
	__u32 tid = BPF_CORE_READ(task, pid);
	const struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);
	__u64 delay;

	/*
	 * the same test as is_entry_of(), which can't be called, as the verifier doesn't know the
	 * type of @task
	 */
	if (!w || !e || e->start_ns != BPF_CORE_READ(task, start_time) ||
	    (e->task && e->task != (__u64)task))
		return 0;
	delay = e->delay_ns;
	if ((e->phase != WAIT_IS_OVER || !e->times) &&
	    bpf_core_field_exists(task->sched_info.run_delay))
		delay = BPF_CORE_READ(task, sched_info.run_delay);
	w->rec.ready_ns = delay > e->delay_begin_ns ? delay - e->delay_begin_ns : 0;
	w->rec.stolen_ns = e->stolen_ns;
	return 0;
}

#endif
