/* SPDX-License-Identifier: BSD-2-Clause */
/* The closing lines in words: what came, what is amiss and why; see summary.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/self.h"
#include "base/str.h"
#include "cli/record/summary_parts.h"
#include "proc/hidepid.h"
#include "proc/proc.h"
#include "render/cpu_words.h"
#include "symbol/debuginfod.h"

/* Below this share of one CPU the target is called "hardly on the CPU". */
#define HARDLY_PERCENT 1.0

/*
 * What is amiss in fewer samples, a rate that is nearer to the one asked for and less CPU time of krait's own are
 * printed with -v only. The recording has all of it.
 */
#define AMISS_PERCENT 1.0
#define RATE_PERCENT  5.0
#define OWN_PERCENT   5.0
#define OWN_LEAST_NS  NSEC_PER_SEC /* what every recording costs at its end isn't much */

static void add_line(struct summary *m, struct summary_line l, const char *fmt, va_list ap)
{
	if (vasprintf(&l.text, fmt, ap) < 0)
		l.text = NULL;
	if (l.text && vec_push(&m->lines, l))
		free(l.text);
}

static void line(struct summary *m, enum log_level level, const char *fmt, ...) _printf_(3, 4);
static void note(struct summary *m, bool amiss, const char *fmt, ...) _printf_(3, 4);

static void line(struct summary *m, enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(m, (struct summary_line){.level = level, .kept = level <= LOG_NOTE}, fmt, ap);
	va_end(ap);
}

/* For the recording; printed too if it is amiss. */
static void note(struct summary *m, bool amiss, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(m, (struct summary_line){.level = amiss ? LOG_NOTE : LOG_INFO, .kept = true}, fmt,
		 ap);
	va_end(ap);
}

static void line_as(struct summary *m, const char *key, const char *fmt, ...) _printf_(3, 4);

/* Of which the recording says what it is. */
static void line_as(struct summary *m, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(m, (struct summary_line){.level = LOG_NOTE, .kept = true, .key = key}, fmt, ap);
	va_end(ap);
}

static bool is_amiss(uint64_t samples, uint64_t of)
{
	return summary_percent(samples, of) > AMISS_PERCENT;
}

static void add_unknown(struct summary *m, uint64_t n)
{
	_cleanup_str_ struct str how = {};

	if (geteuid() && proc_hides(&how))
		line(m, LOG_NOTE,
		     "%llu more sample%s came from processes that /proc hides from you (it is "
		     "mounted with hidepid=%s), or that ended before krait could see what they "
		     "ran; "
		     "`sudo %s record` shows them",
		     (ull)n, n == 1 ? "" : "s", str_cstr(&how), self_under_sudo());
	else
		note(m, is_amiss(n, n + m->collect.samples),
		     "%llu more sample%s came from processes that ended before krait could see "
		     "what "
		     "they ran",
		     (ull)n, n == 1 ? "" : "s");
}

/* Every program starts and ends; threads of BLAS and OpenMP have no Python. */
static bool is_expected(enum walk_outcome outcome)
{
	return outcome == WALK_STARTING || outcome == WALK_ENDING || outcome == WALK_NO_PYTHON;
}

static void add_outcome(struct summary *m, uint64_t n, bool expected, const char *of,
			const char *words)
{
	uint64_t samples = m->collect.samples;

	if (n)
		note(m, !expected && is_amiss(n, samples), "%llu sample%s (%.2f %%): %s%s", (ull)n,
		     n == 1 ? "" : "s", summary_percent(n, samples), of, words);
}

static void add_outcomes(struct summary *m)
{
	const struct collect_stats *st = &m->collect;

	for (unsigned i = WALK_OK + 1; i < WALK_OUTCOME_MAX; i++)
		if (i != WALK_UNSUPPORTED)
			add_outcome(m, st->outcomes[i], is_expected(i), "",
				    collect_outcome_words(i));
	for (unsigned i = NATIVE_LATE; i < NATIVE_OUTCOME_MAX; i++)
		add_outcome(m, st->native[i], false, "native stack: ", collect_native_words(i));
	if (st->unknown)
		add_unknown(m, st->unknown);
	if (st->foreign && st->samples)
		line(m, LOG_NOTE,
		     "%u process%s of other users left out, Python or not; `sudo %s record` shows "
		     "them",
		     st->foreign, st->foreign == 1 ? "" : "es", self_under_sudo());
	if (st->not_python)
		line(m, st->samples ? LOG_INFO : LOG_NOTE,
		     "%llu sample%s of processes that don't run Python", (ull)st->not_python,
		     st->not_python == 1 ? "" : "s");
	for (size_t i = 0; i < st->n_unsupported; i++)
		line(m, LOG_NOTE, "%llu samples of %u process%s not understood: %s",
		     (ull)st->unsupported[i].samples, st->unsupported[i].processes,
		     st->unsupported[i].processes == 1 ? "" : "es", st->unsupported[i].reason);
}

static void add_counter(struct summary *m, enum bpf_counter i)
{
	if (m->kernel.counters[i])
		line(m, LOG_WARN, "%llu %s", (ull)m->kernel.counters[i], sampler_counter_words(i));
}

/* What the end didn't wait for. */
static void add_unread(const struct session *s, struct summary *m)
{
	const struct collect_stats *st = &m->collect;
	char text[64];
	const char *why = patience_words(&s->patience, text, sizeof(text));

	if (s->prompt) /* all was shown */
		return;
	if (st->unread_files == 1)
		line(m, LOG_WARN, "functions of %s have no names: %s", st->unread_file, why);
	else if (st->unread_files)
		line(m, LOG_WARN, "functions of %u files have no names, of %s among them: %s",
		     st->unread_files, st->unread_file, why);
	if (st->unread_kernel)
		line(m, LOG_WARN, "some functions of the kernel have no names: %s", why);
	if (st->unreadable.processes)
		line(m, LOG_WARN,
		     "memory of %u process%s couldn't be read, of %d (%s) first: a file system or "
		     "storage that it comes from doesn't answer; what is there has no names",
		     st->unreadable.processes, st->unreadable.processes == 1 ? "" : "es",
		     st->unreadable.first, st->unreadable.comm);
	if (st->unreadable.file_systems)
		line(m, LOG_WARN,
		     "%u file system%s of programs do%s answer: functions of the files there have "
		     "no "
		     "names",
		     st->unreadable.file_systems, st->unreadable.file_systems == 1 ? "" : "s",
		     st->unreadable.file_systems == 1 ? "esn't" : "n't");
	if (st->unfetched)
		line(m, LOG_WARN,
		     "%u debug file%s not fetched: the servers of DEBUGINFOD_URLS took longer than "
		     "the "
		     "%d s that all fetches have, or didn't answer",
		     st->unfetched, st->unfetched == 1 ? " was" : "s were", DEBUGINFOD_SECONDS);
	if (st->unlined)
		line(m, LOG_WARN, "%llu places in native code have no lines: %s", (ull)st->unlined,
		     why);
}

static void add_losses(const struct session *s, struct summary *m)
{
	const struct collect_stats *st = &m->collect;

	if (m->kernel.counters[COUNT_RING_FULL])
		line(m, LOG_WARN,
		     "%llu records lost because the ring was full; sample less often (-F)",
		     (ull)m->kernel.counters[COUNT_RING_FULL]);
	add_counter(m, COUNT_NO_RING);
	add_counter(m, COUNT_NO_ROOM);
	if (s->unfollowed)
		line(m, LOG_WARN,
		     "%llu child process%s too many to follow: missing if the parent ended before",
		     (ull)s->unfollowed, s->unfollowed == 1 ? "" : "es");
	if (m->missing)
		line(m, LOG_WARN,
		     "%llu samples (%.1f %%) never came: the targets' CPU time makes %llu due",
		     (ull)m->missing, summary_percent(m->missing, m->due), (ull)m->due);
	if (m->kernel.throttled)
		line(m, LOG_WARN,
		     "the kernel throttled sampling %llu times, %.1f s in all; "
		     "sysctl kernel.perf_cpu_time_max_percent=0 stops that",
		     (ull)m->kernel.throttled, summary_seconds(m->kernel.throttled_ns));
	if (st->broken_records)
		line(m, LOG_WARN, "%llu records made no sense", (ull)st->broken_records);
	if (st->lost_stacks)
		line(m, LOG_WARN, "%llu sample%s without a stack: its record was lost",
		     (ull)st->lost_stacks, st->lost_stacks == 1 ? "" : "s");
	if (st->map_malformed)
		line(m, LOG_NOTE,
		     "%llu lines of perf maps or records of jitdumps made no sense, or aren't "
		     "there whole",
		     (ull)st->map_malformed);
	if (st->map_dropped)
		line(m, LOG_NOTE, "%llu entries of perf maps were too many", (ull)st->map_dropped);
	if (st->maps_unread)
		line(m, LOG_NOTE,
		     "perf maps or jitdumps of %u process%s weren't read to the end: they are too "
		     "long, or grow too fast",
		     st->maps_unread, st->maps_unread == 1 ? "" : "es");
	if (st->lost_names)
		line(m, LOG_WARN, "%llu frame%s without name or line", (ull)st->lost_names,
		     st->lost_names == 1 ? "" : "s");
	if (st->lists_cut)
		line(m, LOG_NOTE,
		     "code registered for gdb has names in part: the lists of %u process%s are too "
		     "long to be read whole",
		     st->lists_cut, st->lists_cut == 1 ? "" : "es");
	if (st->lists_refused)
		line(m, LOG_NOTE,
		     "code registered for gdb has no names: its list couldn't be read %llu times; "
		     "with "
		     "-v why",
		     (ull)st->lists_refused);
	if (st->looks_cut)
		line(m, LOG_NOTE,
		     "tables of mapped files were too large to be looked through, or for --memory, "
		     "%llu times: what is in them is missing; with -v of which files",
		     (ull)st->looks_cut);
	if (st->looks_refused)
		line(m, LOG_NOTE,
		     "mapped files weren't looked into %llu times: those of their users had taken "
		     "too much time",
		     (ull)st->looks_refused);
	add_unread(s, m);
	if (s->sideband_lost)
		line(m, LOG_INFO, "%llu process events lost", (ull)s->sideband_lost);
}

static void add_unwind_memory(struct summary *m)
{
	const struct collect_stats *st = &m->collect;

	if (st->names_given_up)
		line(m, LOG_NOTE,
		     "--memory is short: names of files or of code made at run time were given up "
		     "for others %llu times; with -v of which",
		     (ull)st->names_given_up);
	if (st->rows_too_large)
		line(m, LOG_WARN,
		     "%llu file%s too large for --unwind-memory or --memory: native stacks break "
		     "off there",
		     (ull)st->rows_too_large, st->rows_too_large == 1 ? "" : "s");
	if (st->rows_given_up || st->rows_refused)
		line(m, LOG_NOTE,
		     "--unwind-memory is too small: unwind tables were dropped %llu time%s and had "
		     "to wait %llu time%s; -v names the files",
		     (ull)st->rows_given_up, st->rows_given_up == 1 ? "" : "s",
		     (ull)st->rows_refused, st->rows_refused == 1 ? "" : "s");
}

static void add_other(struct summary *m)
{
	const struct collect_other *o = &m->collect.other;

	if (o->processes)
		line(m, LOG_WARN,
		     "%u process%s a second interpreter that isn't shown, as %u does: %s in %s",
		     o->processes, o->processes == 1 ? " has" : "es have", o->tgid, o->name,
		     o->file);
}

static void add_newer(struct summary *m)
{
	unsigned version = m->collect.newer_version;

	if (version)
		line(m, LOG_WARN,
		     "CPython %u.%u is newer than this krait: stacks are read as the interpreter "
		     "describes itself, but the names "
		     "of threads and modules aren't; a newer krait may know them",
		     version >> 8, version & 0xff);
}

static void add_absent(struct summary *m)
{
	const struct collect_stats *st = &m->collect;

	if (st->absent.pages)
		line(m, LOG_INFO,
		     "%llu pages of memory that wasn't resident were read for the kernel program",
		     (ull)st->absent.pages);
	if (st->absent.refused)
		line(m, LOG_WARN,
		     "memory that wasn't resident was left as it was %llu times, of %u process%s, "
		     "first of %s: it went again "
		     "and again, or reading it took too long",
		     (ull)st->absent.refused, st->absent.processes,
		     st->absent.processes == 1 ? "" : "es", st->absent.first);
}

static void add_put_off(struct summary *m)
{
	const struct collect_stats *st = &m->collect;

	if (st->put_off.times)
		line(m, LOG_NOTE,
		     "mappings and names of threads of %u process%s, first of %s, change so often "
		     "that "
		     "they were read "
		     "later %llu times, as krait's own CPU time is bounded: some samples lack them",
		     st->put_off.processes, st->put_off.processes == 1 ? "" : "es",
		     st->put_off.first, (ull)st->put_off.times);
}

static void add_condensed(const struct session *s, struct summary *m)
{
	if (s->condensed)
		line(m, LOG_NOTE,
		     "what was rare was summed up %u time%s to keep krait's memory bounded: code "
		     "as [rare code], threads that had ended as [ended]%s",
		     s->condensed, s->condensed == 1 ? "" : "s",
		     s->prompt ? "" : "; --memory may allow more");
}

/* What was asked for, what became of it, and what would help. */
static void say_nothing_came(const struct session *s, struct summary *m)
{
	const struct record_options *o = s->options;
	const char *filter = o->comms.n	       ? "--comm"
			     : o->cgroups.n    ? "--cgroup"
			     : o->containers.n ? "--container"
					       : NULL;

	if (!summary_is_cpu_time(&s->event))
		line(m, LOG_WARN,
		     "no samples: no %s, or too few of them for one sample, came while Python ran; "
		     "without -e CPU time is sampled",
		     o->event);
	else if (o->cmd && m->collect.foreign)
		line(m, LOG_WARN,
		     "no samples: what '%s' ran is another user's; `sudo %s record` shows it too",
		     o->cmd[0], self_under_sudo());
	else if (o->cmd)
		line(m, LOG_WARN,
		     "no samples: '%s' ran no Python, or less than it takes to be sampled; "
		     "for a program that is over at once sample more often, as with -F 9999",
		     o->cmd[0]);
	else if (o->pids.n)
		line(m, LOG_WARN,
		     "no samples: the process%s didn't run on a CPU, and krait shows where "
		     "programs run, not where they wait; record longer (-d), or while it works",
		     o->pids.n > 1 ? "es" : "");
	else if (filter)
		line(m, LOG_WARN,
		     "no samples: no Python process that %s matches ran on a CPU; leave it out "
		     "to see those that do%s",
		     filter,
		     o->comms.n ? " (--comm is the name in /proc/PID/comm, often python3, or "
				  "that of the script or module)"
				: "");
	else
		line(m, LOG_WARN,
		     "no samples: no Python process ran on a CPU; record longer (-d), or while "
		     "one works");
}

/* CPU time by the samples; 0: they don't tell. */
static uint64_t sampled_ns(const struct session *s, const struct summary *m)
{
	return summary_is_cpu_time(&s->event) ? m->collect.samples * s->event.period : 0;
}

/* How much it waited is in the recording, and its last words say so. */
static bool tells_use(struct session *s, struct summary *m)
{
	_cleanup_str_ struct str words = {};

	session_use_tell(s, sampled_ns(s, m));
	return cpu_words_add(s->profile, &words);
}

static void add_presence(struct session *s, struct summary *m)
{
	double share = summary_percent(m->collect.samples * (double)s->event.period, m->wall_ns);
	bool told = tells_use(s, m);

	if (!m->collect.samples)
		say_nothing_came(s, m);
	else if (!told && summary_is_cpu_time(&s->event) && share < HARDLY_PERCENT)
		line(m, LOG_NOTE,
		     "the target was hardly on the CPU (%.2f %% of one): it waits; "
		     "this profile shows only where it ran",
		     share);
}

#define ENOUGH_SAMPLES 1000 /* to tell how many events there were, to some percent */

/*
 * Where the kernel adapts how many events a sample stands for, that is so many of all processes' on that CPU: what one of
 * them had may never be met.
 */
static void add_too_few(const struct session *s, struct summary *m)
{
	const struct event *e = &s->event;

	if (e->period || e->clock || e->type != PERF_TYPE_SOFTWARE || !m->collect.samples ||
	    m->collect.samples >= ENOUGH_SAMPLES)
		return;
	line_as(m, COMMENTS_TOO_FEW, "%llu sample%s at %u Hz only estimate%s %s; -c 1 counts them",
		(ull)m->collect.samples, m->collect.samples == 1 ? "" : "s", e->hz,
		m->collect.samples == 1 ? "s" : "", e->name);
}

#define DAEMONS_NAMED 3

/* Nobody would look for what a daemon did in a recording that ended before it. */
static void add_daemons(struct session *s, struct summary *m)
{
	_cleanup_str_ struct str names = {}, options = {};
	pid_vec all = {};
	size_t n;

	session_daemons(s, &all);
	m->goes_on = all.n;
	n = MIN(all.n, (size_t)DAEMONS_NAMED);
	for (size_t i = 0; i < n; i++) {
		_cleanup_proc_ struct proc p = PROC_INIT;
		char comm[PROC_COMM_BYTES] = "?";

		if (!proc_open(&p, all.v[i]))
			(void)!proc_comm(&p, all.v[i], comm);
		str_addf(&names, "%s%d (%s)", i ? ", " : "", all.v[i], comm);
		str_addf(&options, " -p %d", all.v[i]);
	}
	if (n)
		line(m, LOG_WARN,
		     "the command has ended, and the recording with it; what it started goes on: "
		     "%zu process%s, %s%s; `krait %s%s` goes on with %s",
		     all.n, all.n == 1 ? "" : "es", str_cstr(&names), all.n > n ? ", ..." : "",
		     s->prompt ? "top" : "record", str_cstr(&options), all.n == 1 ? "it" : "them");
	vec_fini(&all);
}

void summary_compose(struct session *s, struct summary *m)
{
	const struct collect_stats *st = &m->collect;
	double asked_hz = s->event.period ? (double)NSEC_PER_SEC / s->event.period : 0;
	uint64_t own_ns = m->own_cpu_ns - m->start_cpu_ns;
	double own = summary_percent(own_ns, m->wall_ns);

	add_presence(s, m);
	line(m, LOG_NOTE, "%llu sample%s of %u process%s in %.1f s", (ull)st->samples,
	     st->samples == 1 ? "" : "s", st->processes, st->processes == 1 ? "" : "es",
	     summary_seconds(m->wall_ns));
	add_too_few(s, m);
	if (m->reached_hz > 0)
		note(m, fabs(m->reached_hz / asked_hz - 1) > RATE_PERCENT / 100,
		     "%.0f samples a CPU-second (asked: %.0f)", m->reached_hz, asked_hz);
	else if (summary_is_cpu_time(&s->event) && st->samples)
		note(m, false,
		     "sampling rate not known: most threads ran too briefly to measure it (asked: "
		     "%.0f)",
		     asked_hz);
	add_outcomes(m);
	add_losses(s, m);
	add_unwind_memory(m);
	add_absent(m);
	add_put_off(m);
	add_other(m);
	add_newer(m);
	add_condensed(s, m);
	add_daemons(s, m);
	note(m, own > OWN_PERCENT && own_ns > OWN_LEAST_NS,
	     "krait itself: %.2f s of CPU to start, %.1f %% of one CPU then; %.1f MiB, %.1f MiB in "
	     "the kernel",
	     summary_seconds(m->start_cpu_ns), own, m->own_rss_bytes / 1048576.0,
	     m->map_bytes / 1048576.0);
	if (m->kernel.run_count)
		line(m, LOG_INFO, "%.0f ns in the kernel per sample",
		     (double)m->kernel.run_ns / m->kernel.run_count);
	line(m, LOG_INFO, "%zu stacks, %zu code objects", st->stacks, st->codes);
	for (unsigned i = 0; i < COUNT_MAX; i++)
		line(m, LOG_DEBUG, "%s: %llu", sampler_counter_words(i),
		     (ull)m->kernel.counters[i]);
}
