/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the threads of which records came: when they ended, and how long they ran; see thread.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/thread/internal.h"
#include "proc/proc.h"

/* the longest time until names of a process's threads are first read */
#define NAMES_FIRST_NS NSEC_PER_SEC

/*
 * A thread counts for the rate of samples per CPU time only once it has this much CPU time. Before
 * that, the incomplete periods at its beginning and its end have too much influence.
 */
#define LONG_ENOUGH_NS (100 * NSEC_PER_MSEC)

bool threads_init(struct collect *c)
{
	return (c->threads = calloc(1, sizeof(struct threads)));
}

void threads_fini(struct collect *c)
{
	struct threads *t = c->threads;

	if (!t)
		return;
	vec_foreach(thread, &t->all) {
		map_fini(&thread->waits);
		shares_free(thread->shares);
	}
	vec_fini(&t->all);
	vec_fini(&t->free);
	vec_fini(&t->ends);
	places_forget(&t->places);
	on_fini(&t->on);
	free(t);
}

size_t threads_kept(const struct collect *c)
{
	return c->threads->all.n;
}

static void read_name(struct collect *c, const struct process *p, struct thread *t)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	char comm[PROC_COMM_BYTES] = "";

	thread_new_name(c, t);
	if (t->tid == p->key.tgid && *p->comm)
		thread_copy_comm(t->name, p->comm);
	else if (p->state != PROC_CROWDED && !proc_open(&proc, p->key.tgid) &&
		 !proc_comm(&proc, t->tid, comm))
		snprintf(t->name, sizeof(t->name), "%s", comm);
}

void thread_begin_anew(struct collect *c, struct process *p)
{
	thread_forget_labels(c, p);
	map_foreach(slot, &p->threads) {
		struct thread *t = &c->threads->all.v[slot->value - 1];

		if (!*t->name && !t->ended_ns)
			read_name(c, p, t);
	}
}

static struct thread *find_thread(const struct collect *c, const struct process *p, uint32_t tid)
{
	uint64_t *i = map_get(&p->threads, tid);

	return i ? &c->threads->all.v[*i - 1] : NULL;
}

uint64_t thread_end_of(const struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	for (size_t i = count_upto(c->threads->ends.v, c->threads->ends.n, time_ns, time_ns);
	     i < c->threads->ends.n; i++)
		if (c->threads->ends.v[i].tid == tid && c->threads->ends.v[i].tgid == tgid)
			return c->threads->ends.v[i].time_ns;
	return 0;
}

/*
 * Is the sample of this thread, and not of a later thread with the same number? perf reports a
 * thread's end in the middle of do_exit(). A REC_SAMPLE_END comes after this report and still
 * belongs to the thread.
 */
static bool is_its(const struct thread *t, const struct rec_sample *rec)
{
	return !t->ended_ns || rec->time_ns < t->ended_ns || rec->type == REC_SAMPLE_END;
}

/*
 * Returns the thread of @rec: @t, or an earlier thread that had its number. A record of an earlier
 * thread may be added to the profile after records of the later thread came, because records wait
 * for what their stacks need. In execve(), for example, a thread takes the number of the first
 * thread. NULL: no record of the thread has come before.
 */
static struct thread *its_thread(const struct collect *c, struct thread *t,
				 const struct rec_sample *rec)
{
	while (t && t->earlier && rec->time_ns < t->met_ns) {
		struct thread *earlier = &c->threads->all.v[t->earlier - 1];

		if (earlier->tid != t->tid || earlier->process != t->process ||
		    !earlier->ended_ns || earlier->ended_ns > t->met_ns)
			/* the thread was forgotten, and another thread has its entry */
			break;
		if (!is_its(earlier, rec))
			break;
		t = earlier;
	}
	return t && is_its(t, rec) ? t : NULL;
}

/*
 * Returns when the thread of @rec, of which no record has come before, has ended; 0: as far as is
 * known, it runs.
 */
static uint64_t its_end(const struct collect *c, const struct process *p,
			const struct rec_sample *rec)
{
	uint64_t end = thread_end_of(c, p->key.tgid, rec->tid, rec->time_ns);

	return !end && rec->type == REC_SAMPLE_END ? rec->time_ns : end;
}

struct thread *thread_of_sample(struct collect *c, struct process *p, const struct rec_sample *rec)
{
	struct thread *newest = find_thread(c, p, rec->tid), *t = its_thread(c, newest, rec);
	uint32_t i, earlier = newest ? (uint32_t)(newest - c->threads->all.v) + 1 : 0;

	if (t)
		return t;
	if (!c->threads->free.n && (vec_push(&c->threads->all, (struct thread){}) ||
				    vec_push(&c->threads->free, (uint32_t)c->threads->all.n - 1)))
		return NULL;
	i = c->threads->free.v[c->threads->free.n - 1];
	if (map_put(&p->threads, rec->tid, i + 1))
		return NULL;
	c->threads->free.n--;
	c->news = true;
	t = &c->threads->all.v[i];
	*t = (struct thread){.tid = rec->tid,
			     .process = process_index(c, p),
			     .ended_ns = its_end(c, p, rec),
			     .earlier = earlier,
			     .met_ns = rec->time_ns};
	read_name(c, p, t);
	p->names_apart_ns = NAMES_APART_NS;
	p->names_due_ns = p->names_looked_ns ? p->names_looked_ns + NAMES_APART_NS
			  : p->names_due_ns  ? p->names_due_ns
					     : clock_ns(CLOCK_MONOTONIC) + NAMES_FIRST_NS;
	return t;
}

/*
 * Counts a sample, for the rate of samples per CPU time. A sample is due after each period of CPU
 * time. The kernel updates a thread's CPU time only at ticks and task switches, so several samples
 * may show the same time. If a sample shows another time than the sample before it, the new time is
 * exact to one period. Only samples between two such moments are counted.
 */
void thread_add_runtime(struct thread *t, uint64_t runtime_ns)
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
		 * Samples of a thread that has moved to another CPU come out of order, because each
		 * CPU has its own ring buffer.
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
	ret->threads = c->threads->ended.n + (unsigned)(c->threads->all.n - c->threads->free.n);
	ret->cpu_ns = c->threads->ended.cpu_ns;
	ret->came = c->threads->ended.came;
	vec_foreach(t, &c->threads->all)
		if (t->tid)
			add_rate(t, &ret->cpu_ns, &ret->came);
}

static void give_up(struct collect *c, struct thread *t)
{
	struct map *by_tid = &process_at(c, t->process)->threads;
	uint32_t i = (uint32_t)(t - c->threads->all.v);
	const uint64_t *at = map_get(by_tid, t->tid);

	if (vec_push(&c->threads->free, i))
		return;
	/* if another thread has the number now, the map leads to that thread */
	if (at && *at == i + 1)
		map_del(by_tid, t->tid);
	add_rate(t, &c->threads->ended.cpu_ns, &c->threads->ended.came);
	c->threads->ended.n++;
	thread_forget_sets(c, t);
	shares_free(TAKE_PTR(t->shares));
	t->tid = 0;
}

/*
 * The longest time for which a sample waits for its stack. No sample needs threads that ended
 * longer ago, and no last record of a thread, which waits for two rounds (collect.rounds).
 */
#define KEPT_NS (10 * NSEC_PER_SEC)

static void drop_ends(struct collect *c, uint64_t now_ns)
{
	size_t old = 0;

	while (old < c->threads->ends.n && c->threads->ends.v[old].time_ns + KEPT_NS < now_ns)
		old++;
	if (!old)
		return;
	c->threads->ends.n -= old;
	memmove(c->threads->ends.v, c->threads->ends.v + old,
		c->threads->ends.n * sizeof(*c->threads->ends.v));
}

static void give_up_ended(struct collect *c, uint64_t now_ns)
{
	if (now_ns < c->threads->ended.at_ns + KEPT_NS)
		return;
	c->threads->ended.at_ns = now_ns;
	drop_ends(c, now_ns);
	vec_foreach(t, &c->threads->all)
		if (t->tid && t->ended_ns && t->ended_ns + KEPT_NS < now_ns)
			give_up(c, t);
}

void thread_forget_all(struct collect *c, struct process *p)
{
	map_foreach(slot, &p->threads)
		give_up(c, &c->threads->all.v[slot->value - 1]);
	map_fini(&p->threads);
}

uint32_t thread_number(struct collect *c, uint32_t process, const struct rec_sample *rec)
{
	const struct thread *t = thread_of_sample(c, process_at(c, process), rec);

	return t ? (uint32_t)(t - c->threads->all.v) + 1 : 0;
}

bool thread_has_number(const struct collect *c, uint32_t number, uint32_t tid)
{
	return number && number <= c->threads->all.n && c->threads->all.v[number - 1].tid == tid;
}

void thread_meet(struct collect *c, uint32_t process, const struct rec_sample *rec)
{
	(void)thread_of_sample(c, process_at(c, process), rec);
}

/* Inserts an end by its time, because events of different CPUs come out of order. */
static void keep_end(struct collect *c, struct thread_end end)
{
	size_t i;

	if (vec_push(&c->threads->ends, end))
		return;
	for (i = c->threads->ends.n - 1; i && c->threads->ends.v[i - 1].time_ns > end.time_ns; i--)
		c->threads->ends.v[i] = c->threads->ends.v[i - 1];
	c->threads->ends.v[i] = end;
}

static void note_end(struct collect *c, const struct process *p, uint32_t tgid, uint32_t tid,
		     uint64_t time_ns)
{
	struct thread *t = p ? find_thread(c, p, tid) : NULL;

	if (t && !t->ended_ns)
		t->ended_ns = time_ns;
	else
		keep_end(c, (struct thread_end){tgid, tid, time_ns});
}

void thread_exited(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	const struct process *p = process_newest(c, tgid);

	/* the first record of a short-lived process may come only after this event */
	if (p || tid == tgid)
		note_end(c, p, tgid, tid, time_ns);
	give_up_ended(c, time_ns);
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
	thread_new_name(c, t);
	thread_forget_sets(c, t);
}
