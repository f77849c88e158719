/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads memory of processes in a worker's threads (as jobs), and limits what these jobs cost; see
 * absent.h.
 */
#include "collect/budget/absent.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/work/worker.h"
#include "collect/process/process.h"
#include "proc/read/reader.h"
#include "python/heap/resident.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)

/*
 * Limits of pages and of time: for one process in a minute (PROCESS_*), for all processes in a
 * minute (ALL_*), and for one job (JOB_*). 16,384 pages are 64 MiB.
 */
#define PROCESS_PAGES 16384
#define PROCESS_NS    NSEC_PER_SEC
#define ALL_PAGES     65536
#define ALL_NS	      (3 * NSEC_PER_SEC)

#define JOB_PAGES     4096
#define JOB_NS	      (100 * NSEC_PER_MSEC)
#define JOBS	      64
/* a read that takes longer counts as hanging, because no disk is that slow */
#define STUCK_NS (2 * NSEC_PER_SEC)
#define END_MS	 200
/*
 * the most bytes that krait reads of one range of memory; the largest range that the kernel program
 * asks for has ABI_LINETABLE_BYTES
 */
#define RANGE_BYTES (64u << 10)

struct absent_job {
	struct worker_job job; /* must be the first member, because workers know only this member */
	struct rec_absent rec;
	struct py_layout layout;
	bool is_python;
	size_t pages;
	uint64_t took_ns;
};

struct absent {
	struct worker *worker;
	/* number of jobs that the worker was given and that absent_take() hasn't taken back yet */
	unsigned jobs;
	struct absent_spent all;
};

static void run(struct worker_job *job)
{
	struct absent_job *j = (struct absent_job *)job;
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	struct resident r = {
		.pid = (pid_t)j->rec.proc.tgid, .until_ns = began_ns + JOB_NS, .most = JOB_PAGES};

	for (size_t i = 0; i < ARRAY_SIZE(j->rec.range); i++)
		resident_range(&r, j->rec.range[i].addr,
			       MIN(j->rec.range[i].bytes, (uint64_t)RANGE_BYTES));
	if (j->is_python && j->rec.tstate)
		resident_stack(&r, &j->layout, j->rec.tstate);
	j->pages = r.pages;
	j->took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
}

static struct absent *state(struct collect *c)
{
	if (!c->absent)
		c->absent = calloc(1, sizeof(*c->absent));
	return c->absent;
}

static bool has_budget(struct absent_spent *s, size_t pages, uint64_t ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - s->since_ns > MINUTE_NS) {
		s->since_ns = now;
		s->pages = 0;
		s->took_ns = 0;
	}
	return s->pages < pages && s->took_ns < ns;
}

static void refuse(struct collect *c, struct process *p)
{
	if (!p->absent.refused && !c->stats.absent.processes++)
		snprintf(c->stats.absent.first, sizeof(c->stats.absent.first), "%u (%s)",
			 p->key.tgid, p->name ? p->name : p->comm);
	p->absent.refused = true;
	c->stats.absent.refused++;
}

/*
 * Returns the process that @rec is about. NULL: krait has forgotten that process, or another
 * process has its number now.
 */
static struct process *asked_by(const struct collect *c, const struct rec_absent *rec)
{
	struct process *p = process_newest(c, rec->proc.tgid);

	return p && !memcmp(&p->key, &rec->proc, sizeof(p->key)) ? p : NULL;
}

static void forget_job(const struct collect *c, struct absent *a, struct absent_job *j)
{
	struct process *p = asked_by(c, &j->rec);

	if (p)
		p->absent.asked = false;
	a->jobs--;
	free(j);
}

static bool may_read(struct collect *c, struct absent *a, struct process *p)
{
	if (has_budget(&p->absent, PROCESS_PAGES, PROCESS_NS) &&
	    has_budget(&a->all, ALL_PAGES, ALL_NS) && a->jobs < JOBS)
		return true;
	refuse(c, p);
	return false;
}

static bool give(struct collect *c, struct absent *a, const struct rec_absent *rec)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, rec->layout);
	struct absent_job *j = calloc(1, sizeof(*j));

	if (!j)
		return false;
	j->job.run = run;
	/*
	 * each process is a group: while a job of a group hangs, no other job of this group begins
	 */
	j->job.group = rec->proc.tgid;
	j->rec = *rec;
	j->is_python = layout != NULL;
	if (layout)
		j->layout = *layout;
	a->jobs++;
	reader_prepare();
	worker_give(a->worker, &j->job, true);
	return true;
}

void absent_met(struct collect *c, const struct rec_absent *rec)
{
	long i = process_of(c, &rec->proc);
	struct absent *a = state(c);
	struct process *p;

	if (i < 0 || !a)
		return;
	absent_take(c);
	p = process_at(c, i);
	/*
	 * A read of @p's memory is under way already, and may bring in this range as well. If it
	 * doesn't, the next sample asks for the range again.
	 */
	if (p->absent.asked || process_has_ended(p) || p->unwanted) {
		if (p->absent.asked && clock_ns(CLOCK_MONOTONIC) - p->absent.asked_ns > STUCK_NS)
			refuse(c, p);
		return;
	}
	if (!may_read(c, a, p) || (!a->worker && worker_open(&a->worker)))
		return;
	p->absent.asked_ns = clock_ns(CLOCK_MONOTONIC);
	p->absent.asked = give(c, a, rec);
}

static void account(struct absent_spent *s, const struct absent_job *j)
{
	s->pages += j->pages;
	s->took_ns += j->took_ns;
}

static void take(struct collect *c, struct absent *a, struct absent_job *j)
{
	struct process *p = asked_by(c, &j->rec);

	account(&a->all, j);
	c->stats.absent.pages += j->pages;
	if (p)
		account(&p->absent, j);
	forget_job(c, a, j);
}

void absent_take(struct collect *c)
{
	struct absent *a = c->absent;
	struct worker_job *job;

	while (a && a->worker && (job = worker_take(a->worker)))
		take(c, a, (struct absent_job *)job);
}

bool absent_fini(struct collect *c)
{
	struct absent *a = TAKE_PTR(c->absent);
	struct worker_job *job;
	bool freed = true;

	if (a && a->worker) {
		while ((job = worker_drop(a->worker)))
			free(job);
		(void)worker_wait(a->worker, END_MS);
		while ((job = worker_take(a->worker)))
			free(job);
		freed = worker_abandon(a->worker);
	}
	free(a);
	return freed;
}
