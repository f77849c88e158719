/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the figures of a recording; see summary.h. */
#include "record/figures/summary.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "record/figures/census.h"

/*
 * Samples are reported as missing if there are fewer than CPU time x Hz by more than
 * MISSING_PERCENT percent. The clock runs on a CPU and not with a thread, so chance decides how
 * many samples a thread gets that often leaves its CPU.
 */
#define MISSING_PERCENT 1.0
#define RATE_PERCENT	5.0
#define SIGMAS		3

/*
 * Returns the most resident memory, in bytes, that krait has had, mappings of the rings included.
 */
static size_t peak_rss(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	size_t kib = 0;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %zu kB", &kib);
	return kib << 10;
}

uint64_t summary_missing(uint64_t due, uint64_t came)
{
	uint64_t missing = due - MIN(came, due);

	if (summary_percent(missing, due) <= MISSING_PERCENT ||
	    (double)missing * missing <= SIGMAS * SIGMAS * (double)due)
		return 0;
	return missing;
}

bool summary_rate_is_off(uint64_t due, uint64_t came)
{
	uint64_t off = MAX(due, came) - MIN(due, came);

	return summary_percent(off, due) > RATE_PERCENT &&
	       (double)off * off > SIGMAS * SIGMAS * (double)due;
}

static unsigned count_processes(const struct profile *p)
{
	struct census all = {};
	unsigned n;

	census_take(&all, p);
	n = (unsigned)all.processes.n;
	census_fini(&all);
	return n;
}

/*
 * Makes a copy of the list of unsupported processes, because the list is needed after the collector
 * was freed.
 */
static void own_unsupported(struct collect_stats *st)
{
	struct collect_unsupported *own = calloc(st->n_unsupported + 1, sizeof(*own));

	if (!own)
		st->n_unsupported = 0;
	for (size_t i = 0; i < st->n_unsupported; i++)
		own[i] = st->unsupported[i];
	st->unsupported = own;
}

static void take_figures(struct summary *m, struct session *s)
{
	const struct event *cpu = session_events_cpu(&s->events);

	*m = (struct summary){.wall_ns = s->end_ns - s->start_ns};
	sampler_stats(s->sampler, &m->kernel);
	m->map_bytes = sampler_map_bytes(s->sampler);
	collect_stats(s->collect, &m->collect);
	if (cpu)
		m->cpu_samples = m->collect.sources[cpu - s->events.v].samples;
	own_unsupported(&m->collect);
	/*
	 * after condensing, the profile doesn't distinguish processes that have ended; after
	 * windows (parts of the recording) were handed over, it has only the processes of the last
	 * one
	 */
	if (!s->condensed && !s->windows)
		m->collect.processes = count_processes(s->profile);
	m->own_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	m->start_cpu_ns = s->start_cpu_ns;
	m->own_rss_bytes = peak_rss();
	/*
	 * A sample may come late, after a task switch, and counts for the next thread. Among
	 * threads whose CPU time is counted here, such errors cancel out. But the CPU time of
	 * threads that ran only briefly isn't counted, and all samples of such a thread may be
	 * late.
	 */
	if (!cpu || m->collect.came * 2 < m->cpu_samples)
		return;
	for (unsigned i = 0; i < s->events.n; i++)
		if (&s->events.v[i] != cpu)
			m->others_ns += m->kernel.sources[i].busy_ns;
	m->due = m->collect.cpu_ns / cpu->period;
	m->reached_hz =
		m->collect.cpu_ns ? m->collect.came / summary_seconds(m->collect.cpu_ns) : 0;
	m->missing = summary_missing(m->due, m->cpu_samples);
	m->shadowed = MIN(m->missing, m->others_ns / cpu->period);
}

/* Returns how much CPU time the samples stand for; 0: the samples don't tell it. */
static uint64_t sampled_ns(const struct session *s, const struct summary *m)
{
	const struct event *cpu = session_events_cpu(&s->events);

	return cpu ? m->cpu_samples * cpu->period : 0;
}

void summary_take(struct summary *m, struct session *s)
{
	take_figures(m, s);
	session_use_tell(s, sampled_ns(s, m));
	session_daemons(s, &m->daemons);
}

void summary_fini(struct summary *m)
{
	free((void *)m->collect.unsupported);
	vec_fini(&m->daemons);
}
