/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing lines that say what a recording lacks, and why: lost records, missing names, limits of
 * memory and CPU time.
 */
#include "base/cleanup.h"
#include "cli/record/closing_lines.h"
#include "symbol/elf/debuginfod.h"

/* Adds a line for a counter. The counter's words begin with a noun in the plural. */
static void add_counter(struct closing *c, enum bpf_counter i)
{
	const char *words = sampler_counter_words(i), *rest = strchrnul(words, ' ');
	uint64_t n = c->m->kernel.counters[i];

	if (n)
		closing_line(c, LOG_WARN, "%llu %.*s%s", (ull)n, (int)(rest - words) - (n == 1),
			     words, rest);
}

/* Adds lines about what krait didn't read, because the recording's end didn't wait for it. */
static void add_unread(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	char text[64];
	const char *why = patience_words(&s->patience, text, sizeof(text));

	/*
	 * krait top sets .prompt: it never waits for names, and has already printed the names that
	 * it knew
	 */
	if (s->prompt)
		return;
	if (st->unread_files == 1)
		closing_line(c, LOG_WARN, "functions of %s have no names: %s", st->unread_file,
			     why);
	else if (st->unread_files)
		closing_line(c, LOG_WARN,
			     "functions of %u files, for example of %s, have no names: %s",
			     st->unread_files, st->unread_file, why);
	if (st->unread_kernel)
		closing_line(c, LOG_WARN, "some of the kernel's functions have no names: %s", why);
	if (st->unreadable.processes)
		closing_line(
			c, LOG_WARN,
			"memory of %u process%s couldn't be read (the first: %d, %s), because a "
			"file system or storage behind it doesn't answer; what is there has no "
			"names",
			st->unreadable.processes, st->unreadable.processes == 1 ? "" : "es",
			st->unreadable.first, st->unreadable.comm);
	if (st->unreadable.file_systems)
		closing_line(c, LOG_WARN,
			     "%u file system%s of programs do%s answer: functions of the files "
			     "there have no names",
			     st->unreadable.file_systems,
			     st->unreadable.file_systems == 1 ? "" : "s",
			     st->unreadable.file_systems == 1 ? "esn't" : "n't");
	if (st->unfetched)
		closing_line(c, LOG_WARN,
			     "%u debug file%s not fetched: the servers of DEBUGINFOD_URLS took "
			     "longer than the %d s that all fetches have, or didn't answer",
			     st->unfetched, st->unfetched == 1 ? " was" : "s were",
			     DEBUGINFOD_SECONDS);
	if (st->unlined)
		closing_line(c, LOG_WARN, "%llu addresses in native code have no line numbers: %s",
			     (ull)st->unlined, why);
}

static void add_throttled(const struct session *s, struct closing *c, unsigned source)
{
	uint64_t n = c->m->kernel.sources[source].throttled;
	_cleanup_str_ struct str of = {};

	closing_name_event(s, &s->events.v[source], &of);
	if (n)
		closing_line(c, LOG_WARN,
			     "the kernel throttled sampling%s %llu times, %.1f s in all; sysctl "
			     "kernel.perf_cpu_time_max_percent=0 stops that",
			     str_cstr(&of), (ull)n,
			     summary_seconds(c->m->kernel.sources[source].throttled_ns));
}

/* Adds a line about missing samples: how many fewer came than the targets' CPU time calls for. */
static void add_missing(const struct session *s, struct closing *c)
{
	const struct event *cpu = session_events_cpu(&s->events);
	const struct summary *m = c->m;
	_cleanup_str_ struct str of = {}, why = {};

	if (!cpu)
		return;
	closing_name_event(s, cpu, &of);
	if (m->shadowed)
		str_addf(&why,
			 "; up to %llu of them may be missing because krait was taking a sample of "
			 "another event",
			 (ull)m->shadowed);
	if (m->missing)
		closing_line(c, LOG_WARN,
			     "%llu samples%s (%.1f %%) never came: the targets' CPU time makes "
			     "%llu due%s",
			     (ull)m->missing, str_cstr(&of), summary_percent(m->missing, m->due),
			     (ull)m->due, str_cstr(&why));
}

static void add_lost(const struct session *s, struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	bool waits_alone = s->events.n == 1 && session_events_wait(&s->events);

	if (c->m->kernel.counters[COUNT_RING_FULL])
		closing_line(c, LOG_WARN,
			     "%llu records lost because the kernel's ring buffer was full%s",
			     (ull)c->m->kernel.counters[COUNT_RING_FULL],
			     waits_alone ? "" : "; sample less often (-F)");
	add_counter(c, COUNT_NO_RING);
	add_counter(c, COUNT_NO_ROOM);
	add_counter(c, COUNT_BUSY);
	add_counter(c, COUNT_NO_WAIT);
	add_counter(c, COUNT_NO_GIL);
	if (c->m->kernel.skipped)
		closing_note(c, closing_is_amiss(c->m->kernel.skipped, st->samples),
			     "the kernel skipped %llu runs of krait's programs while other BPF "
			     "programs ran; some unmapped memory may have been noticed late",
			     (ull)c->m->kernel.skipped);
	if (s->unfollowed)
		closing_line(c, LOG_WARN,
			     "there was no room to follow %llu child process%s: such a child is "
			     "missing if its parent ended first",
			     (ull)s->unfollowed, s->unfollowed == 1 ? "" : "es");
	add_missing(s, c);
	for (unsigned i = 0; i < s->events.n; i++)
		add_throttled(s, c, i);
	if (st->broken_records)
		closing_line(c, LOG_WARN,
			     "%llu records from the kernel were malformed and left out",
			     (ull)st->broken_records);
	if (st->lost_stacks)
		closing_line(c, LOG_WARN,
			     "%llu sample%s without a stack: the record with the stack was lost",
			     (ull)st->lost_stacks, st->lost_stacks == 1 ? "" : "s");
	if (st->map_malformed)
		closing_line(c, LOG_NOTE,
			     "%llu lines of perf maps or records of jitdumps are malformed or "
			     "incomplete",
			     (ull)st->map_malformed);
	if (st->map_dropped)
		closing_line(c, LOG_NOTE,
			     "%llu entries of perf maps were left out: there are too many",
			     (ull)st->map_dropped);
	if (st->maps_unread)
		closing_line(c, LOG_NOTE,
			     "perf maps or jitdumps of %u process%s weren't read to the end: they "
			     "are too long, or grow too fast",
			     st->maps_unread, st->maps_unread == 1 ? "" : "es");
	if (st->lost_names)
		closing_line(c, LOG_WARN,
			     "%llu frame%s without name or line, because these couldn't be read",
			     (ull)st->lost_names, st->lost_names == 1 ? "" : "s");
	if (st->lists_cut)
		closing_line(c, LOG_NOTE,
			     "some code registered for gdb has no names: the lists of %u process%s "
			     "are too long to be read whole",
			     st->lists_cut, st->lists_cut == 1 ? "" : "es");
	if (st->lists_refused)
		closing_line(c, LOG_NOTE,
			     "code registered for gdb has no names: its list couldn't be read %llu "
			     "times; -v says why",
			     (ull)st->lists_refused);
	if (st->looks_cut)
		closing_line(c, LOG_NOTE,
			     "mapped files were too large to be looked through, %llu times: an "
			     "interpreter in them may not be known; -v names the files",
			     (ull)st->looks_cut);
	if (st->tables_cut)
		closing_line(
			c, LOG_NOTE,
			"tables of mapped files were too large to be looked through, or too large "
			"for --memory, %llu times: frames or names are missing; -v names the files",
			(ull)st->tables_cut);
	if (st->strangers_refused)
		closing_line(c, LOG_NOTE,
			     "krait didn't look into files of processes without Python %llu times, "
			     "because such files had taken too much time; an interpreter in them "
			     "may not be known",
			     (ull)st->strangers_refused);
	if (st->looks_refused)
		closing_line(
			c, LOG_NOTE,
			"krait didn't look into mapped files %llu times, because earlier files "
			"of the same users had taken too much time",
			(ull)st->looks_refused);
	add_unread(s, c);
	if (s->sideband_lost)
		closing_line(
			c, LOG_INFO,
			"%llu kernel events about processes (start, exec, end, mappings) were lost",
			(ull)s->sideband_lost);
}

static void add_unwind_memory(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	if (st->names_given_up)
		closing_line(c, LOG_NOTE,
			     "--memory is too small for all names: krait dropped those of a file, "
			     "or of code made at run time, %llu times; raise it (-v says whose)",
			     (ull)st->names_given_up);
	if (st->rows_too_large)
		closing_line(c, LOG_WARN,
			     "%llu file%s too large for --unwind-memory or --memory: native stacks "
			     "break off there",
			     (ull)st->rows_too_large, st->rows_too_large == 1 ? "" : "s");
	if (st->rows_given_up || st->rows_refused)
		closing_line(
			c, LOG_NOTE,
			"--unwind-memory is too small: krait dropped unwind tables %llu time%s "
			"and put off new ones %llu time%s; raise it (-v names the files)",
			(ull)st->rows_given_up, st->rows_given_up == 1 ? "" : "s",
			(ull)st->rows_refused, st->rows_refused == 1 ? "" : "s");
}

static void add_other(struct closing *c)
{
	const struct collect_other *o = &c->m->collect.other;

	if (o->processes)
		closing_line(c, LOG_WARN,
			     "%u process%s a second Python interpreter, which isn't shown; process "
			     "%u, for example: %s in %s",
			     o->processes, o->processes == 1 ? " has" : "es have", o->tgid, o->name,
			     o->file);
}

static void add_newer(struct closing *c)
{
	unsigned version = c->m->collect.newer_version;

	if (version)
		closing_line(c, LOG_WARN,
			     "CPython %u.%u is newer than this krait: stacks are read as the "
			     "interpreter describes itself, but the names of threads and modules "
			     "aren't; a newer krait may know them",
			     version >> 8, version & 0xff);
}

static void add_absent(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	if (st->absent.pages)
		closing_line(c, LOG_INFO,
			     "%llu pages of memory that wasn't resident were read for the kernel "
			     "program",
			     (ull)st->absent.pages);
	if (st->absent.refused)
		closing_line(c, LOG_WARN,
			     "memory that wasn't resident couldn't be read %llu times, of %u "
			     "process%s, first of %s: the kernel evicted it again and again, or "
			     "reading it took too long",
			     (ull)st->absent.refused, st->absent.processes,
			     st->absent.processes == 1 ? "" : "es", st->absent.first);
}

static void add_put_off(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;

	if (st->put_off.times)
		closing_line(c, LOG_NOTE,
			     "mappings and thread names of %u process%s (the first: %s) change so "
			     "often that krait put off reading them %llu times, to save CPU time: "
			     "some samples lack them",
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
		str_addf(&left_out,
			 "; %llu sample%s left out, of processes that krait hadn't examined",
			 (ull)st->crowded.samples, st->crowded.samples == 1 ? " is" : "s are");
	closing_line(c, LOG_NOTE,
		     "%u new process%s%s %s counted without stacks for a while: so many began that "
		     "looking at each would have cost too much of a CPU%s",
		     n, n == 1 ? "" : "es", str_cstr(&first), n == 1 ? "was" : "were",
		     str_cstr(&left_out));
}

static void add_condensed(const struct session *s, struct closing *c)
{
	if (s->condensed)
		closing_line(c, LOG_NOTE,
			     "to save memory, krait summed up rare data %u time%s: "
			     "functions as [rare code], threads that had ended as [ended]%s",
			     s->condensed, s->condensed == 1 ? "" : "s",
			     s->prompt ? "" : "; --memory may allow more");
}

void closing_add_losses(const struct session *s, struct closing *c)
{
	add_lost(s, c);
	add_unwind_memory(c);
	add_absent(c);
	add_put_off(c);
	add_crowded(c);
	add_other(c);
	add_newer(c);
	add_condensed(s, c);
}
