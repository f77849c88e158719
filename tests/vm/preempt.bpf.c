/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * krait's own programs, and in addition fexit programs: these take samples at the end of kernel
 * functions that processes call all the time. preempt.sh links all of them into a krait. That krait
 * loads the fexit programs but doesn't attach them: preempt.c attaches them, makes their settings
 * and reads their counts.
 */
#include "events/sample.bpf.c"

#include "preempt.h"

/* Samples of these programs are recorded as samples of the recording's second event. */
#define SOURCE 1

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PREEMPT_PROGRAMS);
	__type(key, __u32);
	__type(value, struct preempt);
} preempts SEC(".maps");

/*
 * Counters as they are when a run of one of krait's BPF programs begins. One such struct for each
 * CPU is enough: the kernel doesn't begin a BPF program on a CPU on which this program already
 * runs.
 */
struct before {
	__u64 switches; /* how often the kernel had preempted the current thread */
	__u64 number;	/* number of the last stack walk on this CPU for a sample of the timer */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PREEMPT_PROGRAMS);
	__type(key, __u32);
	__type(value, struct before);
} befores SEC(".maps");

walk_inline bool is_python(__u32 tgid)
{
	const struct proc_entry *p = proc_entry_of(tgid);

	return p && p->state == PROC_PYTHON;
}

/*
 * Returns the number of the last stack walk on this CPU that kept its state in slot @slot, an entry
 * of the map of walk states.
 */
walk_inline __u64 walk_number(__u32 slot)
{
	const struct walk *w = walk_state(slot);

	return w ? w->sample : 0;
}

walk_global int slot_of(__u32 which)
{
	struct preempt *p = bpf_map_lookup_elem(&preempts, &which);

	return p && p->shares ? SLOT_PERF : SLOT_TASK;
}

/*
 * Notes the counters at the beginning of a run of program @which. False: the thread doesn't run
 * Python, so the program takes no sample.
 */
walk_global int run_begins(__u32 which)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct preempt *p = bpf_map_lookup_elem(&preempts, &which);
	struct before *b = bpf_map_lookup_elem(&befores, &which);
	struct walk *w;

	if (!p || !b || !armed || !is_python(bpf_get_current_pid_tgid() >> 32))
		return 0;
	__sync_fetch_and_add(&p->runs, 1);
	b->switches = BPF_CORE_READ(task, nivcsw);
	b->number = walk_number(SLOT_PERF);
	w = walk_state(slot_of(which));
	if (w && p->unchecked) /* planted fault: takes the state of a stack walk in progress */
		w->users = 0;
	return 1;
}

walk_global int run_ends(__u32 which)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct preempt *p = bpf_map_lookup_elem(&preempts, &which);
	struct before *b = bpf_map_lookup_elem(&befores, &which);

	if (!p || !b)
		return 0;
	if (BPF_CORE_READ(task, nivcsw) != b->switches)
		__sync_fetch_and_add(&p->preempted, 1);
	if (!p->shares && walk_number(SLOT_PERF) != b->number)
		__sync_fetch_and_add(&p->interrupted, 1);
	return 0;
}

/* Takes a sample of the current thread if it runs Python. */
walk_inline void take(void *ctx, __u32 which)
{
	struct moment m = {
		.task = (void *)bpf_get_current_task(), .ctx = ctx, .source = SOURCE, .weight = 1};

	if (!run_begins(which))
		return;
	capture(&m, slot_of(which));
	run_ends(which);
}

SEC("fexit/vfs_read")
int on_read(void *ctx)
{
	take(ctx, PREEMPT_READ);
	return 0;
}

SEC("fexit/hrtimer_nanosleep")
int on_sleep(void *ctx)
{
	take(ctx, PREEMPT_SLEEP);
	return 0;
}

SEC("fexit/schedule")
int on_schedule(void *ctx)
{
	take(ctx, PREEMPT_SCHEDULE);
	return 0;
}
