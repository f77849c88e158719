/* SPDX-License-Identifier: BSD-2-Clause */
/* Composes the closing lines: what was recorded, what is missing and why; see closing.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/record/closing.h"
#include "base/cleanup.h"
#include "base/self.h"
#include "base/str.h"
#include "proc/hidepid.h"
#include "proc/proc.h"
#include "profile/mark.h"
#include "symbol/elf/debuginfod.h"
#include "view/cpu_words.h"

/* A target that used less than this percentage of one CPU was "hardly on the CPU". */
#define HARDLY_PERCENT 1.0

/*
 * Smaller problems are printed only with -v: problems in fewer samples, less CPU time of krait's
 * own. The recording has all of them.
 */
#define AMISS_PERCENT 1.0
#define OWN_PERCENT   5.0
/* krait's own CPU time below this isn't mentioned: each recording uses some at its end */
#define OWN_LEAST_NS NSEC_PER_SEC

static void add_line(struct closing *c, struct closing_line l, const char *fmt, va_list ap)
{
	if (vasprintf(&l.text, fmt, ap) < 0)
		l.text = NULL;
	if (l.text && vec_push(&c->lines, l))
		free(l.text);
}

static void line(struct closing *c, enum log_level level, const char *fmt, ...) _printf_(3, 4);
static void note(struct closing *c, bool amiss, const char *fmt, ...) _printf_(3, 4);

static void line(struct closing *c, enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(c, (struct closing_line){.level = level, .kept = level <= LOG_NOTE}, fmt, ap);
	va_end(ap);
}

/* Adds a line for the recording. It is printed too if it is about a problem. */
static void note(struct closing *c, bool amiss, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(c, (struct closing_line){.level = amiss ? LOG_NOTE : LOG_INFO, .kept = true}, fmt,
		 ap);
	va_end(ap);
}

static void line_as(struct closing *c, const char *key, const char *fmt, ...) _printf_(3, 4);

/* Adds a line that the recording keeps as a comment with a key of its own. */
static void line_as(struct closing *c, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(c, (struct closing_line){.level = LOG_NOTE, .kept = true, .key = key}, fmt, ap);
	va_end(ap);
}

static bool is_amiss(uint64_t samples, uint64_t of)
{
	return summary_percent(samples, of) > AMISS_PERCENT;
}

static void add_unknown(struct closing *c, uint64_t n)
{
	_cleanup_str_ struct str how = {};

	if (geteuid() && proc_hides(&how))
		line(c, LOG_NOTE,
		     "%llu more sample%s came from processes that /proc hides from you (it is "
		     "mounted with hidepid=%s), or that ended before krait could see what they "
		     "ran; "
		     "`sudo %s record` shows them",
		     (ull)n, n == 1 ? "" : "s", str_cstr(&how), self_under_sudo());
	else
		note(c, is_amiss(n, n + c->m->collect.samples),
		     "%llu more sample%s came from processes that ended before krait could see "
		     "what "
		     "they ran",
		     (ull)n, n == 1 ? "" : "s");
}

/*
 * Is the outcome normal? Every program starts and ends, and threads of BLAS and OpenMP have no
 * Python.
 */
static bool is_expected(enum walk_outcome outcome)
{
	return outcome == WALK_STARTING || outcome == WALK_ENDING || outcome == WALK_NO_PYTHON;
}

/* Appends " of NAME" if the recording has several events. */
static void name_event(const struct session *s, const struct event *e, struct str *ret)
{
	if (s->events.n > 1)
		str_addf(ret, " of %s", e->name);
}

/* One event's samples: what is much of one may be little of those of all events. */
struct outcome_of {
	uint64_t samples;
	const char *event, *prefix; /* words behind their number, and before those of the outcome */
};

static void add_outcome(struct closing *c, const struct outcome_of *of, uint64_t n, bool expected,
			const char *words)
{
	if (n)
		note(c, !expected && is_amiss(n, of->samples), "%llu sample%s%s (%.2f %%): %s%s",
		     (ull)n, n == 1 ? "" : "s", of->event, summary_percent(n, of->samples),
		     of->prefix, words);
}

static void add_outcomes_of(const struct session *s, struct closing *c, unsigned source)
{
	const struct collect_source *st = &c->m->collect.sources[source];
	_cleanup_str_ struct str event = {};
	struct outcome_of of = {st->samples, NULL, ""};

	name_event(s, &s->events.v[source], &event);
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
		line(c, LOG_NOTE,
		     "%u process%s of other users left out, Python or not; `sudo %s record` shows "
		     "them",
		     st->foreign, st->foreign == 1 ? "" : "es", self_under_sudo());
	if (st->not_python)
		line(c, st->samples ? LOG_INFO : LOG_NOTE,
		     "%llu sample%s of processes that don't run Python", (ull)st->not_python,
		     st->not_python == 1 ? "" : "s");
	for (size_t i = 0; i < st->n_unsupported; i++)
		line(c, LOG_NOTE, "%llu samples of %u process%s not understood: %s",
		     (ull)st->unsupported[i].samples, st->unsupported[i].processes,
		     st->unsupported[i].processes == 1 ? "" : "es", st->unsupported[i].reason);
}

static void add_counter(struct closing *c, enum bpf_counter i)
{
	if (c->m->kernel.counters[i])
		line(c, LOG_WARN, "%llu %s", (ull)c->m->kernel.counters[i],
		     sampler_counter_words(i));
}

/* Adds what krait would have read, if the recording's end had waited for it. */
static void add_unread(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	char text[64];
	const char *why = patience_words(&s->patience, text, sizeof(text));

	if (s->prompt) /* with .prompt everything was shown already */
		return;
	if (st->unread_files == 1)
		line(c, LOG_WARN, "functions of %s have no names: %s", st->unread_file, why);
	else if (st->unread_files)
		line(c, LOG_WARN, "functions of %u files have no names, of %s among them: %s",
		     st->unread_files, st->unread_file, why);
	if (st->unread_kernel)
		line(c, LOG_WARN, "some functions of the kernel have no names: %s", why);
	if (st->unreadable.processes)
		line(c, LOG_WARN,
		     "memory of %u process%s couldn't be read, of %d (%s) first: a file system or "
		     "storage that it comes from doesn't answer; what is there has no names",
		     st->unreadable.processes, st->unreadable.processes == 1 ? "" : "es",
		     st->unreadable.first, st->unreadable.comm);
	if (st->unreadable.file_systems)
		line(c, LOG_WARN,
		     "%u file system%s of programs do%s answer: functions of the files there have "
		     "no "
		     "names",
		     st->unreadable.file_systems, st->unreadable.file_systems == 1 ? "" : "s",
		     st->unreadable.file_systems == 1 ? "esn't" : "n't");
	if (st->unfetched)
		line(c, LOG_WARN,
		     "%u debug file%s not fetched: the servers of DEBUGINFOD_URLS took longer than "
		     "the "
		     "%d s that all fetches have, or didn't answer",
		     st->unfetched, st->unfetched == 1 ? " was" : "s were", DEBUGINFOD_SECONDS);
	if (st->unlined)
		line(c, LOG_WARN, "%llu addresses in native code have no line numbers: %s",
		     (ull)st->unlined, why);
}

static void add_throttled(const struct session *s, struct closing *c, unsigned source)
{
	uint64_t n = c->m->kernel.sources[source].throttled;
	_cleanup_str_ struct str of = {};

	name_event(s, &s->events.v[source], &of);
	if (n)
		line(c, LOG_WARN,
		     "the kernel throttled sampling%s %llu times, %.1f s in all; "
		     "sysctl kernel.perf_cpu_time_max_percent=0 stops that",
		     str_cstr(&of), (ull)n,
		     summary_seconds(c->m->kernel.sources[source].throttled_ns));
}

/* Adds the samples that CPU time makes due and that never came. */
static void add_missing(const struct session *s, struct closing *c)
{
	const struct event *cpu = session_events_cpu(&s->events);
	const struct summary *m = c->m;
	_cleanup_str_ struct str of = {}, why = {};

	if (!cpu)
		return;
	name_event(s, cpu, &of);
	if (m->shadowed)
		str_addf(&why, "; up to %llu of them fell due while krait sampled other events",
			 (ull)m->shadowed);
	if (m->missing)
		line(c, LOG_WARN,
		     "%llu samples%s (%.1f %%) never came: the targets' CPU time makes %llu due%s",
		     (ull)m->missing, str_cstr(&of), summary_percent(m->missing, m->due),
		     (ull)m->due, str_cstr(&why));
}

static void add_losses(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	if (c->m->kernel.counters[COUNT_RING_FULL])
		line(c, LOG_WARN,
		     "%llu records lost because the ring was full; sample less often (-F)",
		     (ull)c->m->kernel.counters[COUNT_RING_FULL]);
	add_counter(c, COUNT_NO_RING);
	add_counter(c, COUNT_NO_ROOM);
	add_counter(c, COUNT_BUSY);
	if (c->m->kernel.skipped)
		note(c, is_amiss(c->m->kernel.skipped, st->samples),
		     "the kernel skipped %llu runs of krait's programs while other BPF programs "
		     "ran; some unmapped memory may have been noticed late",
		     (ull)c->m->kernel.skipped);
	if (s->unfollowed)
		line(c, LOG_WARN,
		     "%llu child process%s too many to follow: one is missing if its parent ended "
		     "first",
		     (ull)s->unfollowed, s->unfollowed == 1 ? "" : "es");
	add_missing(s, c);
	for (unsigned i = 0; i < s->events.n; i++)
		add_throttled(s, c, i);
	if (st->broken_records)
		line(c, LOG_WARN, "%llu records from the kernel were malformed and left out",
		     (ull)st->broken_records);
	if (st->lost_stacks)
		line(c, LOG_WARN,
		     "%llu sample%s without a stack: the record with the stack was lost",
		     (ull)st->lost_stacks, st->lost_stacks == 1 ? "" : "s");
	if (st->map_malformed)
		line(c, LOG_NOTE,
		     "%llu lines of perf maps or records of jitdumps are malformed or incomplete",
		     (ull)st->map_malformed);
	if (st->map_dropped)
		line(c, LOG_NOTE, "%llu entries of perf maps were left out: there are too many",
		     (ull)st->map_dropped);
	if (st->maps_unread)
		line(c, LOG_NOTE,
		     "perf maps or jitdumps of %u process%s weren't read to the end: they are too "
		     "long, or grow too fast",
		     st->maps_unread, st->maps_unread == 1 ? "" : "es");
	if (st->lost_names)
		line(c, LOG_WARN, "%llu frame%s without name or line, which couldn't be read",
		     (ull)st->lost_names, st->lost_names == 1 ? "" : "s");
	if (st->lists_cut)
		line(c, LOG_NOTE,
		     "some code registered for gdb has no names: the lists of %u process%s are too "
		     "long to be read whole",
		     st->lists_cut, st->lists_cut == 1 ? "" : "es");
	if (st->lists_refused)
		line(c, LOG_NOTE,
		     "code registered for gdb has no names: its list couldn't be read %llu times; "
		     "-v says why",
		     (ull)st->lists_refused);
	if (st->looks_cut)
		line(c, LOG_NOTE,
		     "mapped files were too large to be looked through, %llu times: an interpreter "
		     "in them may not be known; -v names the files",
		     (ull)st->looks_cut);
	if (st->tables_cut)
		line(c, LOG_NOTE,
		     "tables of mapped files were too large to be looked through, or for --memory, "
		     "%llu times: frames or names are missing; -v names the files",
		     (ull)st->tables_cut);
	if (st->strangers_refused)
		line(c, LOG_NOTE,
		     "files that processes without Python map weren't looked into %llu times: such "
		     "files had taken too much time; an interpreter in them may not be known",
		     (ull)st->strangers_refused);
	if (st->looks_refused)
		line(c, LOG_NOTE,
		     "mapped files weren't looked into %llu times: those of their users had taken "
		     "too much time",
		     (ull)st->looks_refused);
	add_unread(s, c);
	if (s->sideband_lost)
		line(c, LOG_INFO, "%llu process events lost", (ull)s->sideband_lost);
}

static void add_unwind_memory(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	if (st->names_given_up)
		line(c, LOG_NOTE,
		     "--memory is short: names of files or of code made at run time were given up "
		     "for others %llu times; -v says of which",
		     (ull)st->names_given_up);
	if (st->rows_too_large)
		line(c, LOG_WARN,
		     "%llu file%s too large for --unwind-memory or --memory: native stacks break "
		     "off there",
		     (ull)st->rows_too_large, st->rows_too_large == 1 ? "" : "s");
	if (st->rows_given_up || st->rows_refused)
		line(c, LOG_NOTE,
		     "--unwind-memory is too small: unwind tables were dropped %llu time%s and had "
		     "to wait %llu time%s; -v names the files",
		     (ull)st->rows_given_up, st->rows_given_up == 1 ? "" : "s",
		     (ull)st->rows_refused, st->rows_refused == 1 ? "" : "s");
}

static void add_other(struct closing *c)
{
	const struct collect_other *o = &c->m->collect.other;

	if (o->processes)
		line(c, LOG_WARN,
		     "%u process%s a second interpreter that isn't shown, as %u does: %s in %s",
		     o->processes, o->processes == 1 ? " has" : "es have", o->tgid, o->name,
		     o->file);
}

static void add_newer(struct closing *c)
{
	unsigned version = c->m->collect.newer_version;

	if (version)
		line(c, LOG_WARN,
		     "CPython %u.%u is newer than this krait: stacks are read as the interpreter "
		     "describes itself, but the names "
		     "of threads and modules aren't; a newer krait may know them",
		     version >> 8, version & 0xff);
}

static void add_absent(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	if (st->absent.pages)
		line(c, LOG_INFO,
		     "%llu pages of memory that wasn't resident were read for the kernel program",
		     (ull)st->absent.pages);
	if (st->absent.refused)
		line(c, LOG_WARN,
		     "memory that wasn't resident couldn't be read %llu times, of %u process%s, "
		     "first of %s: the kernel evicted it again and again, or reading it took too "
		     "long",
		     (ull)st->absent.refused, st->absent.processes,
		     st->absent.processes == 1 ? "" : "es", st->absent.first);
}

static void add_put_off(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	if (st->put_off.times)
		line(c, LOG_NOTE,
		     "mappings and names of threads of %u process%s, first of %s, change so often "
		     "that "
		     "they were read "
		     "later %llu times, as krait's own CPU time is bounded: some samples lack them",
		     st->put_off.processes, st->put_off.processes == 1 ? "" : "es",
		     st->put_off.first, (ull)st->put_off.times);
}

static void add_crowded(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	unsigned n = st->crowded.processes;
	_cleanup_str_ struct str first = {}, left_out = {};

	if (!n)
		return;
	if (*st->crowded.first)
		str_addf(&first, " (the first: %s)", st->crowded.first);
	if (st->crowded.samples)
		str_addf(&left_out, "; %llu sample%s of those that krait doesn't know left out",
			 (ull)st->crowded.samples, st->crowded.samples == 1 ? " is" : "s are");
	line(c, LOG_NOTE,
	     "%u new process%s%s %s counted without stacks for a while: so many began that "
	     "looking at each would have cost too much of a CPU%s",
	     n, n == 1 ? "" : "es", str_cstr(&first), n == 1 ? "was" : "were", str_cstr(&left_out));
}

static void add_condensed(const struct session *s, struct closing *c)
{
	if (s->condensed)
		line(c, LOG_NOTE,
		     "to save memory, krait summed up what is rare %u time%s: functions as [rare "
		     "code], threads that had ended as [ended]%s",
		     s->condensed, s->condensed == 1 ? "" : "s",
		     s->prompt ? "" : "; --memory may allow more");
}

/* Says what was asked for, that no sample came of it, and what would help. */
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
	if (!session_events_cpu(&s->events))
		line(c, LOG_WARN,
		     "no samples: no %s, or too few of them for one sample, came while Python ran; "
		     "without -e CPU time is sampled",
		     str_cstr(&names));
	else if (o->cmd && c->m->collect.foreign)
		line(c, LOG_WARN,
		     "no samples: what '%s' ran is another user's; `sudo %s record` shows it too",
		     o->cmd[0], self_under_sudo());
	else if (o->cmd)
		line(c, LOG_WARN,
		     "no samples: '%s' ran no Python, or less than it takes to be sampled; "
		     "for a program that is over at once sample more often, as with -F 9999",
		     o->cmd[0]);
	else if (o->pids.n)
		line(c, LOG_WARN,
		     "no samples: the process%s didn't run on a CPU, and krait shows where "
		     "programs run, not where they wait; record longer (-d), or while it works",
		     o->pids.n > 1 ? "es" : "");
	else if (filter)
		line(c, LOG_WARN,
		     "no samples: no Python process that %s matches ran on a CPU; leave it out "
		     "to see those that do%s",
		     filter,
		     o->comms.n ? " (--comm is the name in /proc/PID/comm, often python3, or "
				  "that of the script or module)"
				: "");
	else
		line(c, LOG_WARN,
		     "no samples: no Python process ran on a CPU; record longer (-d), or while "
		     "one works");
}

/* Does the recording say how long the program waited? Then its last lines say so. */
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
		line(c, LOG_NOTE,
		     "the target was hardly on the CPU (%.2f %% of one): it waits; "
		     "this profile shows only where it ran",
		     share);
}

/* how many samples an estimate of the number of events needs to be right to some percent */
#define ENOUGH_SAMPLES 1000

/*
 * If the kernel adapts how many events a sample stands for, the number is that of all processes on
 * that CPU. Events of one process may never be sampled. `krait report` reads the name of the value
 * in this line (src/cli/report/words.c).
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
	line_as(c, COMMENTS_TOO_FEW, "%llu sample%s at %u Hz only estimate%s %s; %s counts them",
		(ull)n, n == 1 ? "" : "s", e->hz, n == 1 ? "s" : "", e->sample_type,
		all.n ? str_cstr(&all) : "-c 1");
}

#define DAEMONS_NAMED 3

/* Names daemons that go on. Users wouldn't look for them in a recording that ended before them. */
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
		line(c, LOG_WARN,
		     "the command has ended, and the recording with it; what it started goes on: "
		     "%zu process%s, %s%s; `krait %s%s` goes on with %s",
		     all, all == 1 ? "" : "es", str_cstr(&names), all > n ? ", ..." : "",
		     s->prompt ? "top" : "record", str_cstr(&options), all == 1 ? "it" : "them");
}

/* Adds how many samples there are; of several events, how many of each. */
static void add_counts(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	_cleanup_str_ struct str each = {};

	for (unsigned i = 0; s->events.n > 1 && i < s->events.n; i++)
		str_addf(&each, "%s %llu of %s", i ? "," : ":", (ull)st->sources[i].samples,
			 s->events.v[i].name);
	line(c, LOG_NOTE, "%llu sample%s of %u process%s in %.1f s%s", (ull)st->samples,
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
	name_event(s, cpu, &of);
	if (c->m->reached_hz > 0)
		note(c, summary_rate_is_off(c->m->due, c->m->collect.came),
		     "%.0f samples%s a CPU-second (asked: %.0f)", c->m->reached_hz, str_cstr(&of),
		     asked_hz);
	else if (c->m->cpu_samples)
		note(c, false,
		     "sampling rate not known: most threads ran too briefly to measure it (asked: "
		     "%.0f)",
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
	add_outcomes(s, c);
	add_losses(s, c);
	add_unwind_memory(c);
	add_absent(c);
	add_put_off(c);
	add_crowded(c);
	add_other(c);
	add_newer(c);
	add_condensed(s, c);
	add_daemons(s, c);
	note(c, own > OWN_PERCENT && own_ns > OWN_LEAST_NS,
	     "krait itself: %.2f s of CPU to start, %.1f %% of one CPU then; %.1f MiB, %.1f MiB in "
	     "the kernel",
	     summary_seconds(m->start_cpu_ns), own, m->own_rss_bytes / 1048576.0,
	     m->map_bytes / 1048576.0);
	if (m->kernel.run_count)
		line(c, LOG_INFO, "%.0f ns in the kernel per sample",
		     (double)m->kernel.run_ns / m->kernel.run_count);
	line(c, LOG_INFO, "%zu stacks, %zu code objects", st->stacks, st->codes);
	for (unsigned i = 0; i < COUNT_MAX; i++)
		line(c, LOG_DEBUG, "%s: %llu", sampler_counter_words(i),
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
