/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entry programs. A perf event of the chosen kind on every CPU runs on_sample(); one of the others watches
 * what is unmapped.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "absent.bpf.h"
#include "process/linked.bpf.h"
#include "python/several.bpf.h"
#include "native/space.bpf.h"
#include "events/unmap.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

walk_inline void send_sample(struct rec_sample *rec, const struct walk *w,
			     const struct bpf_perf_event_data *ctx)
{
	rec->time_ns = bpf_ktime_get_ns();
	rec->outcome = w->outcome;
	rec->stack = w->hash;
	rec->weight = sample_weight ? sample_weight : ctx->sample_period;
	ring_output(rec, sizeof(*rec), w->urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

walk_inline __u64 user_sp(const struct bpf_perf_event_data *ctx)
{
	return CTX_USER_MODE(ctx) ? ctx->sp : saved_sp((void *)bpf_get_current_task());
}

/*
 * Decides from the state of process w->proc, and walks where there is an interpreter. False: not a
 * sample to be shown.
 */
walk_inline bool take_stack(struct bpf_perf_event_data *ctx, struct rec_sample *rec, struct walk *w,
			    const struct proc_entry *p)
{
	const struct py_layout *l;

	w->n = w->groups = 0;
	w->hash = 0;
	w->urgent = false;
	switch (copy_where(&w->where, &w->space, &w->space_before_ns, p, &w->proc)) {
	case 0:
		count(COUNT_NO_ROOM);
		return false;
	case PROC_PENDING:
		if (find_linked(w->proc.tgid))
			break;
		w->outcome = WALK_PENDING;
		ask_again(w->proc.tgid);
		return true;
	case PROC_HOST:
		if (find_linked(w->proc.tgid))
			break;
		count(COUNT_IGNORED);
		return false;
	case PROC_LINKING:
		w->outcome = w->where.own_program ? WALK_STARTING : WALK_NO_PYTHON;
		if (!find_linked(w->proc.tgid))
			return true;
		break;
	case PROC_UNSUPPORTED:
		walk_begin(w);
		w->outcome = WALK_UNSUPPORTED;
		rec->native = take_native(ctx);
		return true;
	case PROC_CROWDED:
		w->outcome = WALK_CROWDED;
		return true;
	case PROC_UNASKED:
		w->outcome = WALK_PENDING;
		return true;
	case PROC_NATIVE:
		rec->gil = GIL_NONE;
		walk_begin(w);
		rec->native = take_native(ctx);
		return true;
	case PROC_PYTHON:
		break;
	default:
		count(COUNT_IGNORED);
		return false;
	}
	w->sp = 0;
	if (p->several) {
		w->sp = user_sp(ctx);
		choose_interpreter(w->proc.tgid);
	}
	l = walk_layout(w->where.layout);
	if (!l)
		return false;
	if (l->walk == PY_WALK_CFRAME)
		w->sp = user_sp(ctx);
	walk_python(w, l);
	rec->gil = take_gil(ctx);
	rec->native = take_native(ctx);
	return true;
}

/*
 * Is what the process's memory holds its parent's? In execve() after vfork() the parent runs on as soon as the child won't
 * need it any more (fs/exec.c, exec_mm_release()), a moment before the child has its own. That costs a few reads of processes
 * that are young alone.
 */
walk_inline bool is_in_parents_memory(struct task_struct *task, const struct rec_sample *rec)
{
	return rec->tid == rec->proc.tgid && rec->runtime_ns < NEW_THREAD_NS &&
	       !BPF_CORE_READ(task, vfork_done) &&
	       BPF_CORE_READ(task, mm) == BPF_CORE_READ(task, real_parent, mm);
}

#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h: all its threads end */

walk_inline bool process_ends(struct task_struct *task)
{
	return BPF_CORE_READ(task, flags) & PF_EXITING &&
	       BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT;
}

/*
 * The same where that can't be told from memory: the thread is in do_exit(), its own may be gone, or it's its parent's. What
 * the kernel does is shown. A process that nothing is known of isn't looked at any more.
 */
walk_inline bool take_kernel_part(struct bpf_perf_event_data *ctx, struct rec_sample *rec,
				  struct walk *w)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tgid = rec->proc.tgid;
	const struct proc_entry *p = proc_entry_of(tgid);
	int state = p ? copy_where(&w->where, &w->space, &w->space_before_ns, p, &w->proc) : 0;

	if (state == PROC_CROWDED) {
		w->outcome = WALK_CROWDED;
		w->hash = 0;
		w->urgent = false;
		return true;
	}
	if (state != PROC_PYTHON && state != PROC_NATIVE && state != PROC_UNSUPPORTED)
		return false;
	w->n = w->groups = 0;
	w->urgent = false;
	walk_begin(w);
	if (state == PROC_PYTHON)
		w->outcome = process_ends(task) ? WALK_ENDING : WALK_NO_PYTHON;
	rec->gil = GIL_NONE;
	rec->native = take_kernel_only(ctx);
	return true;
}

walk_inline int sample(struct bpf_perf_event_data *ctx, struct walk *w)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct rec_sample rec = {.type = REC_SAMPLE};
	const struct proc_entry *p;
	struct walk_out *out = walk_out();
	__u32 flags;

	if (!out)
		return 0;
	forget_absent(w);
	flags = read_task(task, &rec, w);
	if (flags & PF_KTHREAD || !rec.proc.tgid)
		return 0;
	if (flags & PF_EXITING || is_in_parents_memory(task, &rec)) {
		if (flags & PF_EXITING)
			rec.type = REC_SAMPLE_END;
		if (!take_kernel_part(ctx, &rec, w))
			return 0;
	} else {
		p = current_proc(task, &w->proc);
		if (!p) {
			count(BPF_CORE_READ(task, mm, start_code) ? COUNT_NO_ROOM : COUNT_EXEC);
			return 0;
		}
		if (!take_stack(ctx, &rec, w, p))
			return 0;
	}
	count(COUNT_SAMPLES);
	if (w->hash) /* before the code objects' are: a stack's epoch isn't later than theirs */
		w->hash = in_epoch(w->hash);
	send_stack(w, out);
	send_sample(&rec, w, ctx);
	if (lacks(&rec, w))
		send_absent();
	return 0;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct walk *w = walk_state();
	__u64 ns;

	if (!armed || !w)
		return 0;
	w->began_ns = bpf_ktime_get_ns();
	sample(ctx, w);
	if (!measures)
		return 0;
	ns = bpf_ktime_get_ns() - w->began_ns;
	if (ns > longest_ns)
		longest_ns = ns;
	if (ns > SAMPLE_NS)
		long_samples++;
	return 0;
}

/*
 * kernel/events/uprobes.c, uprobe_munmap(): unmap_single_vma() and its successors call it for every part of
 * a file that is unmapped. (fentry would be cheaper, but whether it may be used shows only when
 * it is loaded, and a second object costs as much as the first: all of the kernel's BTF is read again.)
 * A kprobe's context begins with the registers.
 */
SEC("kprobe/uprobe_munmap")
int on_munmap(struct bpf_perf_event_data *ctx)
{
	on_unmap((struct vm_area_struct *)CTX_ARG1(ctx));
	return 0;
}

/*
 * Where there are no kprobes (a locked-down kernel): without an address of its own a new library's place
 * is always looked for (mm/mmap.c, vm_unmapped_area(); its tracepoint is in 5.7+).
 */
SEC("raw_tp/vm_unmapped_area")
int on_place(__u64 *args)
{
	struct vm_unmapped_area_info *info = (void *)args[1];

	on_new_place(args[0], BPF_CORE_READ(info, length));
	return 0;
}
