/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the thread that ends a wait for a lock. A thread that wakes another thread up is the
 * current thread when the tracepoint sched_waking runs, and its memory is mapped. So the waker's
 * stack is taken at that moment, if the waiting thread's stack was taken before. The waker's stack
 * is sent in the wait's record, and counts for the time of that wait (docs/decisions/0026).
 *
 * Interrupts wake threads up as well: timers, disks, networks. The thread that is running when an
 * interrupt comes has nothing to do with the wait. So the current thread counts as the waker only
 * if it is in a futex call that wakes waiters of the futex for which the other thread waits.
 */
#ifndef BPF_EVENTS_WAKE_H
#define BPF_EVENTS_WAKE_H

#include "capture.bpf.h"
#include "events/budget.bpf.h"
#include "events/switch.bpf.h"
#include "process/known.bpf.h"

/* operations of futex calls that wake waiters of the futex in their first argument */
#define FUTEX_WAKE	  1
#define FUTEX_REQUEUE	  3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAKE_OP	  5
#define FUTEX_WAKE_BITSET 10
/* flag of an operation: the futex belongs to one process */
#define FUTEX_PRIVATE	 128

#define PAGE_OFFSET_MASK 4095ull

walk_inline bool is_waking_call(const struct futex_call *f)
{
	__u32 op = (__u32)f->op & FUTEX_OP;

	return f->op >= 0 && (op == FUTEX_WAKE || op == FUTEX_REQUEUE || op == FUTEX_CMP_REQUEUE ||
			      op == FUTEX_WAKE_OP || op == FUTEX_WAKE_BITSET);
}

/*
 * Does the thread of @e wait for a futex that isn't the GIL's, and was the stack of this wait
 * taken?
 */
walk_inline bool is_lock_wait(const struct wait_entry *e)
{
	return e->phase == WAIT_WAITS && e->times && e->futex && !(e->wait.flags & WAIT_FOR_GIL) &&
	       e->wait.sample.gil != GIL_WAITING;
}

/*
 * Can the futex call in which the current thread is end the wait of @task? Processes that share a
 * futex may map it at different addresses, but the futex has the same offset in its page for all of
 * them.
 */
walk_inline bool ends_wait(const struct wait_entry *e, const struct task_struct *task)
{
	struct task_struct *waker = (void *)bpf_get_current_task();
	struct futex_call call = {.op = -1};

	read_futex_call(&call);
	if (!is_waking_call(&call))
		return false;
	if (call.addr == e->futex && BPF_CORE_READ(waker, mm) == task->mm)
		return true;
	return !(((__u64)call.op | e->wait.arg[1]) & FUTEX_PRIVATE) &&
	       !((call.addr ^ e->futex) & PAGE_OFFSET_MASK);
}

/* Takes the stack of the current thread, which ends the wait of @e. */
walk_inline void take_waker(__u64 *ctx, struct wait_entry *e)
{
	__u64 began_ns = bpf_ktime_get_ns(), ns;
	struct moment m = {
		.ctx = ctx,
		.source = wait_source,
		.kept = &e->wait.waker,
	};

	if (!capture(&m, SLOT_SWITCH))
		e->wait.waker.tid = 0;
	ns = bpf_ktime_get_ns() - began_ns;
	/* the wait lasts longer by the time that taking this stack took */
	e->wait.cost_ns += (__u32)ns;
	spend(ns);
}

/*
 * The kernel's try_to_wake_up() (kernel/sched/core.c) passes the task that is woken up. That task
 * is locked while this program runs.
 */
SEC("tp_btf/sched_waking")
int on_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct wait_entry *e;
	__u32 tid;

	if (!armed)
		return 0;
	tid = task->pid;
	if (!may_be_met(tid))
		return 0;
	e = bpf_map_lookup_elem(&waits, &tid);
	if (e && is_lock_wait(e) && ends_wait(e, task))
		take_waker(ctx, e);
	return 0;
}

#endif
