/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the threads of a profile and the label sets of each; see timeline.h. */
#include "view/shape/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include "base/error.h"
#include "view/names/rank.h"

#define NO_MEMORY err_set(-ENOMEM, "out of memory for sorting samples by thread")

static const char no_label[] = "[no label]";

void timeline_name(const struct timeline_thread *thread, struct str *b)
{
	str_add(b, thread->process);
	if (*thread->pid)
		str_addf(b, "%s(pid %s)", b->n ? " " : "", thread->pid);
	if (b->n && (*thread->name || *thread->tid))
		str_add(b, " \xc2\xb7 ");
	str_add(b, thread->name);
	if (*thread->tid)
		str_addf(b, "%s(tid %s)", *thread->name ? " " : "", thread->tid);
	if (!b->n)
		str_add(b, TIMELINE_ALL);
}

static int64_t time_of(const struct timeline *t, const struct profile_sample *s)
{
	return t->times ? s->time_ns : -1;
}

/* Returns the number in @s if it is a plain number below PROFILE_MADE_UP_ID, else UINT64_MAX. */
static uint64_t to_number(const char *s)
{
	size_t n = strspn(s, "0123456789");

	if (!n || s[n] || n > 7 || (*s == '0' && n > 1))
		return UINT64_MAX;
	return strtoul(s, NULL, 10) < PROFILE_MADE_UP_ID ? strtoul(s, NULL, 10) : UINT64_MAX;
}

static int compare_ids(uint64_t a, uint64_t b, const char *x, const char *y)
{
	if (a != b)
		return a < b ? -1 : 1;
	return strcmp(x, y);
}

/* Returns the text by which processes are told apart. */
static const char *process_key(const struct timeline_thread *thread)
{
	return *thread->pid ? thread->pid : thread->process;
}

static const char *thread_key(const struct timeline_thread *thread)
{
	return *thread->tid ? thread->tid : thread->name;
}

static bool same_process(const struct timeline_thread *a, const struct timeline_thread *b)
{
	return !*a->pid == !*b->pid && streq(process_key(a), process_key(b));
}

/* Orders threads such that the threads of one process follow each other. */
static int by_id(const void *va, const void *vb)
{
	const struct timeline_thread *a = va, *b = vb;
	int r = compare_ids(a->pid_number, b->pid_number, a->pid, b->pid);

	if (!r && !*a->pid)
		r = strcmp(a->process, b->process);
	if (!r)
		r = compare_ids(a->tid_number, b->tid_number, a->tid, b->tid);
	return r || *a->tid ? r : strcmp(a->name, b->name);
}

/* Sets, from one label set, the texts by which threads are told apart. */
static void set_ids(const struct timeline *t, uint32_t labels, struct timeline_thread *thread)
{
	const struct profile *p = t->p;

	*thread = (struct timeline_thread){"", "", "", "", .first_ns = -1, .last_ns = -1};
	if (t->by && !streq(t->by, "thread") && !streq(t->by, "process")) {
		thread->name = profile_label_text(p, labels, t->by);
		if (!*thread->name)
			thread->name = no_label;
		return;
	}
	thread->pid = profile_label_text(p, labels, "pid");
	thread->process = profile_label_text(p, labels, "process");
	if (t->by && streq(t->by, "process"))
		return;
	thread->tid = profile_label_text(p, labels, "tid");
	thread->name = profile_label_text(p, labels, "thread");
}

/*
 * Gives each label set a key, the same for all label sets of a thread. If there is an id, the key
 * is made of it, because names of threads and processes may change.
 */
static int key_labels(struct timeline *t, struct rank *keys)
{
	_cleanup_str_ struct str key = {};

	for (uint32_t id = 0; id <= profile_n_labels(t->p); id++) {
		struct timeline_thread ids;

		set_ids(t, id, &ids);
		str_clear(&key);
		/* the first character keeps a process called 12 apart from process number 12 */
		str_addf(&key, "%c%s\x01%c%s", *ids.pid ? '#' : '=', process_key(&ids),
			 *ids.tid ? '#' : '=', thread_key(&ids));
		if (key.failed || rank_add(keys, key.s))
			return -ENOMEM;
	}
	return rank_finish(keys);
}

struct counting {
	struct timeline *t;
	const struct rank *keys;
	/* the threads, by rank of the text that tells threads apart */
	struct timeline_thread *threads;
};

static int count_sample(void *arg, const struct profile_sample *s)
{
	struct counting *c = arg;
	struct timeline_thread *thread = &c->threads[c->keys->of[s->labels]];
	int64_t time_ns = time_of(c->t, s);

	if (!thread->n)
		set_ids(c->t, s->labels, thread);
	thread->n++;
	if (time_ns < 0) {
		c->t->untimed++;
		return 0;
	}
	if (thread->first_ns < 0 || time_ns < thread->first_ns)
		thread->first_ns = time_ns;
	thread->last_ns = MAX(thread->last_ns, time_ns);
	return 0;
}

/*
 * Lists the threads that have samples, sorted. .key of a label set says to which thread it belongs.
 */
static int list_threads(struct timeline *t, const struct timeline_thread *threads, uint32_t n)
{
	uint64_t pid = PROFILE_MADE_UP_ID;

	for (uint32_t i = 0; i < n; i++) {
		struct timeline_thread thread = threads[i];

		if (!thread.n)
			continue;
		thread.key = i;
		thread.pid_number = to_number(thread.pid);
		thread.tid_number = to_number(thread.tid);
		if (vec_push(&t->threads, thread))
			return -ENOMEM;
	}
	if (t->threads.n)
		qsort(t->threads.v, t->threads.n, sizeof(*t->threads.v), by_id);
	for (uint32_t i = 0; i < t->threads.n; i++) {
		struct timeline_thread *thread = &t->threads.v[i];

		if (thread->pid_number == UINT64_MAX) {
			pid += !i || !same_process(&thread[-1], thread);
			thread->pid_number = pid;
		}
		if (thread->tid_number == UINT64_MAX)
			thread->tid_number = 2 * (uint64_t)PROFILE_MADE_UP_ID + i;
	}
	return 0;
}

static int find_threads(struct timeline *t, const struct rank *keys)
{
	struct counting c = {.t = t, .keys = keys};
	_cleanup_free_ uint32_t *index = calloc((size_t)keys->n + 1, sizeof(*index));
	int r;

	t->of_labels = calloc(profile_n_labels(t->p) + 1, sizeof(*t->of_labels));
	c.threads = calloc((size_t)keys->n + 1, sizeof(*c.threads));
	r = c.threads && index && t->of_labels ? 0 : -ENOMEM;
	if (!r)
		r = profile_each(t->p, count_sample, &c);
	if (!r)
		r = list_threads(t, c.threads, keys->n);
	free(c.threads);
	if (r)
		return r;
	memset(index, 0xff, keys->n * sizeof(*index));
	for (uint32_t i = 0; i < t->threads.n; i++)
		index[t->threads.v[i].key] = i;
	for (uint32_t id = 0; id <= profile_n_labels(t->p); id++)
		t->of_labels[id] = index[keys->of[id]];
	return 0;
}

int timeline_init(struct timeline *t, struct profile *p, enum profile_times times, const char *by)
{
	_cleanup_(rank_fini) struct rank keys = {};
	int r;

	*t = (struct timeline){.p = p, .times = times != PROFILE_TIMES_NONE, .by = by};
	r = key_labels(t, &keys);
	if (!r)
		r = find_threads(t, &keys);
	if (!r && t->threads.n == 1 && t->threads.v[0].name == no_label)
		r = err_of("grouping", by, -EINVAL, "no sample has the label '%s'", by);
	if (!r)
		return 0;
	timeline_fini(t);
	return r == -ENOMEM ? NO_MEMORY : r;
}

void timeline_fini(struct timeline *t)
{
	vec_fini(&t->threads);
	free(t->of_labels);
	*t = (struct timeline){};
}
