/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists the threads of a process from two sources: the kernel's list, and Python's list of thread
 * states.
 */
#include <errno.h>

#include "base/error.h"
#include "base/system/log.h"
#include "dump/internal.h"

/*
 * Python's list of threads is read at most this many times, until two readings in a row are the
 * same
 */
#define LIST_TRIES 5

static bool same_states(const py_tstates *a, const py_tstates *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->v, b->v, a->n * sizeof(*a->v)));
}

static int read_states(struct dump *d, pid_t pid, const struct interpreter *one, py_tstates *ret)
{
	struct py_tids tids = {};
	int r = py_tids_read(&tids, pid);

	r = r ? r
	      : py_tstates_read(pid, dump_layout(d, one->where.layout), &one->where, &tids, ret);
	py_tids_fini(&tids);
	return r;
}

/*
 * Reads Python's list of thread states. Threads begin and end meanwhile, so the list is read until
 * two readings are the same.
 */
static int list_states(struct dump *d, pid_t pid, struct interpreter *one)
{
	int r = 0;

	for (int i = 0; !r && i < LIST_TRIES; i++) {
		py_tstates now = {};
		bool same;

		r = read_states(d, pid, one, &now);
		same = i && same_states(&one->states, &now);
		vec_fini(&one->states);
		one->states = now;
		if (same)
			break;
	}
	return r;
}

/*
 * Notes for each thread which thread state is its own. If a thread has several, its own is the one
 * that stands last in Python's list: CPython lists the newest interpreter first, so the main
 * interpreter's thread states come last.
 */
static int index_states(struct interpreter *one)
{
	int r = 0;

	for (size_t i = 0; !r && i < one->states.n; i++) {
		uint64_t tid = (uint64_t)one->states.v[i].tid, *old = map_get(&one->by_tid, tid);

		if (tid)
			r = map_put(&one->by_tid, tid, (i + 1) | (old ? MORE_STATES : 0));
	}
	return r;
}

static int list_threads(struct target *t, struct dump_process *p)
{
	pid_vec tids = {};
	int r = proc_threads(&t->proc, &tids);

	vec_foreach(tid, &tids) {
		r = r ? r : vec_push(&t->work, (struct work){});
		r = r ? r : vec_push(&p->threads, (struct dump_thread){.tid = *tid, .name = ""});
	}
	vec_fini(&tids);
	return r;
}

/*
 * Reads the names that Python has for threads. If they can't be read, threads keep the kernel's
 * names.
 */
static void list_names(struct dump *d, pid_t pid, struct interpreter *one)
{
	py_thread_names_fini(&one->names);
	if (py_thread_names(pid, dump_layout(d, one->where.layout), &one->where, NULL, 0,
			    &one->names))
		log_info("names of threads of process %d can't be read", pid);
}

static int list_python(struct dump *d, pid_t pid, struct interpreter *one)
{
	int r = list_states(d, pid, one);

	if (!r)
		list_names(d, pid, one);
	return r ? r : index_states(one);
}

int dump_list(struct dump *d, size_t i)
{
	struct target *t = &d->targets.v[i];
	int r = 0;

	for (size_t k = 0; !r && k < t->n_python; k++)
		r = list_python(d, t->proc.tgid, &t->python[k]);
	if (!r && t->pypy)
		r = dump_pypy_list(t->pypy);
	r = r ? r : list_threads(t, &d->processes.v[i]);
	/* -ESRCH: the process ended while its threads were listed; this is no error */
	return r == -ESRCH ? 0 : r;
}
