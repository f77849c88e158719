/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts threads into groups and adds up what each group does; see threads.h. */
#include "view/waits/threads.h"

#include <errno.h>
#include <stdlib.h>

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/*
 * Tells whether the location is in a function of threading or multiprocessing that only leads to
 * the function which the thread or process is to run. Up to 3.10 names may lack their class, and
 * Python 2.7 writes two underscores.
 */
static bool is_bootstrap(const struct profile *p, uint32_t location)
{
	static const char *const names[] = {"run", "_bootstrap", "_bootstrap_inner", "__bootstrap",
					    "__bootstrap_inner"};
	uint32_t id = profile_get_location(p, location)->function;
	const struct profile_function *f = id ? profile_get_function(p, id) : NULL;
	const char *file = f ? profile_get_string(p, f->file) : "", *name;

	if (!str_ends(file, "/threading.py") && !str_ends(file, "/multiprocessing/process.py"))
		return false;
	name = last_part(profile_get_string(p, f->name));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return true;
	return false;
}

/*
 * Returns the function that the thread with this stack runs: the outermost function or, in a thread
 * or process that Python started, the function that it was started to run. 0: not known.
 */
static uint32_t root_of(const struct waits *w, uint32_t stack)
{
	const struct costs *c = w->c;
	uint32_t root = 0;
	bool next = true;
	size_t n = 0;
	const uint32_t *frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;

	for (size_t i = n; i-- > 0;) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (!costs_is_python(c, frame))
			continue;
		if (w->bootstrap[frame]) {
			next = true;
			root = 0;
		} else if (next) {
			root = profile_get_location(c->p, frame)->function;
			next = false;
		}
	}
	return root;
}

/* Finds or makes the thread of each label set. */
static int find_threads(struct waits *w)
{
	const struct profile *p = w->c->p;
	struct map at;
	int r = 0;

	map_init(&at);
	for (size_t i = 0; i < w->n_sums && !r; i++) {
		uint32_t labels = w->sums[i].labels, tid = profile_label_value(p, labels, "tid");
		uint64_t key = (uint64_t)profile_label_value(p, labels, "pid") << 32 | tid;
		uint64_t *found = tid ? map_get(&at, key) : NULL;

		if (!tid || w->thread_of[labels])
			continue;
		if (!found)
			r = map_put(&at, key, w->threads.n) ||
			    vec_push(&w->threads, (struct waits_thread){.labels = labels});
		w->thread_of[labels] = found ? (uint32_t)*found + 1 : (uint32_t)w->threads.n;
	}
	map_fini(&at);
	return r ? -ENOMEM : 0;
}

/* Returns the time, running and waiting, that a sum's samples stand for. */
static int64_t time_of(const struct waits *w, const struct profile_sum *s)
{
	int64_t sum = MAX(s->values[w->off], (int64_t)0);

	if (w->cpu >= 0)
		costs_sum(&sum, MAX(s->values[w->cpu], (int64_t)0));
	return sum;
}

/*
 * Finds the function that each thread runs: of the functions that root_of() gives for its stacks,
 * the one with the most time.
 */
static int find_functions(struct waits *w)
{
	struct map of;
	int r = 0;

	map_init(&of);
	for (size_t i = 0; i < w->n_sums && !r; i++) {
		uint32_t thread = w->thread_of[w->sums[i].labels], root;
		struct waits_thread *t = thread ? &w->threads.v[thread - 1] : NULL;
		uint64_t key, *sum;

		if (t)
			costs_sum(&t->time, time_of(w, &w->sums[i]));
		root = t ? root_of(w, w->sums[i].stack) : 0;
		if (!root)
			continue;
		key = (uint64_t)thread << 32 | root;
		sum = map_get(&of, key);
		if (!sum && !map_put(&of, key, 0))
			sum = map_get(&of, key);
		if (!sum) {
			r = -ENOMEM;
			break;
		}
		costs_sum((int64_t *)sum, time_of(w, &w->sums[i]));
		if ((int64_t)*sum > t->of_function) {
			t->of_function = (int64_t)*sum;
			t->function = root;
		}
	}
	map_fini(&of);
	return r;
}

static bool is_main(const struct profile *p, uint32_t labels)
{
	uint32_t pid = profile_label_value(p, labels, "pid");

	return pid && pid == profile_label_value(p, labels, "tid");
}

/* a thread counts as brief if its time is less than 1/BRIEF of the longest thread's time */
#define BRIEF 20

static bool is_brief(const struct waits_thread *t, int64_t longest)
{
	return t->time < longest / BRIEF;
}

static void take_longest(struct waits_group *g, const struct waits_thread *t, uint32_t index)
{
	if (t->time < g->longest)
		return;
	g->longest = t->time;
	g->first = index;
}

static int group_threads(struct waits *w)
{
	const struct profile *p = w->c->p;
	struct map at;
	int r = 0;

	map_init(&at);
	for (size_t i = 0; i < w->threads.n && !r; i++) {
		struct waits_thread *t = &w->threads.v[i];
		bool main = is_main(p, t->labels);
		uint64_t key = (uint64_t)t->function << 32 |
			       profile_label_value(p, t->labels, "process") << 1 | main;
		uint64_t *found = map_get(&at, key);

		t->group = found ? (uint32_t)*found : (uint32_t)w->groups.n;
		if (!found)
			r = map_put(&at, key, w->groups.n) ||
			    vec_push(&w->groups, (struct waits_group){.main = main});
		if (!r)
			take_longest(&w->groups.v[t->group], t, (uint32_t)i);
	}
	map_fini(&at);
	vec_foreach(t, &w->threads)
		if (!r && !is_brief(t, w->groups.v[t->group].longest))
			w->groups.v[t->group].threads++;
	return r ? -ENOMEM : 0;
}

static int count_processes(struct waits *w)
{
	struct map pids;
	int64_t longest = 0;
	int r = 0;

	vec_foreach(g, &w->groups)
		longest = MAX(longest, g->longest);
	map_init(&pids);
	vec_foreach(t, &w->threads)
		if (!r && !is_brief(t, longest))
			r = map_put(&pids, profile_label_value(w->c->p, t->labels, "pid"), 1);
	w->processes = (unsigned)pids.n;
	map_fini(&pids);
	return r;
}

/*
 * Adds @ns to the time for which the group waited in the wait's state. Not called for idle waits
 * (of threads without work).
 */
static int add_state(struct waits *w, uint32_t group, uint32_t labels, int64_t ns)
{
	uint32_t state = profile_label_value(w->c->p, labels, "state");
	uint64_t key = (uint64_t)group << 32 | state, *sum = map_get(&w->states, key);

	if (!sum && !map_put(&w->states, key, 0))
		sum = map_get(&w->states, key);
	if (!sum)
		return -ENOMEM;
	costs_sum((int64_t *)sum, ns);
	return 0;
}

static int add_wait(struct waits *w, uint32_t group, uint32_t labels, int64_t ns)
{
	const struct waits_word *word = waits_word(profile_label_text(w->c->p, labels, "state"));
	struct waits_group *g = &w->groups.v[group];

	if (waits_is_idle(w->c->p, labels)) {
		costs_sum(&g->idle, ns);
		return 0;
	}
	costs_sum(&g->wait, ns);
	if (word && word->passive)
		costs_sum(&g->passive, ns);
	return add_state(w, group, labels, ns);
}

static int add_times(struct waits *w)
{
	int r = 0;

	for (size_t i = 0; i < w->n_sums && !r; i++) {
		const struct profile_sum *s = &w->sums[i];
		uint32_t group = waits_group_of(w, s);

		if (group == UINT32_MAX)
			continue;
		if (w->cpu >= 0)
			costs_sum(&w->groups.v[group].cpu, s->values[w->cpu]);
		if (s->values[w->off] > 0)
			r = add_wait(w, group, s->labels, s->values[w->off]);
	}
	return r;
}

int waits_init(struct waits *w, const struct costs *c, const struct profile_sum *sums, size_t n)
{
	int r;

	*w = (struct waits){.c = c, .sums = sums, .n_sums = n};
	map_init(&w->states);
	w->cpu = profile_time_value(c->p, "cpu");
	w->off = profile_time_value(c->p, "off_cpu");
	if (w->off < 0)
		return 0;
	w->thread_of = calloc(profile_n_labels(c->p) + 1, sizeof(*w->thread_of));
	w->bootstrap = calloc(profile_n_locations(c->p) + 1, sizeof(*w->bootstrap));
	if (!w->thread_of || !w->bootstrap)
		return -ENOMEM;
	for (uint32_t id = 1; id <= profile_n_locations(c->p); id++)
		w->bootstrap[id] = is_bootstrap(c->p, id);
	r = find_threads(w);
	r = r ? r : find_functions(w);
	r = r ? r : group_threads(w);
	r = r ? r : count_processes(w);
	return r ? r : add_times(w);
}

void waits_fini(struct waits *w)
{
	free(w->thread_of);
	free(w->bootstrap);
	vec_fini(&w->threads);
	vec_fini(&w->groups);
	map_fini(&w->states);
}
