/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets the names of threads and processes. It takes them from the profile's samples: each thread
 * has one sample, whose labels say which thread it is.
 */
#include <stdlib.h>

#include "base/map.h"
#include "dump/internal.h"

const char *dump_text(struct dump *d, const char *text)
{
	return profile_get_string(d->profile, profile_string(d->profile, text));
}

uint64_t dump_thread_key(pid_t pid, pid_t tid)
{
	return (uint64_t)pid << 32 | (uint32_t)tid;
}

uint64_t dump_sampled_thread(const struct profile *p, uint32_t labels)
{
	return dump_thread_key(atoi(profile_label_text(p, labels, "pid")),
			       atoi(profile_label_text(p, labels, "tid")));
}

struct index {
	struct dump *d;
	/*
	 * key of a thread (dump_thread_key()) -> index of its process << 32 | index of the thread
	 */
	struct map threads;
};

/*
 * Returns the name that Python had for the thread when threads were listed, because the thread may
 * have ended since. If Python had no name for it, returns @label.
 */
static const char *name_of(struct dump *d, size_t process, const struct dump_thread *t,
			   const char *label)
{
	const struct target *of = &d->targets.v[process];
	const char *name = NULL;

	for (size_t i = 0; i < of->n_python && !name; i++)
		name = py_thread_name_of(&of->python[i].names, t->tid);
	return name ? dump_text(d, name) : label;
}

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct index *x = arg;
	const struct profile *p = x->d->profile;
	const uint64_t *at = map_get(&x->threads, dump_sampled_thread(p, s->labels));
	struct dump_process *process;
	struct dump_thread *t;

	if (!at)
		return 0;
	process = &x->d->processes.v[*at >> 32];
	t = &process->threads.v[(uint32_t)*at];
	t->stack = t->wait.kind == WAIT_ENDED ? 0 : s->stack;
	t->name = name_of(x->d, *at >> 32, t, profile_label_text(p, s->labels, "thread"));
	process->name = profile_label_text(p, s->labels, "process");
	process->cgroup = profile_label_text(p, s->labels, "cgroup");
	process->container = profile_label_text(p, s->labels, "container");
	return 0;
}

void dump_take_names(struct dump *d)
{
	struct index x = {.d = d};

	map_init(&x.threads);
	for (size_t i = 0; i < d->processes.n; i++) {
		const struct dump_process *p = &d->processes.v[i];

		for (size_t k = 0; k < p->threads.n; k++)
			(void)!map_put(&x.threads, dump_thread_key(p->pid, p->threads.v[k].tid),
				       (uint64_t)i << 32 | k);
	}
	(void)!profile_each(d->profile, take_sample, &x);
	map_fini(&x.threads);
}
