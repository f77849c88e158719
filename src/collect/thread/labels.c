/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the labels of samples, which say who ran, once for each thread and state of the GIL. */
#include <stdio.h>

#include "collect/thread/internal.h"
#include "profile/condense.h"

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

static const char *gil_word(uint8_t state)
{
	static const char *const words[] = {
#define X(name, word) word,
		GIL_STATES(X)
#undef X
	};

	return words[state];
}

static uint32_t make_labels(struct collect *c, const struct process *p, const struct thread *t,
			    uint8_t gil)
{
	struct label_list l = {};
	bool full = collect_is_full(c);

	add_number(c, &l, "pid", p->key.tgid);
	if (!full)
		add_number(c, &l, "tid", t->tid);
	add(c, &l, "thread", full ? "[no memory for more threads]" : t->name);
	add(c, &l, "process", p->name);
	add(c, &l, "cgroup", p->cgroup);
	add(c, &l, "container", p->container);
	add(c, &l, "gil", gil_word(gil));
	for (size_t i = 0; i < c->config.n_labels && l.n < MAX_LABELS; i++)
		l.v[l.n++] = c->config.labels[i];
	return profile_labels(c->profile, l.v, l.n);
}

void thread_forget_labels(struct collect *c, struct process *p)
{
	map_foreach(slot, &p->threads) {
		struct thread *t = &c->threads->all.v[slot->value - 1];

		memset(t->labels, 0, sizeof(t->labels));
	}
}

/*
 * Makes the thread's set of labels. The set isn't the thread's own if an earlier thread with the
 * same number has it too, or if it is the one set for all threads for which there is no memory.
 * Such a set can't be renamed.
 */
static void label(struct collect *c, const struct process *p, struct thread *t, uint8_t gil)
{
	size_t before = profile_n_labels(c->profile);

	t->labels[gil] = make_labels(c, p, t, gil);
	t->own[gil] = profile_n_labels(c->profile) > before && !collect_is_full(c);
}

uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec)
{
	struct process *p = process_at(c, process);
	struct thread *t = thread_of_sample(c, p, rec);

	if (!t)
		return 0;
	if (rec->source == c->config.cpu_source)
		thread_add_runtime(t, rec->runtime_ns);
	if (!t->labels[rec->gil])
		label(c, p, t, rec->gil);
	/* of this set some labels may be missing, because memory ran out */
	if (profile_failed(c->profile))
		t->labels[rec->gil] = 0;
	return t->labels[rec->gil];
}

/*
 * Samples so far, of threads that run, keep their labels in a condensed profile. In an empty one a
 * thread's sets are made again when it is sampled again.
 */
void threads_rebase(struct collect *c, struct rebase *r)
{
	/* Sets that differed may have become one, so no set is a thread's own any more. */
	vec_foreach(t, &c->threads->all)
		for (size_t i = 0; t->tid && i < GIL_STATE_MAX; i++) {
			t->labels[i] =
				r->condense ? condense_labels_whole(r->condense, t->labels[i]) : 0;
			t->own[i] = false;
		}
}
