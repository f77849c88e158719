/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the labels of samples, which say who ran, once for each thread. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/process/crowd.h"
#include "collect/process/thread.h"
#include "collect/process/upkeep.h"
#include "proc/proc.h"
#include "proc/stat.h"
#include "profile/condense.h"
#include "python/heap/threads.h"

#define MAX_LABELS 32

/*
 * How long after a thread was met krait looks for Python's names of threads. The time doubles after
 * each look. Python registers a thread with `threading` a moment after the thread begins to run,
 * and the main thread when a program imports `threading`.
 */
#define NAMES_APART_NS (50 * NSEC_PER_MSEC)
/* how many samples of the process come before names of threads are first read */
#define NAMES_SAMPLES 3
/* as NAMES_SAMPLES, for a process of which only the main thread was met */
#define NAMES_ALONE    16
#define NAMES_FIRST_NS NSEC_PER_SEC /* the longest time until names of threads are first read */

/*
 * CPU time from which on a thread counts for the rate of samples. In a shorter time, the periods
 * that are cut off at both ends weigh too much.
 */
#define LONG_ENOUGH_NS (100 * NSEC_PER_MSEC)

struct thread {
	uint32_t tid;	  /* number of the thread; 0: this entry is free */
	uint32_t process; /* the thread's process, as an index into processes.all */
	/* profile ids of the thread's label sets; 0: this one isn't made yet */
	uint32_t labels[GIL_STATE_MAX];
	bool own[GIL_STATE_MAX]; /* whether no other thread's samples have this one of .labels */
	uint64_t first_ns;	 /* CPU time of the thread when counting began; 0: it hasn't yet */
	uint64_t last_ns;	 /* CPU time of the thread at its last sample */
	/* number of samples from .first_ns until .last_ns, and of samples at .last_ns */
	uint64_t came, since;
	uint64_t ended_ns; /* when the thread ended, so that its number became free; 0: it runs */
	bool named;	   /* .name is the thread's name in Python; else the kernel's */
	char name[64];
};

/*
 * The end of a thread that krait hasn't met yet. One of its samples may still come, because the
 * side band is read before the rings.
 */
struct thread_end {
	uint32_t tgid, tid;
	uint64_t time_ns;
};

struct threads {
	VEC(struct thread) all;
	VEC(uint32_t) free;	     /* indices in .all that are free */
	VEC(struct thread_end) ends; /* ends of threads by time, the earliest first */
	struct ended_threads {
		unsigned n; /* how many threads were given up after their end */
		/* sums over the threads that were given up, for collect_stats.cpu_ns and .came */
		uint64_t cpu_ns, came;
		/* time of the side band's event at which threads were last given up */
		uint64_t at_ns;
	} ended;
};

bool threads_init(struct collect *c)
{
	return (c->processes->threads = calloc(1, sizeof(struct threads)));
}

void threads_fini(struct collect *c)
{
	struct threads *t = c->processes->threads;

	if (!t)
		return;
	vec_fini(&t->all);
	vec_fini(&t->free);
	vec_fini(&t->ends);
	free(t);
}

size_t threads_kept(const struct collect *c)
{
	return c->processes->threads->all.n;
}

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

	if (t->tid == p->key.tgid && *p->comm)
		snprintf(t->name, sizeof(t->name), "%s", p->comm);
	else if (p->state != PROC_CROWDED && !proc_open(&proc, p->key.tgid) &&
		 !proc_comm(&proc, t->tid, comm))
		snprintf(t->name, sizeof(t->name), "%s", comm);
}

void thread_name_nameless(struct collect *c, const struct process *p)
{
	map_foreach(slot, &p->threads) {
		struct thread *t = &c->processes->threads->all.v[slot->value - 1];

		if (!*t->name && !t->ended_ns)
			read_name(p, t);
	}
}

static struct thread *find_thread(const struct collect *c, const struct process *p, uint32_t tid)
{
	uint64_t *i = map_get(&p->threads, tid);

	return i ? &c->processes->threads->all.v[*i - 1] : NULL;
}

uint64_t thread_end_of(const struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	for (size_t i = count_upto(c->processes->threads->ends.v, c->processes->threads->ends.n,
				   time_ns, time_ns);
	     i < c->processes->threads->ends.n; i++)
		if (c->processes->threads->ends.v[i].tid == tid &&
		    c->processes->threads->ends.v[i].tgid == tgid)
			return c->processes->threads->ends.v[i].time_ns;
	return 0;
}

/*
 * Is the sample of this thread, and not of a later one with its number? The side band reports the
 * end in the middle of do_exit(). REC_SAMPLE_END comes after that and still belongs to the thread.
 */
static bool is_its(const struct thread *t, const struct rec_sample *rec)
{
	return !t->ended_ns || rec->time_ns < t->ended_ns || rec->type == REC_SAMPLE_END;
}

/* When the thread of @rec, which krait meets now, ended; 0: it runs, as far as is known. */
static uint64_t its_end(const struct collect *c, const struct process *p,
			const struct rec_sample *rec)
{
	uint64_t end = thread_end_of(c, p->key.tgid, rec->tid, rec->time_ns);

	return !end && rec->type == REC_SAMPLE_END ? rec->time_ns : end;
}

static struct thread *thread_of(struct collect *c, struct process *p, const struct rec_sample *rec)
{
	struct thread *t = find_thread(c, p, rec->tid);
	uint32_t i;

	if (t && is_its(t, rec))
		return t;
	if (!c->processes->threads->free.n &&
	    (vec_push(&c->processes->threads->all, (struct thread){}) ||
	     vec_push(&c->processes->threads->free, (uint32_t)c->processes->threads->all.n - 1)))
		return NULL;
	i = c->processes->threads->free.v[c->processes->threads->free.n - 1];
	if (map_put(&p->threads, rec->tid, i + 1))
		return NULL;
	c->processes->threads->free.n--;
	c->news = true;
	t = &c->processes->threads->all.v[i];
	*t = (struct thread){
		.tid = rec->tid, .process = process_index(c, p), .ended_ns = its_end(c, p, rec)};
	read_name(p, t);
	p->names_apart_ns = NAMES_APART_NS;
	p->names_due_ns = p->names_looked_ns ? p->names_looked_ns + NAMES_APART_NS
			  : p->names_due_ns  ? p->names_due_ns
					     : clock_ns(CLOCK_MONOTONIC) + NAMES_FIRST_NS;
	return t;
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

/*
 * Counts a sample, for the rate of samples per CPU time. A sample is due after each period of CPU
 * time. The kernel updates a thread's CPU time only at ticks and switches. Where that time differs
 * from the sample before, it is exact to one period. So only samples between two such moments
 * count.
 */
static void add_runtime(struct thread *t, uint64_t runtime_ns)
{
	if (runtime_ns > t->last_ns) {
		if (t->first_ns)
			t->came += t->since;
		else if (t->since)
			t->first_ns = runtime_ns;
		t->last_ns = runtime_ns;
		t->since = 1;
	} else if (runtime_ns == t->last_ns) {
		t->since++;
	} else if (t->first_ns && runtime_ns >= t->first_ns) {
		/*
		 * Each CPU has its own ring, so samples of a thread that changed its CPU come out
		 * of order.
		 */
		t->came++;
	}
}

static void add_rate(const struct thread *t, uint64_t *cpu_ns, uint64_t *came)
{
	uint64_t ns = t->first_ns ? t->last_ns - t->first_ns : 0;

	if (ns < LONG_ENOUGH_NS)
		return;
	*cpu_ns += ns;
	*came += t->came;
}

void thread_runtimes(const struct collect *c, struct collect_stats *ret)
{
	ret->threads = c->processes->threads->ended.n +
		       (unsigned)(c->processes->threads->all.n - c->processes->threads->free.n);
	ret->cpu_ns = c->processes->threads->ended.cpu_ns;
	ret->came = c->processes->threads->ended.came;
	vec_foreach(t, &c->processes->threads->all)
		if (t->tid)
			add_rate(t, &ret->cpu_ns, &ret->came);
}

static void give_up(struct collect *c, struct thread *t)
{
	struct map *by_tid = &process_at(c, t->process)->threads;
	uint32_t i = (uint32_t)(t - c->processes->threads->all.v);
	const uint64_t *at = map_get(by_tid, t->tid);

	if (vec_push(&c->processes->threads->free, i))
		return;
	if (at && *at == i + 1) /* otherwise a newer thread has got the number */
		map_del(by_tid, t->tid);
	add_rate(t, &c->processes->threads->ended.cpu_ns, &c->processes->threads->ended.came);
	c->processes->threads->ended.n++;
	t->tid = 0;
}

/*
 * How long a sample may wait for its stack. After that time no sample waits for a thread that has
 * ended.
 */
#define KEPT_NS (10 * NSEC_PER_SEC)

static void drop_ends(struct collect *c, uint64_t now_ns)
{
	size_t old = 0;

	while (old < c->processes->threads->ends.n &&
	       c->processes->threads->ends.v[old].time_ns + KEPT_NS < now_ns)
		old++;
	if (!old)
		return;
	c->processes->threads->ends.n -= old;
	memmove(c->processes->threads->ends.v, c->processes->threads->ends.v + old,
		c->processes->threads->ends.n * sizeof(*c->processes->threads->ends.v));
}

void thread_give_up(struct collect *c, uint64_t now_ns)
{
	if (now_ns < c->processes->threads->ended.at_ns + KEPT_NS)
		return;
	c->processes->threads->ended.at_ns = now_ns;
	drop_ends(c, now_ns);
	vec_foreach(t, &c->processes->threads->all)
		if (t->tid && t->ended_ns && t->ended_ns + KEPT_NS < now_ns)
			give_up(c, t);
}

void thread_forget_all(struct collect *c, struct process *p)
{
	map_foreach(slot, &p->threads)
		give_up(c, &c->processes->threads->all.v[slot->value - 1]);
	map_fini(&p->threads);
}

void thread_forget_labels(struct collect *c, struct process *p)
{
	map_foreach(slot, &p->threads) {
		struct thread *t = &c->processes->threads->all.v[slot->value - 1];

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

/* Takes note of a thread while it runs, so that its name can be looked for. */
static struct thread *meet(struct collect *c, struct process *p, const struct rec_sample *rec)
{
	p->names_samples++;
	return thread_of(c, p, rec);
}

void thread_meet(struct collect *c, uint32_t process, const struct rec_sample *rec)
{
	(void)meet(c, process_at(c, process), rec);
}

uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec)
{
	struct process *p = process_at(c, process);
	struct thread *t = meet(c, p, rec);

	if (!t)
		return 0;
	if (rec->source == c->config.cpu_source)
		add_runtime(t, rec->runtime_ns);
	if (!t->labels[rec->gil])
		label(c, p, t, rec->gil);
	/* of this set some labels may be missing, because memory ran out */
	if (profile_failed(c->profile))
		t->labels[rec->gil] = 0;
	return t->labels[rec->gil];
}

/* Inserts an end by its time: events of several CPUs don't come in the order of time. */
static void keep_end(struct collect *c, struct thread_end end)
{
	size_t i;

	if (vec_push(&c->processes->threads->ends, end))
		return;
	for (i = c->processes->threads->ends.n - 1;
	     i && c->processes->threads->ends.v[i - 1].time_ns > end.time_ns; i--)
		c->processes->threads->ends.v[i] = c->processes->threads->ends.v[i - 1];
	c->processes->threads->ends.v[i] = end;
}

void thread_ended(struct collect *c, const struct process *p, uint32_t tgid, uint32_t tid,
		  uint64_t time_ns)
{
	struct thread *t = p ? find_thread(c, p, tid) : NULL;

	if (t && !t->ended_ns)
		t->ended_ns = time_ns;
	else
		keep_end(c, (struct thread_end){tgid, tid, time_ns});
}

/*
 * Copies a thread's name. Programs may change it a million times a second, so snprintf() is too
 * slow.
 */
void thread_copy_comm(char ret[static PROC_COMM_BYTES], const char *comm)
{
	size_t n = strnlen(comm, PROC_COMM_BYTES - 1);

	memcpy(ret, comm, n);
	ret[n] = '\0';
}

void thread_comm(struct collect *c, const struct process *p, uint32_t tid, const char *comm)
{
	struct thread *t = find_thread(c, p, tid);

	if (!t || t->named || streq(t->name, comm))
		return;
	thread_copy_comm(t->name, comm);
	memset(t->labels, 0, sizeof(t->labels));
}

static void rename_thread(struct collect *c, struct thread *t, const char *name)
{
	struct profile *p = c->profile;
	uint32_t key, value;

	t->named = true;
	if (streq(t->name, name))
		return;
	key = profile_string(p, "thread");
	value = profile_string(p, name);
	if (profile_failed(p))
		return;
	snprintf(t->name, sizeof(t->name), "%s", name);
	for (size_t i = 0; i < GIL_STATE_MAX; i++) {
		uint32_t *labels = &t->labels[i];

		if (*labels && !(t->own[i] && profile_relabel(p, *labels, key, value)))
			*labels = 0;
	}
}

/*
 * Reads the thread names that one interpreter has. Of several interpreters, the first that knows a
 * thread names it.
 */
static int read_names(struct collect *c, const struct process *p, const struct py_where *where,
		      struct py_thread_names *ret)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, where->layout);

	return layout ? py_thread_names(p->key.tgid, layout, where, NULL, 0, ret) : -ENOTSUP;
}

static void rename_threads(struct collect *c, const struct process *p,
			   const struct py_thread_names *names, size_t n)
{
	map_foreach(slot, &p->threads) {
		struct thread *t = &c->processes->threads->all.v[slot->value - 1];
		const char *name = NULL;

		for (size_t i = 0; i < n && !name && !t->ended_ns; i++)
			name = py_thread_name_of(&names[i], t->tid);
		if (name)
			rename_thread(c, t, name);
	}
}

static void name_threads(struct collect *c, struct process *p)
{
	const struct proc_several one = {.n = 1, .where[0] = p->where};
	const struct proc_several *all = p->several ? p->several : &one;
	struct py_thread_names names[ABI_INTERPRETERS] = {};
	_cleanup_proc_ struct proc proc = PROC_INIT;
	size_t found = 0;

	for (size_t i = 0; i < all->n; i++)
		found += read_names(c, p, &all->where[i], &names[i]) ? 0 : names[i].list.n;
	/* If it is the same process now, it was the same while its memory was read. */
	if (found && !proc_open(&proc, p->key.tgid) && process_is(p, &proc))
		rename_threads(c, p, names, all->n);
	for (size_t i = 0; i < all->n; i++)
		py_thread_names_fini(&names[i]);
}

/*
 * Is it time to look for names? Not at every flush: there are hundreds a second where processes
 * start all the time. A process that ends after hardly a sample isn't asked for names at all.
 */
static bool is_names_time(const struct process *p, uint64_t now)
{
	bool alone = p->threads.n == 1 && map_get(&p->threads, p->key.tgid);
	size_t enough = alone ? NAMES_ALONE : NAMES_SAMPLES;

	return now >= p->names_due_ns || (!p->names_looked_ns && p->names_samples >= enough);
}

/* meet() sets .names_apart_ns back, and each look doubles it. */
static bool is_wanted(const struct process *p, enum names_of which, uint64_t now)
{
	if (which == NAMES_OF_ALL)
		return true;
	if (!p->names_due_ns)
		return false;
	return which == NAMES_OF_NEW ? p->names_apart_ns == NAMES_APART_NS : is_names_time(p, now);
}

void thread_names(struct collect *c, enum names_of which)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	vec_foreach(i, &c->processes->live) {
		struct process *p = process_at(c, *i);
		uint64_t began_ns;

		if (process_has_ended(p) || p->state != PROC_PYTHON || !p->walked)
			continue;
		if (!is_wanted(p, which, now) || (which != NAMES_OF_ALL && !upkeep_may(c, p, now)))
			continue;
		p->names_looked_ns = now;
		p->names_due_ns = now + p->names_apart_ns;
		p->names_apart_ns *= 2;
		crowd_turn(c, p);
		began_ns = upkeep_begin();
		name_threads(c, p);
		upkeep_end(c, p, began_ns);
	}
}

/*
 * Samples so far, of threads that run, keep their labels in a condensed profile. In an empty one a
 * thread's sets are made again when it is sampled again.
 */
void threads_rebase(struct collect *c, struct rebase *r)
{
	/* Sets that differed may have become one, so no set is a thread's own any more. */
	vec_foreach(t, &c->processes->threads->all)
		for (size_t i = 0; t->tid && i < GIL_STATE_MAX; i++) {
			t->labels[i] =
				r->condense ? condense_labels_whole(r->condense, t->labels[i]) : 0;
			t->own[i] = false;
		}
}
