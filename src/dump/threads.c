/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the stack of each thread. If a blocked thread didn't run while its stack was read, the
 * stack is of one moment. If the thread ran, its stack is read again, up to WALK_TRIES times.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "dump/internal.h"

/*
 * how many times krait tries to read a thread; a thread that waits for the GIL wakes up 200 times a
 * second
 */
#define WALK_TRIES 20
/*
 * how many times a thread is read again because unwind tables are missing; each reading may find
 * one more file that lacks its table
 */
#define ROW_TRIES 64
#define PAUSE_NS  500000

struct reader {
	struct dump *d;
	struct target *t;
	struct dump_process *p;
	struct dump_thread *thread;
	struct work *work;
	/*
	 * if the thread's registers and kernel stack can't be read, the thread is tried again later
	 */
	bool patient;
	/* this is the last try: what is read is shown, even if the thread ran meanwhile */
	bool last;
};

/*
 * Fills *ret for thread r->thread from interpreter @one. Returns false if @one has no thread state
 * for it.
 */
static bool describe_in(const struct reader *r, const struct interpreter *one,
			struct walker_thread *ret)
{
	const uint64_t *at = map_get(&one->by_tid, (uint64_t)r->thread->tid);
	const struct py_tstate *state = at ? &one->states.v[(uint32_t)*at - 1] : NULL;

	*ret = (struct walker_thread){.proc = r->t->key, .other = !r->t->n_python};
	if (r->t->space)
		ret->space = &r->d->store.spaces.v[r->t->space];
	if (!state)
		return false;
	ret->where = &one->where;
	ret->tp = state->ident - (uint64_t)(int64_t)one->where.self_offset;
	/*
	 * If the thread has one thread state in this interpreter, its stack is read with that
	 * state. If it has several, the walker (which reads the stack) looks up the thread-local
	 * variable that says which one is current.
	 */
	if (!(*at & MORE_STATES) || one->where.tss == PY_TSS_NONE)
		ret->slot = state->slot;
	return true;
}

/*
 * Fills *ret for the thread. If several interpreters know the thread, the last of them in which it
 * has frames is used, because the process's first interpreter runs the others.
 */
static void describe(const struct reader *r, struct walker_thread *ret)
{
	struct walker_thread w;

	describe_in(r, &r->t->python[0], ret);
	for (size_t i = 1; i < r->t->n_python; i++)
		if (describe_in(r, &r->t->python[i], &w) &&
		    (!ret->where || walker_runs(r->d->walker, &w)))
			*ret = w;
	if (ret->where)
		r->thread->ident = ret->tp + (uint64_t)(int64_t)ret->where->self_offset;
}

static void read_target(const struct reader *r)
{
	struct dump_thread *t = r->thread;
	char path[32];
	ssize_t n;

	if (t->wait.fd < 0)
		return;
	snprintf(path, sizeof(path), "fd/%d", t->wait.fd);
	n = readlinkat(r->t->proc.dirfd, path, t->target, sizeof(t->target) - 1);
	t->target[MAX(n, (ssize_t)0)] = '\0';
	socket_peer(r->t->proc.dirfd, t->target, &r->d->sockets_ns, t->peer);
}

/*
 * Takes the two registers that /proc shows: stack pointer and program counter. Many stacks can't be
 * unwound without the other registers, which only the kernel program's record has.
 */
static void few_regs(const struct task_place *place, struct walker_regs *regs)
{
#if defined(__aarch64__)
	regs->reg[31] = place->sp;
#else
	regs->reg[7] = place->sp;
#endif
	regs->pc = place->pc;
}

/*
 * Has the thread functions of PyPy that krait has read? Then its native frames aren't shown,
 * because nothing tells which of them belong to PyPy itself.
 */
static bool shows_pypy(const struct reader *r)
{
	return r->t->pypy && r->thread->python &&
	       (r->thread->outcome == WALK_OK || r->thread->outcome == WALK_TRUNCATED);
}

static enum native_outcome walk_native(const struct reader *r, const struct walker_thread *w,
				       const struct rec_task *rec, const struct task_place *place)
{
	struct walker_regs regs = {};
	bool known =
		(rec ? rec->has_regs : place->pc != 0) && r->d->config.native && !shows_pypy(r);
	enum native_outcome n;

	if (rec)
		walker_regs_of(rec, &regs);
	else if (known)
		few_regs(place, &regs);
	n = walker_native(r->d->walker, w, known && w->space ? &regs : NULL,
			  rec ? rec->kernel : NULL, rec && r->d->config.kernel ? rec->n_kernel : 0);
	return n;
}

/*
 * Tells whether the stack couldn't be read to its end because unwind rows (how to find a frame's
 * caller) are missing that krait can still make. If so, asks for them.
 */
static bool wants_rows(const struct reader *r, const struct walker_thread *w)
{
	enum native_outcome n = r->thread->native;

	return (n == NATIVE_NO_ROWS || n == NATIVE_NO_RULE) &&
	       collect_want_rows(r->d->collect, w->space ? w->space->version : 0,
				 walker_end(r->d->walker));
}

static pid_t tid_of(const struct target *t, uint64_t tstate)
{
	for (size_t i = 0; tstate && i < t->n_python; i++)
		vec_foreach(s, &t->python[i].states)
			if (s->addr == tstate)
				return s->tid;
	return 0;
}

static void read_gil(struct reader *r, const struct walker_thread *w,
		     const struct task_place *place)
{
	bool futex = place->call == SYS_futex;
	uint64_t holder = 0;

	r->thread->gil = walker_gil(r->d->walker, w, futex ? place->arg : NULL, place->sp, &holder);
	r->thread->gil_holder = tid_of(r->t, holder);
}

/* Reads the thread's stack once. Returns true if the stack didn't change while it was read. */
static bool walk(struct reader *r, const struct walker_thread *w, const struct rec_task *rec,
		 const struct task_place *place)
{
	struct dump_thread *t = r->thread;
	struct task_look after;
	uint64_t hash = 0;
	bool stayed, read = true;

	if (r->t->pypy) {
		read = dump_pypy_walk(r->d, r->t, t, w, &hash);
	} else {
		t->outcome = walker_python(r->d->walker, w, &hash);
		read_gil(r, w, place);
	}
	t->native = walk_native(r, w, rec, place);
	if (task_look(r->t->proc.dirfd, t->tid, &after) || (!read && !r->last))
		return false;
	stayed = task_stayed(&r->work->look, &after);
	/* The thread is ready to run, but has got no CPU since krait first looked at it. */
	if (!stayed && rec && rec->runs)
		stayed = task_runs(r->t->proc.dirfd, t->tid) == rec->runs;
	/*
	 * The thread woke up and sleeps again in the same frames at the same instructions, so its
	 * stack didn't change.
	 */
	if (!stayed && !rec && r->work->look.state != 'R' && after.state != 'R')
		stayed = hash == r->work->hash;
	r->work->hash = hash;
	return stayed;
}

/*
 * The freezer of cgroup version 1 lets some threads sleep on, and marks them with this bit of their
 * state (include/linux/sched.h, Linux 6.1; in earlier versions no state had this bit).
 */
#define TASK_FROZEN 0x8000

/* Stores what the thread does or waits for, and since when. */
static void tell_wait(struct reader *r, const struct rec_task *rec, const struct task_place *place)
{
	struct dump_thread *t = r->thread;

	t->wait = wait_of(&r->work->look, place);
	if (rec && rec->state & TASK_FROZEN)
		t->wait = (struct wait){.kind = WAIT_FROZEN, .fd = -1};
	if (t->wait.kind == WAIT_RUNNING && t->steady)
		t->wait.kind = WAIT_RUNNABLE;
	/*
	 * A thread that waits for the GIL wakes up every 5 ms and then waits again. It counts as
	 * waiting for the GIL even if it is awake now.
	 */
	if (t->wait.kind == WAIT_LOCK || (t->gil == GIL_WAITING && (t->wait.kind == WAIT_RUNNABLE ||
								    t->wait.kind == WAIT_BLOCKED)))
		t->wait.kind = wait_kind_of_lock(t->gil);
	read_target(r);
	wait_tell_io(&t->wait, place, t->target);
	/*
	 * A thread that is ready to run may have slept until a moment ago, so its time counts from
	 * when it became ready. A wait for the GIL consists of many short waits, so its whole
	 * length isn't known.
	 */
	if (rec && t->wait.kind != WAIT_GIL)
		t->since_ns = dump_since_ns(r->d, t->wait.kind == WAIT_RUNNABLE ? rec->queued_ns
										: rec->off_ns);
}

static void show(struct reader *r, const struct rec_task *rec, const struct task_place *place)
{
	tell_wait(r, rec, place);
	walker_send(r->d->walker, r->thread->tid, clock_ns(CLOCK_MONOTONIC));
	r->work->done = true;
}

enum tried { DONE, AGAIN, NEEDS_ROWS };

/*
 * Stores only what the kernel tells of this thread, because the memory of its process can't be
 * read.
 */
static enum tried look_only(struct reader *r)
{
	const struct rec_task *rec = dump_blocked(r->d, r->thread->tid, &r->work->look);
	struct task_place place = {.call = TASK_UNKNOWN};
	char comm[PROC_COMM_BYTES];

	if (r->work->look.state != 'R')
		task_place_read(r->t->proc.dirfd, r->thread->tid, &place);
	tell_wait(r, rec, &place);
	if (rec && r->d->config.kernel)
		r->thread->stack = collect_kernel_stack(r->d->collect, rec->kernel, rec->n_kernel);
	r->thread->steady = true;
	if (!proc_comm(&r->t->proc, r->thread->tid, comm))
		r->thread->name = dump_text(r->d, comm);
	r->work->done = true;
	return DONE;
}

static enum tried try_thread(struct reader *r)
{
	struct task_place place = {.call = TASK_UNKNOWN};
	struct task_look *look = &r->work->look;
	const struct rec_task *rec;
	struct walker_thread w;

	if (task_look(r->t->proc.dirfd, r->thread->tid, look)) {
		r->work->done = r->work->gone = true;
		return DONE;
	}
	if (r->p->locked)
		return look_only(r);
	rec = dump_blocked(r->d, r->thread->tid, look);
	if (look->state == 'R' && !(rec && rec->runs) && !r->last)
		return AGAIN;
	if (r->d->tasks && !rec && r->patient)
		return AGAIN;
	if (look->state != 'R')
		task_place_read(r->t->proc.dirfd, r->thread->tid, &place);
	else if (rec)
		dump_blocked_call(rec, &place);
	describe(r, &w);
	r->thread->python = w.where;
	/*
	 * If .runs is set, the thread ran: it went from one sleep to another in the same function.
	 * So it isn't steady, even if its frames stayed the same, and it isn't known in which
	 * system call it is.
	 */
	r->thread->steady = walk(r, &w, rec, &place) && !place.runs;
	if (!r->thread->steady && !r->last)
		return AGAIN;
	if (r->thread->steady && wants_rows(r, &w))
		return NEEDS_ROWS;
	show(r, rec, &place);
	return DONE;
}

/*
 * Reads a thread. If unwind rows (how to find a frame's caller) are missing, waits until they are
 * made, and reads the thread again. Later threads that are blocked in the same function needn't
 * wait again.
 */
static enum tried try_with_rows(struct reader *r)
{
	enum tried tried = try_thread(r);

	for (int i = 0; tried == NEEDS_ROWS && i < ROW_TRIES; i++) {
		collect_await(r->d->collect);
		tried = try_thread(r);
	}
	return tried;
}

/* Reads each thread that isn't read yet. Returns how many threads must be read again. */
static size_t one_round(struct dump *d, int tries)
{
	size_t again = 0;

	dump_read_blocked(d);
	for (size_t i = 0; i < d->targets.n; i++) {
		struct reader r = {.d = d,
				   .t = &d->targets.v[i],
				   .p = &d->processes.v[i],
				   .patient = tries < WALK_TRIES / 2,
				   .last = tries >= WALK_TRIES};

		for (size_t k = 0; k < r.p->threads.n; k++) {
			r.thread = &r.p->threads.v[k];
			r.work = &r.t->work.v[k];
			again += !r.work->done && try_with_rows(&r) != DONE;
		}
	}
	return again;
}

/*
 * When @t was read, it named @holder as the holder of the GIL. Compares this with the GIL state
 * that was read of @holder itself.
 */
static void note_holder(const struct dump_thread *holder, struct dump_thread *t)
{
	bool held = holder->gil == GIL_HELD, known = holder->gil != GIL_UNKNOWN;

	t->gil_moved = known && !held;
	/*
	 * A holder that is blocked took the GIL before its wait began, so it has held the GIL at
	 * least as long.
	 */
	t->gil_held_ns =
		held && holder->steady && holder->wait.kind != WAIT_RUNNABLE ? holder->since_ns : 0;
}

static void note_holders(struct dump_process *p)
{
	struct map threads = {}; /* tid -> index of the thread in p->threads */

	map_init(&threads);
	for (size_t i = 0; i < p->threads.n; i++)
		(void)!map_put(&threads, (uint64_t)p->threads.v[i].tid, i);
	vec_foreach(t, &p->threads) {
		const uint64_t *i = map_get(&threads, (uint64_t)t->gil_holder);

		if (i)
			note_holder(&p->threads.v[*i], t);
	}
	map_fini(&threads);
}

void dump_note_holders(struct dump *d)
{
	vec_foreach(p, &d->processes)
		note_holders(p);
}

/* Drops threads that ended before they were read. */
static void leave_out(const struct target *t, struct dump_process *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->threads.n; i++)
		if (!t->work.v[i].gone)
			p->threads.v[kept++] = p->threads.v[i];
	p->threads.n = kept;
}

int dump_threads(struct dump *d)
{
	for (int tries = 0; tries <= WALK_TRIES && one_round(d, tries); tries++)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	for (size_t i = 0; i < d->targets.n; i++)
		leave_out(&d->targets.v[i], &d->processes.v[i]);
	return 0;
}
