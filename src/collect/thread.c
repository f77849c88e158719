/* SPDX-License-Identifier: BSD-2-Clause */
/* The labels of a sample: who ran. Made once per thread. */
#include <stdio.h>

#include "base/cleanup.h"
#include "collect/internal.h"
#include "proc/proc.h"

#define MAX_LABELS 32

struct label_list {
	struct profile_label v[MAX_LABELS];
	size_t n;
};

static void add(struct collect *c, struct label_list *l, const char *key, const char *value)
{
	if (!value || !*value || l->n == MAX_LABELS)
		return;
	l->v[l->n++] = (struct profile_label){profile_string(c->profile, key),
					      profile_string(c->profile, value)};
}

static void add_number(struct collect *c, struct label_list *l, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	add(c, l, key, text);
}

static void read_name(const struct process *p, struct thread *t)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	char comm[PROC_COMM_BYTES] = "";

	if (!proc_open(&proc, p->key.tgid) && !proc_comm(&proc, t->tid, comm))
		snprintf(t->name, sizeof(t->name), "%s", comm);
}

static struct thread *thread_of(struct collect *c, struct process *p, uint32_t tid)
{
	uint64_t *i = map_get(&p->threads, tid);

	if (i)
		return &c->threads.v[*i - 1];
	if (vec_push(&c->threads, (struct thread){.tid = tid}) ||
	    map_put(&p->threads, tid, c->threads.n))
		return NULL;
	read_name(p, &c->threads.v[c->threads.n - 1]);
	return &c->threads.v[c->threads.n - 1];
}

static uint32_t make_labels(struct collect *c, const struct process *p, const struct thread *t)
{
	struct label_list l = {};

	add_number(c, &l, "pid", p->key.tgid);
	add_number(c, &l, "tid", t->tid);
	add(c, &l, "thread", t->name);
	add(c, &l, "process", p->name);
	add(c, &l, "cgroup", p->cgroup);
	add(c, &l, "container", p->container);
	for (size_t i = 0; i < c->config.n_labels && l.n < MAX_LABELS; i++)
		l.v[l.n++] = c->config.labels[i];
	return profile_labels(c->profile, l.v, l.n);
}

/*
 * A sample is due after each period of CPU time. Counted from a thread's first sample to its last,
 * so that threads that come and go are right as well.
 */
static void add_runtime(struct collect *c, struct thread *t, uint64_t runtime_ns)
{
	if (t->runtime_ns && runtime_ns >= t->runtime_ns) {
		c->stats.cpu_ns += runtime_ns - t->runtime_ns;
		c->stats.due++;
	}
	t->runtime_ns = MAX(runtime_ns, t->runtime_ns);
}

uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec)
{
	struct process *p = &c->processes.v[process];
	struct thread *t = thread_of(c, p, rec->tid);

	if (!t)
		return 0;
	add_runtime(c, t, rec->runtime_ns);
	if (!t->labels)
		t->labels = make_labels(c, p, t);
	return t->labels;
}
