/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes one sample of the current thread, for any kind of event: its stack, and a record with the
 * sample's weight. An event's program (events/) fills a struct moment and calls capture().
 */
#ifndef BPF_CAPTURE_H
#define BPF_CAPTURE_H

#include "absent.bpf.h"
#include "gil_time.bpf.h"
#include "native/registers.bpf.h"
#include "native/space.bpf.h"
#include "process/account.bpf.h"
#include "process/linked.bpf.h"
#include "process/proc.bpf.h"
#include "python/call.bpf.h"
#include "python/frames.bpf.h"
#include "python/several.bpf.h"

/*
 * The thread that an event interrupted, and how. This struct lies on the stack of the event's
 * program, and capture() is inlined in that program. The type of the context depends on the
 * program, so only the program itself may pass the context on.
 */
struct moment {
	void *ctx; /* context of the program, for bpf_get_stack() */
	/*
	 * true: the event interrupted user code, and the context begins with the user registers.
	 * false: the event interrupted the kernel. A program whose context has no user registers
	 * sets this to the constant false. Then the compiler drops the code that reads them, which
	 * the verifier would refuse.
	 */
	bool user_mode;
	/* whether the kernel's frames are taken if the event interrupted the kernel */
	bool kernel_stack;
	__u8 source;  /* rec_sample.source */
	__u64 weight; /* weight of the sample, in the unit of its event */
	/* where the record is kept until its weight is known; NULL: it is sent at once */
	struct rec_sample *kept;
};

/*
 * Which parts of a thread's stack are taken. Each value includes the parts that the values before
 * it name.
 */
enum extent {
	EXTENT_NOTHING, /* nothing: no sample is recorded */
	EXTENT_RECORD,	/* only the sample itself, without frames */
	EXTENT_KERNEL,	/* the sample and the frames of the kernel */
	EXTENT_NATIVE,
	EXTENT_PYTHON,
	/* the same parts as EXTENT_PYTHON, in a process with several interpreters */
	EXTENT_SEVERAL,
};

/*
 * Does the process still use its parent's memory? After vfork(), execve() in the child lets the
 * parent run on (fs/exec.c, exec_mm_release()) a moment before the child gets memory of its own.
 * This check costs a few reads, and only in young processes.
 */
walk_inline bool is_in_parents_memory(struct task_struct *task)
{
	return !BPF_CORE_READ(task, vfork_done) &&
	       BPF_CORE_READ(task, mm) == BPF_CORE_READ(task, real_parent, mm);
}

/* flag of include/linux/sched/signal.h: all threads of the process are ending */
#define SIGNAL_GROUP_EXIT 4

walk_inline bool process_ends(struct task_struct *task)
{
	return BPF_CORE_READ(task, flags) & PF_EXITING &&
	       BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT;
}

/*
 * Returns the exit status of the process of @task, as wait_task_zombie() of kernel/exit.c computes
 * it. @task is in do_exit(). 0: the process ends with status 0, or its other threads go on.
 */
walk_inline __u32 exit_status_of(struct task_struct *task)
{
	if (process_ends(task))
		return (__u32)BPF_CORE_READ(task, signal, group_exit_code);
	return task->pid == task->tgid ? (__u32)BPF_CORE_READ(task, exit_code) : 0;
}

/*
 * Returns which parts of the stack are to be taken (enum extent), as far as the state of process
 * w->proc allows. Sets w->outcome to the reason why the stack lacks frames.
 */
walk_inline enum extent extent_of(struct walk *w, const struct proc_entry *p)
{
	switch (copy_where(&w->where, &w->space, &w->space_before_ns, p, &w->proc)) {
	case 0:
		count(COUNT_NO_ROOM);
		return EXTENT_NOTHING;
	case PROC_PENDING:
		if (find_linked(w->slot, w->proc.tgid))
			return EXTENT_PYTHON;
		w->outcome = WALK_PENDING;
		ask_again(w->slot, w->proc.tgid);
		return EXTENT_RECORD;
	case PROC_HOST:
		if (find_linked(w->slot, w->proc.tgid))
			return EXTENT_PYTHON;
		count(COUNT_IGNORED);
		return EXTENT_NOTHING;
	case PROC_LINKING:
		w->outcome = w->where.own_program ? WALK_STARTING : WALK_NO_PYTHON;
		return find_linked(w->slot, w->proc.tgid) ? EXTENT_PYTHON : EXTENT_RECORD;
	case PROC_UNSUPPORTED:
		w->outcome = WALK_UNSUPPORTED;
		return EXTENT_NATIVE;
	case PROC_CROWDED:
		w->outcome = WALK_CROWDED;
		return EXTENT_RECORD;
	case PROC_UNASKED:
		w->outcome = WALK_PENDING;
		return EXTENT_RECORD;
	case PROC_NATIVE:
		w->outcome = WALK_OK;
		return EXTENT_NATIVE;
	case PROC_PYTHON:
		return EXTENT_PYTHON;
	}
	count(COUNT_IGNORED);
	return EXTENT_NOTHING;
}

/*
 * Returns the extent for a thread whose memory can't be used, and sets w->outcome as extent_of()
 * does. Either the thread is in do_exit() and may have no memory any more, or its process still
 * uses the memory of the parent process. If nothing is known of the process, no sample is recorded
 * (EXTENT_NOTHING).
 */
walk_inline enum extent extent_without_memory(struct walk *w, struct task_struct *task)
{
	const struct proc_entry *p = proc_entry_of(w->proc.tgid);
	int state = p ? copy_where(&w->where, &w->space, &w->space_before_ns, p, &w->proc) : 0;

	w->outcome = WALK_OK;
	switch (state) {
	case PROC_CROWDED:
		w->outcome = WALK_CROWDED;
		return EXTENT_RECORD;
	case PROC_PYTHON:
		w->outcome = process_ends(task) ? WALK_ENDING : WALK_NO_PYTHON;
		return EXTENT_KERNEL;
	case PROC_NATIVE:
	case PROC_UNSUPPORTED:
		return EXTENT_KERNEL;
	}
	return EXTENT_NOTHING;
}

/*
 * Sets w->extent for the current thread. @exits: the thread is in do_exit(). @young: it is the
 * first thread of its process and has hardly run. (This is a global function, so that after the
 * call the verifier goes on from one state, and not from one for each path through the function.)
 */
walk_global int choose_extent(__u32 slot, __u32 exits, __u32 young)
{
	struct walk *w = walk_state(slot);
	const struct proc_entry *p;

	if (!w)
		return 0;
	w->extent = EXTENT_NOTHING;
	if (exits || (young && is_in_parents_memory((void *)bpf_get_current_task()))) {
		w->extent = extent_without_memory(w, (void *)bpf_get_current_task());
		return 0;
	}
	p = current_proc(slot, &w->proc);
	if (!p) {
		struct task_struct *task = (void *)bpf_get_current_task();

		count(BPF_CORE_READ(task, mm, start_code) ? COUNT_NO_ROOM : COUNT_EXEC);
		return 0;
	}
	/*
	 * most processes of a machine aren't wanted, so this case is decided without extent_of(),
	 * which takes longer
	 */
	if (state_of(p, &w->proc) == PROC_IGNORED) {
		count(COUNT_IGNORED);
		return 0;
	}
	w->extent = extent_of(w, p);
	if (w->extent == EXTENT_PYTHON && p->several)
		w->extent = EXTENT_SEVERAL;
	return 0;
}

/*
 * Did the event interrupt user mode? If the compiler doesn't know the answer (m->user_mode isn't a
 * constant), the answer is kept in the walk state, because the program's stack has no room for it.
 */
walk_inline bool is_user_mode(const struct moment *m, const struct walk *w)
{
	return __builtin_constant_p(m->user_mode) ? m->user_mode : w->user_mode;
}

walk_inline __u64 user_sp(const struct moment *m, const struct walk *w)
{
	const struct bpf_perf_event_data *regs = m->ctx;

	return is_user_mode(m, w) ? regs->sp : saved_sp();
}

/*
 * Finds the GIL of the sampled thread, and how long other threads waited for that GIL while the
 * sampled thread held it.
 */
walk_inline void add_blame(const struct moment *m, struct rec_sample *rec, struct walk *w)
{
	if (m->kept)
		note_gil(w->slot);
	else if (w->source == blame_source && rec->gil == GIL_HELD)
		rec->blame_ns = blame_holder(w->slot, m->weight);
}

/*
 * Takes the Python frames and the state of the GIL. False: krait doesn't know the layout of the
 * interpreter.
 */
walk_inline bool take_python(const struct moment *m, struct rec_sample *rec, struct walk *w)
{
	const struct py_layout *l;

	w->sp = 0;
	if (w->extent == EXTENT_SEVERAL) {
		w->sp = user_sp(m, w);
		choose_interpreter(w->slot, w->proc.tgid);
	}
	l = walk_layout(w->where.layout);
	if (!l)
		return false;
	if (l->walk == PY_WALK_CFRAME)
		w->sp = user_sp(m, w);
	walk_python(w, l);
	rec->gil = take_gil(w->slot, w->user_mode);
	if (counts_gil)
		add_blame(m, rec, w);
	return true;
}

/* Takes the kernel's frames if the event has interrupted the kernel. Returns their number. */
walk_inline __u32 take_kernel(const struct moment *m, const struct walk *w, struct native_out *no)
{
	long n;

	if (!m->kernel_stack || is_user_mode(m, w))
		return 0;
	n = bpf_get_stack(m->ctx, no->pc, ABI_MAX_KERNEL * sizeof(__u64), 0);
	if (n < 0 || n > (long)(ABI_MAX_KERNEL * sizeof(__u64)))
		return 0;
	return (__u32)n / sizeof(__u64);
}

/* Takes the thread's user registers. False: the thread has no user registers. */
walk_inline bool take_regs_of(const struct moment *m, const struct walk *w, struct native *n)
{
	if (is_user_mode(m, w)) {
		read_leaf(n, m->ctx);
		return true;
	}
	return take_saved_regs(w->slot);
}

/* Takes the kernel's frames, and native frames if @unwinds. Returns enum native_outcome. */
walk_inline int take_native(const struct moment *m, struct walk *w, bool unwinds)
{
	struct native *n = native_state(w->slot);
	struct native_out *no = native_out(w->slot);

	if (!n || !no)
		return NATIVE_NONE;
	no->head.n_kernel = take_kernel(m, w, no);
	unwinds = unwinds && native_mode != NATIVE_MODE_NONE && take_regs_of(m, w, n);
	return add_native(w->slot, unwinds);
}

/*
 * Takes those parts of the stack that w->extent allows, into walk_out and native_out. False: no
 * sample is recorded.
 */
walk_inline bool take_stack(const struct moment *m, struct rec_sample *rec, struct walk *w)
{
	__u8 outcome = w->outcome;

	w->n = w->groups = 0;
	w->hash = 0;
	w->urgent = false;
	if (w->extent == EXTENT_RECORD)
		return true;
	if (w->extent >= EXTENT_PYTHON) {
		if (!take_python(m, rec, w))
			return false;
	} else {
		walk_begin(w);
		w->outcome = outcome;
		if (outcome != WALK_UNSUPPORTED)
			rec->gil = GIL_NONE;
	}
	rec->native = take_native(m, w, w->extent >= EXTENT_NATIVE);
	return true;
}

walk_inline void send_sample(const struct moment *m, struct rec_sample *rec, const struct walk *w)
{
	rec->time_ns = w->began_ns;
	rec->outcome = w->outcome;
	rec->stack = w->hash;
	if (!m->kept)
		ring_output(rec, sizeof(*rec), w->urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/*
 * (Without the barrier clang merges the stores of the first members with the memset(), and clears
 * the next 37 bytes one by one.)
 */
walk_inline void begin_record(struct rec_sample *rec, __u8 source, __u64 weight)
{
	__builtin_memset(rec, 0, sizeof(*rec));
	barrier();
	rec->type = REC_SAMPLE;
	rec->source = source;
	rec->weight = weight;
}

/*
 * Takes one sample into @rec, with the walk state @w, which no other program uses during this call.
 * False: no sample is recorded.
 */
walk_inline bool capture_in(const struct moment *m, struct walk *w, struct rec_sample *rec)
{
	bool exits, young;
	__u32 flags;

	begin_record(rec, w->source, m->weight);
	forget_absent(w);
	w->user_mode = m->user_mode;
	flags = read_task(rec, w);
	if (flags & PF_KTHREAD || !rec->proc.tgid)
		return false;
	if (accounts && !m->kept)
		note_account(w->slot);
	exits = flags & PF_EXITING;
	young = rec->tid == rec->proc.tgid && rec->runtime_ns < NEW_THREAD_NS;
	if (exits)
		rec->type = REC_SAMPLE_END;
	choose_extent(w->slot, exits, young);
	if (w->extent == EXTENT_NOTHING)
		return false;
	/*
	 * The clock is read only after unwanted processes have been left out. For these, reading it
	 * would take a tenth of the program's time.
	 */
	w->began_ns = bpf_ktime_get_ns();
	if (!take_stack(m, rec, w))
		return false;
	count(COUNT_SAMPLES);
	/*
	 * sent_epoch changes whenever everything is to be sent again. This call of in_epoch() makes
	 * sent_epoch a part of the stack's id. send_code() reads sent_epoch later, for each code
	 * object. So the stack's epoch is never later than the epochs of its code objects.
	 */
	if (w->hash)
		w->hash = in_epoch(w->hash);
	send_stack(w);
	send_sample(m, rec, w);
	if (lacks(rec, w))
		send_absent(w->slot);
	return true;
}

walk_inline void measure(__u64 ns)
{
	if (ns > longest_ns)
		longest_ns = ns;
	if (ns > SAMPLE_NS)
		long_samples++;
}

/*
 * Adds up how long samples of each event of the recording took. During that time no other perf
 * event can run a program on this CPU, so samples of other events are lost.
 */
walk_inline void add_busy(__u32 source, __u64 ns)
{
	__u64 *sum = bpf_map_lookup_elem(&source_busy_ns, &source);

	if (sum)
		*sum += ns;
}

/*
 * Is the program that runs at each task switch walking a stack on this CPU? Then it may hold a lock
 * of the map `procs`, which is an LRU hash. If a perf event came as an NMI while the lock is held
 * and needed the same lock, the NMI would wait for ever.
 */
walk_inline bool switch_walks(void)
{
	const struct walk *w = walk_state(SLOT_SWITCH);

	return w && *(const volatile __u32 *)&w->users;
}

walk_inline struct rec_sample *sample_room(__u32 slot)
{
	struct walk *w = walk_state(slot);

	return w ? &w->rec : NULL;
}

/*
 * Takes the sample of @m with the state in @slot (enum walk_slot). If the slot is in use, or if
 * this program is a perf event's and interrupts the program that runs at task switches, the sample
 * counts as lost. Returns true if the sample was sent or is in m->kept. How long a sample takes is
 * measured in perf programs only. They can't be preempted, and the kernel drops other samples until
 * they end.
 */
walk_inline bool capture(const struct moment *m, __u32 slot)
{
	struct rec_sample *rec = m->kept;
	struct walk *w;
	bool taken;

	if (slot == SLOT_PERF && n_slots > SLOT_SWITCH && switch_walks()) {
		count(COUNT_BUSY);
		return false;
	}
	w = walk_take(slot);
	if (!w)
		return false;
	w->source = m->source;
	if (slot == SLOT_PERF && (measures || n_sources > 1))
		w->timed_ns = bpf_ktime_get_ns();
	if (!rec)
		rec = &w->rec;
	taken = capture_in(m, w, rec);
	if (measures && slot == SLOT_PERF)
		measure(bpf_ktime_get_ns() - w->timed_ns);
	if (n_sources > 1 && taken && slot == SLOT_PERF)
		add_busy(w->source, bpf_ktime_get_ns() - w->timed_ns);
	walk_give_back(w);
	return taken;
}

#endif
