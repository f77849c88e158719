/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads waiting threads, as `krait dump` does (docs/decisions/0008), if the kernel program couldn't
 * read them: when a recording of waits begins, and when the kernel program has just seen a process
 * for the first time. The process's threads may still be in the wait in which the kernel program
 * saw them. The records that this file makes are handled like records from the kernel.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/named.h"
#include "dump/walker.h"
#include "python/heap/peek.h"
#include "record/session.h"
#include "sampler/tasks.h"

/* The most time for reading threads at the beginning. Reading a thread takes some 50 to 300 us. */
#define READ_NS (400 * NSEC_PER_MSEC)

/*
 * Limits for the processes that krait first hears of in one reading of the rings: the most time for
 * reading their threads, and the most processes that are read.
 */
#define MET_NS	      (20 * NSEC_PER_MSEC)
#define MET_PROCESSES 64
/* the most waits whose stacks are kept until the waits are over */
#define MET_WAITS 1024

struct reading {
	struct session *s;
	struct walker *walker;
	uint64_t until_ns;
	/* tgid of the last process for which a record was made (give_process()); 0: none */
	uint32_t met;
	unsigned read, late;
	struct session_unread unread;
};

static const struct py_layout *layout_of_index(void *ctx, uint16_t index)
{
	return sampler_layout(((struct session *)ctx)->sampler, index);
}

static void on_record(void *ctx, const void *data, size_t n)
{
	collect_record(((struct session *)ctx)->collect, data, n);
}

static const struct unwind_chunk *chunk_at(void *ctx, uint32_t number)
{
	return unwind_store_chunk(sampler_unwind(((struct session *)ctx)->sampler), number);
}

static struct unwind_table *table_at(void *ctx, uint32_t number)
{
	return unwind_store_table(sampler_unwind(((struct session *)ctx)->sampler), number);
}

static const struct unwind_rule *rule_at(void *ctx, uint32_t number)
{
	return unwind_store_rule(sampler_unwind(((struct session *)ctx)->sampler), number);
}

static const struct walker_rows rows = {.chunk = chunk_at, .table = table_at, .rule = rule_at};

/*
 * Gives the collector the record that the kernel program would send when it sees the process for
 * the first time. If the kernel program has seen the process already, the collector has the real
 * record, or gets it from a ring.
 */
static void introduce(struct reading *r, const struct proc_entry *proc, const struct rec_task *task)
{
	struct rec_proc rec = {.type = REC_PROC,
			       .state = PROC_PYTHON,
			       .space = (uint16_t)proc->space,
			       .proc = task->proc,
			       .time_ns = clock_ns(CLOCK_MONOTONIC),
			       .uid = task->uid,
			       .where = proc->where};

	if (proc->key.start_ns || r->met == task->tgid)
		return;
	r->met = task->tgid;
	collect_record(r->s->collect, &rec, sizeof(rec));
}

/* If there are several interpreters, chooses the last of them in which the thread has frames. */
static void choose_interpreter(struct reading *r, const struct proc_several *all,
			       struct walker_thread *t)
{
	for (uint32_t i = 1; i < all->n; i++) {
		struct walker_thread other = *t;

		other.where = &all->where[i];
		if (walker_runs(r->walker, &other))
			*t = other;
	}
}

/*
 * Unwinds the native frames, with the same unwind rows (how to find the caller) as the kernel
 * program.
 */
static void walk_native(struct reading *r, const struct rec_task *task, uint32_t slot,
			struct walker_thread *t)
{
	struct unwind_store *store = sampler_unwind(r->s->sampler);
	struct walker_regs regs = {};
	struct unwind_space space;
	bool held = store && task->has_regs && unwind_store_begin_reading(store);

	if (held && unwind_store_space(store, slot, task->tgid, &space))
		t->space = &space;
	walker_regs_of(task, &regs);
	walker_native(r->walker, t, held ? &regs : NULL, NULL, 0);
	t->space = NULL;
	if (held)
		unwind_store_end_reading(store);
}

static void walk(struct reading *r, const struct proc_entry *proc, const struct rec_task *task,
		 struct rec_sample *ret)
{
	struct walker_thread t = {
		.proc = task->proc, .where = &proc->where, .tp = task->thread_pointer};
	const uint64_t call[] = {task->arg[0], task->arg[1]};
	struct walker_regs regs = {};
	struct proc_several all;
	uint64_t hash, holder;

	walker_regs_of(task, &regs);
	if (proc->several && sampler_several(r->s->sampler, task->tgid, &all))
		choose_interpreter(r, &all, &t);
	(void)walker_python(r->walker, &t, &hash);
	(void)walker_gil(r->walker, &t, task->call == SYS_futex ? call : NULL, walker_sp(&regs),
			 &holder);
	walk_native(r, task, proc->space, &t);
	walker_sample(r->walker, (pid_t)task->tid, clock_ns(CLOCK_MONOTONIC), ret);
}

static struct walker *make_walker(struct session *s)
{
	const struct walker_config config = {
		.layout = layout_of_index,
		.record = on_record,
		.ctx = s,
		.rows = &rows,
		.leaf = s->options->native == NATIVE_MODE_LEAF,
		.instructions = s->options->native_lines,
	};

	return walker_new(&config);
}

/*
 * May the thread be read? If krait has its capabilities from its executable, it may read only
 * threads that belong to its user at this moment.
 */
static bool may_read(const struct reading *r, const struct rec_task *task)
{
	return !r->s->rights.from_file || rights_is_own(task->uid, task->gid);
}

/*
 * Keeps a wait's stack until the wait is over and its record comes. Returns false if the wait may
 * be over already.
 */
static bool keep(struct reading *r, const struct rec_task *task, const struct rec_sample *sample,
		 uint64_t since_ns)
{
	const struct rec_wait met = {.sample = *sample,
				     .since_ns = since_ns,
				     .arg = {task->arg[0], task->arg[1]},
				     .call = task->call,
				     .state = (uint16_t)task->state,
				     .fd = task->fd,
				     .flags = task->wait_flags,
				     .on = task->on};

	if (!sampler_still_waits(r->s->sampler, task, since_ns))
		return false;
	/* The thread's new wait replaces an earlier wait of the thread, which is over. */
	vec_foreach(earlier, &r->s->met_waits) {
		if (earlier->sample.tid != sample->tid)
			continue;
		*earlier = met;
		return true;
	}
	if (r->s->met_waits.n < MET_WAITS)
		return !vec_push(&r->s->met_waits, met);
	/*
	 * the table is full, perhaps with waits of threads that have ended, so some entry is
	 * replaced
	 */
	r->s->met_waits.v[since_ns % MET_WAITS] = met;
	return true;
}

/*
 * Tells the collector the name of the child process for which the thread waits, because the child
 * got its name before the recording.
 */
static void name_child(struct reading *r, const struct rec_task *task)
{
	uint32_t child =
		collect_child_of(task->call, (const uint64_t *)task->arg, task->wait_flags);
	_cleanup_proc_ struct proc p = PROC_INIT;
	char comm[PROC_COMM_BYTES];

	if (child && !proc_open(&p, (pid_t)child) && !proc_comm(&p, (pid_t)child, comm))
		collect_named(r->s->collect, child, comm);
}

static void on_blocked(void *ctx, const struct proc_entry *proc, const struct rec_task *task,
		       uint64_t since_ns)
{
	struct reading *r = ctx;
	struct rec_sample sample;
	int r_add = 0;

	if (!may_read(r, task))
		return;
	r->walker = r->walker ? r->walker : make_walker(r->s);
	if (!r->walker || clock_ns(CLOCK_MONOTONIC) >= r->until_ns) {
		r->unread.late++;
		return;
	}
	introduce(r, proc, task);
	name_child(r, task);
	walk(r, proc, task, &sample);
	if (!since_ns)
		r_add = sampler_add_wait(r->s->sampler, task, &sample);
	else if (!keep(r, task, &sample, since_ns))
		r_add = -EEXIST;
	r->read += !r_add;
	r->late += r_add == -EEXIST;
	r->unread.full += r_add && r_add != -EEXIST;
}

/*
 * Returns the descriptor for which the thread waits, if it waits in a poll() of a single
 * descriptor; else -1.
 */
static int on_polled(void *ctx, const struct rec_task *task)
{
	struct reading *r = ctx;
	bool polls = task->call == SYS_ppoll;
	int fd; /* struct pollfd begins with the descriptor */

#ifdef SYS_poll
	polls |= task->call == SYS_poll;
#endif
	if (!polls || task->arg[1] != 1 || !may_read(r, task) ||
	    clock_ns(CLOCK_MONOTONIC) >= r->until_ns ||
	    peek((pid_t)task->tgid, task->arg[0], &fd, sizeof(fd)))
		return -1;
	return fd;
}

static struct session_unread read_blocked(struct session *s, const pid_vec *tgids,
					  uint64_t left_until_ns, uint64_t ns)
{
	struct reading r = {.s = s, .until_ns = clock_ns(CLOCK_MONOTONIC) + ns};
	const struct sampler_blocked to = {on_polled, on_blocked, left_until_ns, &r};

	if (sampler_blocked(s->sampler, tgids, &to)) {
		log_info("threads that already wait can't be read, so their waits are missing: %s",
			 err_msg());
		r.unread.all = true;
	}
	walker_free(r.walker);
	log_debug("read %u waiting threads; %u more woke up before they were read", r.read, r.late);
	return r.unread;
}

void session_read_blocked(struct session *s)
{
	if (!session_events_wait(&s->events) || s->options->cmd)
		return;
	s->unread = read_blocked(s, NULL, 0, READ_NS);
	s->unread.all |= !sampler_reads_blocked(s->sampler);
}

void session_read_met(struct session *s)
{
	struct session_unread unread = {};

	if (s->asked.n)
		unread = read_blocked(s, &s->asked, 0, MET_NS);
	if (unread.late)
		log_info("%u waiting threads weren't read, because reading took too long",
			 unread.late);
	s->asked.n = 0;
}

void session_read_left(struct session *s, const pid_vec *tgids, uint64_t left_until_ns)
{
	(void)read_blocked(s, tgids, left_until_ns, MET_NS);
}

void session_note_asked(struct session *s, const struct rec_proc *rec)
{
	if (rec->state == PROC_PENDING && session_events_wait(&s->events) &&
	    s->asked.n < MET_PROCESSES)
		(void)!vec_push(&s->asked, (pid_t)rec->proc.tgid);
}

const struct rec_wait *session_met_wait(const struct session *s, const struct rec_wait *rec)
{
	vec_foreach(met, &s->met_waits)
		if (met->sample.tid == rec->sample.tid && met->since_ns == rec->since_ns)
			return met;
	return NULL;
}

void session_give_stack(const struct rec_wait *met, bool left, struct rec_wait *ret)
{
	ret->sample.outcome = met->sample.outcome;
	ret->sample.native = met->sample.native;
	ret->sample.gil = met->sample.gil;
	ret->sample.stack = met->sample.stack;
	if (!left)
		return;
	memcpy(ret->arg, met->arg, sizeof(ret->arg));
	ret->call = met->call;
	ret->state = met->state;
	ret->fd = met->fd;
	ret->flags = met->flags | (ret->flags & WAIT_OPEN);
	ret->on = met->on;
}

/*
 * Adds the time of a wait that was never read, and so has no stack, to the time of the waits at the
 * same site (a system call with what it waits for) whose stacks weren't taken.
 */
static void count_with_others(struct rec_wait *wait)
{
	wait->others_ns += wait->sample.weight;
	wait->gil_others_ns += wait->gil_ns;
	wait->sample.weight = wait->gil_ns = 0;
	wait->flags &= (uint8_t) ~(WAIT_LEFT | WAIT_OPEN);
}

bool session_complete_wait(struct session *s, const struct rec_wait *rec, size_t n,
			   struct rec_wait *ret)
{
	bool left = rec->flags & WAIT_LEFT;
	const struct rec_wait *met = rec->sample.stack && !left ? NULL : session_met_wait(s, rec);

	if (!met && !left)
		return false;
	memcpy(ret, rec, MIN(n, sizeof(*ret)));
	if (!met) {
		count_with_others(ret);
		return true;
	}
	session_give_stack(met, left, ret);
	s->met_waits.v[met - s->met_waits.v] = s->met_waits.v[--s->met_waits.n];
	return true;
}
