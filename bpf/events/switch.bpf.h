/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records what threads wait for. A thread that leaves the CPU because it waits is walked at that
 * moment, while its memory is still mapped. When it gets a CPU again, it is known how long it was
 * away. For a part of that time it was ready to run and had no CPU. The kernel adds up these parts
 * (sched_info.run_delay), but only a moment after the thread got its CPU. So run_delay is read, and
 * the wait's record sent, when the thread leaves the CPU the next time.
 *
 * If the budget doesn't allow the stacks of all waits, waits are chosen at random. The chance
 * depends only on what was known before the wait began: how long earlier waits at the same site
 * took. A site is a system call together with the descriptor or lock that it waits for. The times
 * of waits whose stacks weren't taken are added up, and the sum is sent with the site's next wait
 * whose stack was taken. User space divides the sum between the stacks of the site
 * (docs/decisions/0023).
 */
#ifndef BPF_EVENTS_SWITCH_H
#define BPF_EVENTS_SWITCH_H

#include "capture.bpf.h"
#include "events/budget.bpf.h"
#include "events/on.bpf.h"
#include "events/unseen.bpf.h"
#include "process/known.bpf.h"
#include "process/waiting.bpf.h"

/* number of krait's own process: recording its waits would cause more waits */
const volatile __u32 own_tgid;
/* number of the source of waits among the recording's events (rec_sample.source) */
const volatile __u8 wait_source;

/*
 * After a stop, the kernel goes on with an interrupted call as restart_syscall(). In that case,
 * this function sets @call to the call in which the thread waited before the stop.
 */
walk_inline void name_call(struct wait_entry *e, struct call *call)
{
	if (call->number == CALL_RESTART)
		call->number = e->call;
	else if (call->number >= 0)
		e->call = call->number;
}

/* Returns the address of the futex that @task, in @state, waits for in @call; 0: no futex. */
walk_inline __u64 futex_of(struct task_struct *task, const struct call *call, __u32 state)
{
	struct futex_call f = {.op = (__u32)call->arg[1]};
	bool waits = call->number == CALL_FUTEX && is_waiting_call(&f);

	return waits && !has_left_call(task, state) ? call->arg[0] : 0;
}

/*
 * Notes what the current thread, whose entry is @e, begins to wait for, and chooses whether its
 * stack is taken. Returns 1 if it is taken.
 */
walk_apart int begin_wait(struct wait_entry *e, __u32 state)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct call call = {.number = -1};

	read_call(saved_regs(), &call);
	name_call(e, &call);
	e->futex = futex_of(task, &call, state);
	find_site(e, &call);
	if (is_chosen(e)) {
		e->wait.waker.tid = 0;
		return 1;
	}
	count(COUNT_WAITS_LEFT);
	return 0;
}

/*
 * Keeps in @e the stack that was taken of the current thread, and what the thread begins to wait
 * for. Until this call, @e has the stack of an earlier wait, and the times of later waits whose
 * stacks weren't taken are sent with that stack.
 */
walk_apart int keep_stack(struct wait_entry *e, __u32 state)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const struct rec_sample *taken = sample_room(SLOT_SWITCH);
	struct call call = {.number = -1};
	struct rec_wait *wait = &e->wait;

	if (!taken)
		return 0;
	wait->sample = *taken;
	read_call(saved_regs(), &call);
	name_call(e, &call);
	wait->call = call.number;
	wait->arg[0] = call.arg[0];
	wait->arg[1] = call.arg[1];
	wait->state = (__u16)state;
	wait->flags = flags_of(task) | (has_own_numbers(task) ? WAIT_NUMBERS : 0);
	if (taken->type == REC_SAMPLE_END)
		wait->flags |= WAIT_EXITS;
	wait->sample.type = REC_WAIT;
	wait->site = e->site;
	wait->times = e->times;
	tell_on(task, wait);
	return 0;
}

/* Sends the record of the thread's last wait, which is over. False: the ring has no room. */
walk_inline bool send_wait(struct wait_entry *e, __u64 weight, __u64 delay_ns)
{
	e->wait.sample.time_ns = e->over_ns;
	e->wait.sample.weight = weight;
	e->wait.sample.ready_ns = delay_ns - e->delay_begin_ns;
	e->wait.sample.stolen_ns = e->stolen_ns;
	return !ring_output(&e->wait, e->wait.waker.tid ? sizeof(e->wait) : WAIT_BYTES,
			    BPF_RB_NO_WAKEUP);
}

/* The wait that is over took @ns and gets no record. Adds its time to that of a later record. */
walk_inline void owe(struct wait_entry *e, struct wait_site *s, __u64 ns)
{
	s->owed_ns += ns;
	e->gil_owed_ns += e->gil_ns;
	if (e->held_ns && !e->slept_blame_ns)
		e->slept_since_ns = e->over_ns;
	e->slept_blame_ns += e->held_ns;
}

/*
 * The current thread, whose entry is @e, has run since its last wait and leaves the CPU. Counts
 * that wait, whose length is known only now. @delay_ns: sched_info.run_delay of the thread.
 */
walk_apart int finish_wait(struct wait_entry *e, __u64 delay_ns)
{
	struct wait_site *s;
	__u64 ns, ready;
	bool sent;

	s = &e->sites[bounded(e->site, WAIT_SITES)];
	ready = delay_ns - e->delay_ns;
	ns = ready < e->away_ns ? e->away_ns - ready : 0;
	e->phase = WAIT_RUNS;
	e->waited_ns += ns;
	count_length(s, ns);
	count(COUNT_WAITS);
	e->wait.gil_ns = e->gil_ns;
	e->wait.sample.blame_ns = e->held_ns ? e->held_ns + e->slept_blame_ns : 0;
	e->wait.others_ns = s->owed_ns;
	e->wait.gil_others_ns = e->site == SITE_GIL ? e->gil_owed_ns : 0;
	if (ns >= WAIT_LONG_NS)
		stand_alone(e);
	sent = e->times && send_wait(e, ns, delay_ns);
	e->wait.flags &= (__u8)~WAIT_LEFT;
	if (!sent) {
		owe(e, s, ns);
		return 0;
	}
	s->owed_ns = 0;
	e->gil_owed_ns -= e->wait.gil_others_ns;
	if (e->held_ns)
		e->slept_blame_ns = 0;
	return 0;
}

/* Sends the account (struct rec_account) of the current thread, which ends. */
walk_inline void send_account(struct wait_entry *e, __u32 exit_status)
{
	struct rec_account account = {.sample = e->wait.sample, .exit_status = exit_status};

	if (e->wait.sample.type != REC_WAIT)
		account.sample.stack = 0;
	account.sample.type = REC_ACCOUNT;
	account.sample.source = wait_source;
	account.sample.weight = 0;
	account.sample.time_ns = e->left_ns;
	account.sample.ready_ns = e->delay_ns - e->delay_begin_ns;
	account.sample.stolen_ns = e->stolen_ns;
	account.switches_ns = e->waited_ns;
	account.kernel_ns = rest_of_account(e);
	ring_output(&account, sizeof(account), BPF_RB_NO_WAKEUP);
}

/*
 * Has the entry a record to which times of waits can be added? It has none if no stack could be
 * taken. Then a time counts only if the process is known to be recorded.
 */
walk_inline bool has_record(struct wait_entry *e)
{
	if (e->wait.sample.type == REC_WAIT)
		return true;
	if (!is_recorded(&e->wait.sample.proc))
		return false;
	e->wait.sample.type = REC_WAIT;
	e->wait.sample.source = wait_source;
	return true;
}

/*
 * Sends those times of the waits of thread @tid at site @i that no record has yet: how long the
 * waits took (.owed_ns) and, with the GIL's site, the thread's times with the GIL. The record has
 * the stack that was taken last.
 */
walk_global int send_site(__u32 tid, __u32 i)
{
	struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);
	__u64 gil, blame = 0;
	struct wait_site *s;

	if (!e)
		return 0;
	s = &e->sites[bounded(i, WAIT_SITES)];
	gil = i == SITE_GIL ? e->gil_owed_ns : 0;
	if (i == SITE_GIL && e->wait.sample.gil == GIL_HELD)
		blame = e->blame_ns + e->slept_blame_ns;
	if ((!s->owed_ns && !gil && !blame) || !has_record(e))
		return 0;
	e->wait.site = i;
	e->wait.others_ns = s->owed_ns;
	e->wait.gil_others_ns = gil;
	e->wait.sample.blame_ns = blame;
	if (!send_wait(e, 0, e->delay_ns))
		return 0;
	s->owed_ns = 0;
	e->gil_owed_ns -= gil;
	if (blame)
		e->blame_ns = e->slept_blame_ns = 0;
	return 0;
}

/*
 * Sends the waiting times of thread @tid that no record has yet. Waits in do_exit() may have no
 * readable stack, so this function is also called before them.
 */
walk_global int send_owed(__u32 tid)
{
	struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);

	if (!e)
		return 0;
	e->wait.waker.tid = 0;
	e->wait.times = 0;
	e->wait.gil_ns = 0;
	for (__u32 i = 0; i < WAIT_SITES; i++)
		send_site(tid, i);
	return 0;
}

/* Called when thread @tid, the current one, ends. @exit_status is for rec_account. */
walk_global int end_thread(__u32 tid, __u32 exit_status)
{
	struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);

	if (!e)
		return 0;
	send_owed(tid);
	send_account(e, exit_status);
	delete_met(tid);
	return 0;
}

/*
 * Ends the entry of an earlier thread that had the number @tid, and whose end krait didn't see. If
 * that thread had got a CPU again after a wait, nobody knows how long it was ready to run before
 * that.
 */
walk_global int end_earlier(__u32 tid)
{
	struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);

	if (!e)
		return 0;
	if (e->phase == WAIT_IS_OVER)
		finish_wait(e, e->delay_ns);
	if (e->away == AWAY_WAITS)
		gil_wait_ends(e);
	end_thread(tid, 0);
	return 0;
}

/* The value that a thread's entry in map `waits` has before the thread has waited. */
static const struct wait_entry no_wait = {.call = CALL_RESTART, .wait.call = -1};

/*
 * Returns true if the current thread, of the process image @key, gets an entry. A thread that waits
 * now gets an entry: its stack is then taken, which shows whether its process is recorded. Any
 * other thread gets an entry only if its process is known to be recorded.
 */
walk_inline bool is_to_be_met(struct task_struct *task, const struct proc_key *key, bool waits_now)
{
	__u32 epoch = *(volatile __u32 *)&strangers_epoch;

	if (key->tgid && key->tgid != own_tgid && !is_unwanted(key))
		return waits_now || is_recorded(key);
	note_stranger(key, BPF_CORE_READ(task, tgid), epoch);
	return false;
}

/*
 * Makes the entry of thread @tid, the current one, of a process that began at @start_ns and has
 * called execve() @exec_id times. @waits_now: the thread leaves its CPU because it waits. Returns 0
 * if the thread isn't wanted or there is no room.
 */
walk_global int add_thread(__u32 tid, __u64 start_ns, __u32 exec_id, __u32 waits_now)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct proc_key key = {.start_ns = start_ns, .tgid = tgid_of(task), .exec_id = exec_id};
	struct wait_entry *e;

	if (!is_to_be_met(task, &key, waits_now))
		return 0;
	if (!add_met(tid, &no_wait))
		count(COUNT_NO_WAIT);
	e = bpf_map_lookup_elem(&waits, &tid);
	if (!e)
		return 0;
	e->wait.sample.proc = key;
	e->wait.sample.tid = pidns_inum ? number_of(BPF_CORE_READ(task, thread_pid)) : tid;
	return 1;
}

/*
 * Called if thread @tid, the current one, begins a wait whose stack couldn't be taken. The wait's
 * time is sent with the next stack that is taken of the thread or, if there is none, with the last
 * stack that was taken. If the process isn't recorded, deletes the thread's entry and returns 1. If
 * the process was recorded until now, sends what the entry has before deleting it.
 */
walk_global int lose_stack(__u32 tid)
{
	struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);

	if (!e)
		return 1;
	e->times = 0;
	if (!is_unwanted(&e->wait.sample.proc))
		return 0;
	if (e->wait.sample.type == REC_WAIT)
		end_thread(tid, 0);
	else
		delete_met(tid);
	return 1;
}

/* Takes the stack of a wait that has begun, in state @state. False: it couldn't be taken. */
walk_inline bool take_wait(__u64 *ctx, struct wait_entry *e, __u32 state, __u64 now)
{
	struct moment m = {
		.ctx = ctx,
		.source = wait_source,
		.kept = sample_room(SLOT_SWITCH),
	};
	bool taken = m.kept && capture(&m, SLOT_SWITCH);
	__u64 ns;

	if (taken)
		keep_stack(e, state);
	ns = bpf_ktime_get_ns() - now;
	e->wait.cost_ns = (__u32)ns;
	spend(ns);
	return taken;
}

/*
 * Called when thread @next gets the CPU. If the thread has waited, the wait is over. A wait from
 * before the recording was read by user space, with the thread's count of switches. Such a wait
 * doesn't count if the thread has run since user space read it.
 */
walk_inline void comes_back(struct task_struct *next, __u64 now)
{
	__u32 tid = next->pid;
	struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);
	__u64 stolen, clock;

	if (!e || !is_entry_of(e, next))
		return;
	stolen = stolen_of(next);
	e->task = (__u64)next;
	e->aside_ns = stolen;
	e->came_delay_ns = delay_on_cpu(next);
	e->has_cpu = 1;
	if (e->away)
		comes_with_gil(e, now);
	if (e->phase != WAIT_WAITS)
		return;
	clock = clock_of(next, stolen, now);
	e->away_ns = clock > e->clock_ns ? clock - e->clock_ns : 0;
	if (!e->clock_ns) /* user space has read this wait */
		e->away_ns = now - e->wait.since_ns;
	e->over_ns = now;
	e->phase = WAIT_IS_OVER;
	if (e->switches && e->switches != next->nvcsw + next->nivcsw)
		e->phase = WAIT_RUNS;
}

/*
 * Makes the entry of thread @prev, which leaves the CPU, and begins its account. NULL: the thread
 * isn't wanted, or there is no room.
 */
walk_inline struct wait_entry *meet_thread(const struct task_struct *prev, __u32 state, __u64 now)
{
	__u32 tid = prev->pid;
	struct wait_entry *e;

	if (!add_thread(tid, prev->group_leader->start_time, (__u32)prev->self_exec_id, state != 0))
		return NULL;
	e = bpf_map_lookup_elem(&waits, &tid);
	if (!e)
		return NULL;
	begin_account(e, prev, stolen_of(prev), now);
	if (bpf_core_field_exists(prev->in_execve) &&
	    BPF_CORE_READ_BITFIELD_PROBED(prev, in_execve)) {
		e->in_exec = 1;
		e->delay_begin_ns = e->delay_ns;
	}
	return e;
}

/*
 * Called when thread @task, whose entry is @e, stops running: it leaves the CPU, or calls execve().
 * If it had got the CPU after a wait, that wait's length is known now.
 */
walk_inline void ends_run(struct wait_entry *e, const struct task_struct *task, __u64 now)
{
	if (e->phase == WAIT_WAITS && e->switches)
		ends_read(e, task, now);
	if (!e->has_cpu && e->clock_ns)
		came_unseen(e, task, now);
	if (e->phase == WAIT_IS_OVER)
		finish_wait(e, run_delay(task));
}

/* Called when thread @prev leaves the CPU. @state: 0 if the thread is still ready to run. */
walk_inline void leaves(__u64 *ctx, struct task_struct *prev, __u32 state, __u64 now)
{
	__u32 tid = prev->pid;
	struct wait_entry *e = bpf_map_lookup_elem(&waits, &tid);

	if (e && !is_entry_of(e, prev)) {
		/* in execve() another thread may have got this number, and with it the entry */
		if (!(state & TASK_DEAD))
			end_earlier(tid);
		e = NULL;
	}
	if (e) {
		ends_run(e, prev, now);
		keep_account(e, prev, stolen_of(prev), now);
	}
	if (state & TASK_DEAD) {
		end_thread(tid, exit_status_of(prev));
		forget_last(prev->tgid);
		return;
	}
	if (!e)
		e = meet_thread(prev, state, now);
	if (!e)
		return;
	if (!state) {
		if (e->gil)
			leaves_with_gil(e, false, now);
		return;
	}
	if (prev->flags & PF_EXITING)
		send_owed(tid);
	e->wait.since_ns = now;
	e->switches = 0;
	e->phase = WAIT_WAITS;
	adjust_period(now);
	if (!begin_wait(e, state) || take_wait(ctx, e, state, now) || !lose_stack(tid))
		leaves_with_gil(e, true, now);
}

/*
 * The kernel's __schedule() passes: bool preempt, prev, next, and from 5.18 on prev's state. The
 * state of prev is read from the task instead. While this tracepoint runs, the state in a task that
 * stays ready to run is 0, even if the task wanted to wait and a signal kept it from waiting. But
 * if a task is preempted just before it waits, its state may be another value.
 */
SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool comes, goes;
	__u64 now;
	__u32 state;

	if (!armed)
		return 0;
	comes = may_be_met((__u32)next->pid);
	goes = !(prev->flags & PF_KTHREAD) && (may_be_met((__u32)prev->pid) || !is_stranger(prev));
	if (!comes && !goes)
		return 0;
	now = bpf_ktime_get_ns();
	if (comes)
		comes_back(next, now);
	if (!goes)
		return 0;
	if (bpf_core_field_exists(prev->__state))
		state = prev->__state;
	else
		state = (__u32)prev->state;
	leaves(ctx, prev, ctx[0] ? 0 : state, now);
	return 0;
}

#endif
