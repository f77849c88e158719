/* SPDX-License-Identifier: BSD-2-Clause */
/* Which threads a process has: the kernel's list, and beside it Python's. */
#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "dump/internal.h"

#define LIST_TRIES 5 /* until Python's list is the same twice */

static bool same_states(const py_tstates *a, const py_tstates *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->v, b->v, a->n * sizeof(*a->v)));
}

static int read_states(struct dump *d, struct target *t, py_tstates *ret)
{
	struct py_tids tids = {};
	int r = py_tids_read(&tids, t->proc.tgid);

	r = r ? r
	      : py_tstates_read(t->proc.tgid, dump_layout(d, t->where.layout), &t->where, &tids,
				ret);
	py_tids_fini(&tids);
	return r;
}

/* Threads come and go while the list is read. */
static int list_states(struct dump *d, struct target *t)
{
	int r = 0;

	for (int i = 0; !r && i < LIST_TRIES; i++) {
		py_tstates now = {};
		bool same;

		r = read_states(d, t, &now);
		same = i && same_states(&t->states, &now);
		vec_fini(&t->states);
		t->states = now;
		if (same)
			break;
	}
	return r;
}

/* The list of interpreters begins with the newest: the main one's thread states come last. */
static int index_states(struct target *t)
{
	int r = 0;

	for (size_t i = 0; !r && i < t->states.n; i++) {
		uint64_t tid = (uint64_t)t->states.v[i].tid, *old = map_get(&t->by_tid, tid);

		if (tid)
			r = map_put(&t->by_tid, tid, (i + 1) | (old ? MORE_STATES : 0));
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

/* Where they can't be read the kernel's names are shown. */
static void list_names(struct dump *d, struct target *t)
{
	py_thread_names_fini(&t->names);
	if (py_thread_names(t->proc.tgid, dump_layout(d, t->where.layout), &t->where, NULL, 0,
			    &t->names))
		log_info("names of threads of process %d can't be read", t->proc.tgid);
}

int dump_list(struct dump *d, size_t i)
{
	struct target *t = &d->targets.v[i];
	int r = t->python ? list_states(d, t) : 0;

	if (t->python && !r)
		list_names(d, t);

	r = r ? r : index_states(t);
	r = r ? r : list_threads(t, &d->processes.v[i]);
	return r == -ESRCH ? 0 : r; /* it has ended meanwhile */
}
