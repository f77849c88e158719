/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Composes the closing lines of a recording: what was recorded, what is missing and why; see
 * closing.h.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/self.h"
#include "cli/record/closing_lines.h"
#include "proc/machine/hidepid.h"
#include "proc/proc.h"
#include "profile/mark.h"
#include "view/lede/cpu_words.h"

/* a target that used less than this percentage of one CPU was "hardly on the CPU" */
#define HARDLY_PERCENT 1.0

/*
 * if krait's own CPU time is below this percentage of a CPU, it is printed only with -v, but always
 * kept in the recording
 */
#define OWN_PERCENT 5.0
/*
 * if krait's own CPU time is less than this in all, it is printed only with -v, because each
 * recording takes some at its end
 */
#define OWN_LEAST_NS NSEC_PER_SEC

static void add_unknown(struct closing *c, uint64_t n)
{
	_cleanup_str_ struct str how = {};

	if (geteuid() && proc_hides(&how))
		closing_line(c, LOG_NOTE,
			     "%llu more sample%s came from processes that /proc hides from you (it "
			     "is mounted with hidepid=%s), or that ended before krait could see "
			     "what they ran; `sudo %s record` shows them",
			     (ull)n, n == 1 ? "" : "s", str_cstr(&how), self_under_sudo());
	else
		closing_note(c, closing_is_amiss(n, n + c->m->collect.samples),
			     "%llu more sample%s came from processes that ended before krait could "
			     "see what they ran",
			     (ull)n, n == 1 ? "" : "s");
}

/*
 * Returns true if this outcome (how the reading of a stack ended) is nothing to worry about. Some
 * samples always come while a program starts or ends, and threads of BLAS and OpenMP have no
 * Python.
 */
static bool is_expected(enum walk_outcome outcome)
{
	return outcome == WALK_STARTING || outcome == WALK_ENDING || outcome == WALK_NO_PYTHON;
}

/*
 * The samples of one event. The share of each outcome (how the reading of a stack ended) is a
 * percentage of this event's samples. As a percentage of the samples of all events, it may be much
 * smaller.
 */
struct outcome_of {
	uint64_t samples;
	/* words after the number of samples (.event) and before the outcome (.prefix) */
	const char *event, *prefix;
};

static void add_outcome(struct closing *c, const struct outcome_of *of, uint64_t n, bool expected,
			const char *words)
{
	if (n)
		closing_note(c, !expected && closing_is_amiss(n, of->samples),
			     "%llu sample%s%s (%.2f %%): %s%s", (ull)n, n == 1 ? "" : "s",
			     of->event, summary_percent(n, of->samples), of->prefix, words);
}

static void add_outcomes_of(const struct session *s, struct closing *c, unsigned source)
{
	const struct collect_source *st = &c->m->collect.sources[source];
	_cleanup_str_ struct str event = {};
	struct outcome_of of = {st->samples, NULL, ""};

	closing_name_event(s, &s->events.v[source], &event);
	of.event = str_cstr(&event);
	for (unsigned i = WALK_OK + 1; i < WALK_OUTCOME_MAX; i++)
		if (i != WALK_UNSUPPORTED)
			add_outcome(c, &of, st->outcomes[i], is_expected(i), walk_words[i].words);
	of.prefix = NATIVE_WORDS_OF;
	for (unsigned i = NATIVE_LATE; i < NATIVE_OUTCOME_MAX; i++)
		add_outcome(c, &of, st->native[i], false, native_words[i].words);
}

static void add_outcomes(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	for (unsigned i = 0; i < s->events.n; i++)
		add_outcomes_of(s, c, i);
	if (st->unknown)
		add_unknown(c, st->unknown);
	if (st->foreign && st->samples)
		closing_line(c, LOG_NOTE,
			     "%u process%s of other users left out, Python or not; `sudo %s "
			     "record` shows them",
			     st->foreign, st->foreign == 1 ? "" : "es", self_under_sudo());
	if (st->not_python)
		closing_line(c, st->samples ? LOG_INFO : LOG_NOTE,
			     "%llu sample%s of processes that don't run Python",
			     (ull)st->not_python, st->not_python == 1 ? "" : "s");
	for (size_t i = 0; i < st->n_unsupported; i++)
		closing_line(c, LOG_NOTE, "%llu samples of %u process%s not understood: %s",
			     (ull)st->unsupported[i].samples, st->unsupported[i].processes,
			     st->unsupported[i].processes == 1 ? "" : "es",
			     st->unsupported[i].reason);
}

/* Adds a line that says that no samples came, and what would help. */
static void say_nothing_came(const struct session *s, struct closing *c)
{
	const struct session_options *o = s->options;
	const char *filter = o->comms.n	       ? "--comm"
			     : o->cgroups.n    ? "--cgroup"
			     : o->containers.n ? "--container"
					       : NULL;
	_cleanup_str_ struct str names = {};

	for (unsigned i = 0; i < s->events.n; i++)
		str_addf(&names, "%s%s", i ? " or " : "", s->events.v[i].name);
	if (session_events_wait(&s->events))
		closing_line(c, LOG_WARN, "no samples: no thread of %s waited",
			     o->cmd || o->pids.n ? "the target" : "a Python process");
	else if (!session_events_cpu(&s->events))
		closing_line(c, LOG_WARN,
			     "no samples: no %s, or too few of them for one sample, came while "
			     "Python ran; without -e CPU time is sampled",
			     str_cstr(&names));
	else if (o->cmd && c->m->collect.foreign)
		closing_line(c, LOG_WARN,
			     "no samples: the processes that '%s' started belong to another user; "
			     "`sudo %s record` shows them too",
			     o->cmd[0], self_under_sudo());
	else if (o->cmd)
		closing_line(
			c, LOG_WARN,
			"no samples: '%s' ran no Python, or less than it takes to be sampled; for "
			"a program that is over at once sample more often, as with -F 9999",
			o->cmd[0]);
	else if (o->pids.n)
		closing_line(c, LOG_WARN,
			     "no samples: the process%s didn't run on a CPU; --wall shows for what "
			     "programs wait, and longer recordings (-d) where they run",
			     o->pids.n > 1 ? "es" : "");
	else if (filter)
		closing_line(c, LOG_WARN,
			     "no samples: no Python process that %s matches ran on a CPU; leave it "
			     "out to see those that do%s",
			     filter,
			     o->comms.n ? " (--comm is the name in /proc/PID/comm, often python3, "
					  "or that of the script or module)"
					: "");
	else
		closing_line(c, LOG_WARN,
			     "no samples: no Python process ran on a CPU; record longer (-d), or "
			     "while one works");
}

/*
 * Tells whether the recording has waits. If so, the last lines printed say how long the program
 * waited.
 */
static bool tells_use(const struct session *s)
{
	_cleanup_str_ struct str words = {};

	return cpu_words_add(s->profile, &words);
}

static void add_presence(const struct session *s, struct closing *c)
{
	const struct event *cpu = session_events_cpu(&s->events);
	double share =
		summary_percent(cpu ? c->m->cpu_samples * (double)cpu->period : 0, c->m->wall_ns);
	bool told = tells_use(s);

	if (!c->m->collect.samples)
		say_nothing_came(s, c);
	else if (!told && cpu && share < HARDLY_PERCENT)
		closing_line(c, LOG_NOTE,
			     "the target was hardly on the CPU (%.2f %% of one): it waits; %s",
			     share,
			     c->m->collect.n_waited ? "--value off_cpu shows where"
						    : "this profile shows only where it ran, and a "
						      "recording with --wall for what it waits");
}

/* with at least this many samples, a number of events is estimated right to a few percent */
#define ENOUGH_SAMPLES 1000

/*
 * Warns that too few samples came to count events. With -F, the kernel chooses after how many
 * events it takes a sample, by counting the events of all processes on a CPU. So a process with few
 * events may never be sampled. `krait report` reads the name of the value in this line
 * (src/cli/report/words.c).
 */
static void add_too_few(const struct session *s, struct closing *c, unsigned source)
{
	const struct event *e = &s->events.v[source];
	uint64_t n = c->m->collect.sources[source].samples;
	const char *modifiers = strchr(e->name, ':');
	_cleanup_str_ struct str all = {};

	if (e->period || e->source->clock || e->type != PERF_TYPE_SOFTWARE || !n ||
	    n >= ENOUGH_SAMPLES)
		return;
	if (s->events.n > 1)
		str_addf(&all, "-e %s/period=1/%s", e->sample_type, modifiers ? modifiers + 1 : "");
	closing_line_as(c, COMMENTS_TOO_FEW,
			"%llu sample%s at %u Hz only estimate%s %s; %s counts them", (ull)n,
			n == 1 ? "" : "s", e->hz, n == 1 ? "s" : "", e->sample_type,
			all.n ? str_cstr(&all) : "-c 1");
}

#define DAEMONS_NAMED 3

/*
 * Names the daemons that the command left running. What these daemons do from now on isn't
 * recorded, which users might not expect.
 */
static void add_daemons(const struct session *s, struct closing *c)
{
	_cleanup_str_ struct str names = {}, options = {};
	size_t all = c->m->daemons.n, n = MIN(all, (size_t)DAEMONS_NAMED);

	for (size_t i = 0; i < n; i++) {
		_cleanup_proc_ struct proc p = PROC_INIT;
		char comm[PROC_COMM_BYTES] = "?";

		if (!proc_open(&p, c->m->daemons.v[i]))
			(void)!proc_comm(&p, c->m->daemons.v[i], comm);
		str_addf(&names, "%s%d (%s)", i ? ", " : "", c->m->daemons.v[i], comm);
		str_addf(&options, " -p %d", c->m->daemons.v[i]);
	}
	if (n)
		closing_line(c, LOG_WARN,
			     "the command has ended, and the recording with it; what it started "
			     "goes on: %zu process%s, %s%s; `krait %s%s` goes on with %s",
			     all, all == 1 ? "" : "es", str_cstr(&names), all > n ? ", ..." : "",
			     s->prompt ? "top" : "record", str_cstr(&options),
			     all == 1 ? "it" : "them");
}

/*
 * Adds a line with the number of samples. If there are several events, it also has the number of
 * samples of each.
 */
static void add_counts(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	_cleanup_str_ struct str each = {};

	for (unsigned i = 0; s->events.n > 1 && i < s->events.n; i++)
		str_addf(&each, "%s %llu of %s", i ? "," : ":", (ull)st->sources[i].samples,
			 s->events.v[i].name);
	closing_line(c, LOG_NOTE, "%llu sample%s of %u process%s in %.1f s%s", (ull)st->samples,
		     st->samples == 1 ? "" : "s", st->processes, st->processes == 1 ? "" : "es",
		     summary_seconds(c->m->wall_ns), str_cstr(&each));
}

static void add_rate(const struct session *s, struct closing *c)
{
	const struct event *cpu = session_events_cpu(&s->events);
	double asked_hz = cpu ? (double)NSEC_PER_SEC / cpu->period : 0;
	_cleanup_str_ struct str of = {};

	if (!cpu)
		return;
	closing_name_event(s, cpu, &of);
	if (c->m->reached_hz > 0)
		closing_note(c, summary_rate_is_off(c->m->due, c->m->collect.came),
			     "%.0f samples%s a CPU-second (asked: %.0f)", c->m->reached_hz,
			     str_cstr(&of), asked_hz);
	else if (c->m->cpu_samples)
		closing_note(c, false,
			     "sampling rate not known: most threads ran too briefly to measure it "
			     "(asked: %.0f)",
			     asked_hz);
}

void closing_compose(struct closing *c, const struct session *s, const struct summary *m)
{
	const struct collect_stats *st = &m->collect;
	uint64_t own_ns = m->own_cpu_ns - m->start_cpu_ns;
	double own = summary_percent(own_ns, m->wall_ns);

	c->m = m;
	add_presence(s, c);
	add_counts(s, c);
	for (unsigned i = 0; i < s->events.n; i++)
		add_too_few(s, c, i);
	add_rate(s, c);
	closing_add_waits(s, c);
	add_outcomes(s, c);
	closing_add_losses(s, c);
	add_daemons(s, c);
	closing_note(c, own > OWN_PERCENT && own_ns > OWN_LEAST_NS,
		     "krait itself used %.2f s of CPU time to start, then %.1f %% of one CPU; its "
		     "memory: %.1f MiB, and %.1f MiB in the kernel",
		     summary_seconds(m->start_cpu_ns), own, m->own_rss_bytes / 1048576.0,
		     m->map_bytes / 1048576.0);
	if (m->kernel.run_count)
		closing_line(c, LOG_INFO, "%.0f ns in the kernel per sample",
			     (double)m->kernel.run_ns / m->kernel.run_count);
	closing_line(c, LOG_INFO, "%zu stacks, %zu code objects", st->stacks, st->codes);
	for (unsigned i = 0; i < COUNT_MAX; i++)
		closing_line(c, LOG_DEBUG, "%s: %llu", sampler_counter_words(i),
			     (ull)m->kernel.counters[i]);
}

void closing_fini(struct closing *c)
{
	vec_foreach(l, &c->lines)
		free(l->text);
	vec_fini(&c->lines);
}

void closing_print(const struct closing *c)
{
	vec_foreach(l, &c->lines)
		log_at(l->level, "%s", l->text);
}
