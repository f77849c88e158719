/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entry program of sampling: a perf event of the chosen kind on every CPU runs on_sample(). */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "linked.bpf.h"
#include "frames.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

walk_inline void send_sample(struct rec_sample *rec, const struct walk *w,
			     const struct bpf_perf_event_data *ctx)
{
	rec->type = REC_SAMPLE;
	rec->in_kernel = !CTX_USER_MODE(ctx);
	rec->time_ns = bpf_ktime_get_ns();
	rec->outcome = w->outcome;
	rec->stack = w->n ? w->hash : 0;
	rec->weight = ctx->sample_period;
	send_bytes(rec, sizeof(*rec));
}

/* Decides from the state of process w->proc, and walks where there is an interpreter. */
walk_inline bool take_stack(struct walk *w, const struct proc_entry *p)
{
	const struct py_layout *l;

	w->n = 0;
	switch (copy_where(&w->where, p, &w->proc)) {
	case 0:
		count(COUNT_NO_ROOM);
		return false;
	case PROC_PENDING:
		w->outcome = WALK_PENDING;
		ask_again(w->proc.tgid);
		return true;
	case PROC_LINKING:
		w->outcome = WALK_NO_PYTHON;
		if (!find_linked(w->proc.tgid))
			return true;
		break;
	case PROC_UNSUPPORTED:
		w->outcome = WALK_UNSUPPORTED;
		return true;
	case PROC_PYTHON:
		break;
	default:
		count(COUNT_IGNORED);
		return false;
	}
	l = walk_layout(w->where.layout);
	if (!l)
		return false;
	walk_python(w, l);
	return true;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct rec_sample rec = {};
	const struct proc_entry *p;
	struct walk_out *out = walk_out();
	struct walk *w = walk_state();

	if (!armed || !w || !out)
		return 0;
	if (read_task(task, &rec, w) & (PF_KTHREAD | PF_EXITING) || !rec.proc.tgid)
		return 0;
	p = current_proc(task, &w->proc);
	if (!p) {
		count(BPF_CORE_READ(task, mm, start_code) ? COUNT_NO_ROOM : COUNT_EXEC);
		return 0;
	}
	if (!take_stack(w, p))
		return 0;
	count(COUNT_SAMPLES);
	send_stack(w, out);
	send_sample(&rec, w, ctx);
	return 0;
}
