/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether the program that records waits is loaded (bpf/events/switch.bpf.h), and reads the
 * waits that the recording's end cuts short.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "sampler/internal.h"
#include "waiters.h"
#include "sample.skel.h"

int waits_source(const struct sampler *s)
{
	for (unsigned i = 0; i < s->config.n_sources; i++)
		if (s->config.sources[i].event.source == &source_wait)
			return (int)i;
	return -1;
}

/* The index of the event whose samples are of CPU time; ABI_MAX_SOURCES: there is none. */
static uint8_t cpu_source(const struct sampler *s)
{
	unsigned i = 0;

	while (i < s->config.n_sources && !s->config.sources[i].event.source->clock)
		i++;
	return i < s->config.n_sources ? (uint8_t)i : ABI_MAX_SOURCES;
}

void waits_prepare(struct sampler *s)
{
	int source = waits_source(s);

	/* To verify a program that walks stacks takes most of krait's start. */
	bpf_program__set_autoload(s->skel->progs.on_switch, source >= 0);
	bpf_program__set_autoload(s->skel->progs.on_sample, source < 0 || s->config.n_sources > 1);
	if (source >= 0) {
		s->skel->rodata->wait_source = (uint8_t)source;
		s->skel->rodata->own_tgid = (uint32_t)getpid();
		s->skel->rodata->counts_gil = true;
		s->skel->rodata->blame_source = cpu_source(s);
		return;
	}
	bpf_map__set_max_entries(s->skel->maps.waits, 1);
	bpf_map__set_max_entries(s->skel->maps.gils, 1);
}

/* How long the thread was ready to run and had no CPU, by /proc; 0 if that can't be read. */
static uint64_t run_delay(const struct proc_key *proc, uint32_t tid)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long ns;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", proc->tgid, tid);
	f = fopen(path, "re");
	return f && fscanf(f, "%*u %llu", &ns) == 1 ? ns : 0;
}

/*
 * For how long of its last wait the thread was ready to run. /proc is read some time after the
 * recording's end. A thread that still waited at the end may have become ready since then, so that
 * much time is subtracted. After a thread has ended, its number may belong to another.
 */
static uint64_t ready_ns(const struct sampler *s, const struct wait_entry *e)
{
	uint64_t delay = run_delay(&e->wait.sample.proc, e->wait.sample.tid);
	uint64_t since_end = clock_ns(CLOCK_MONOTONIC) - s->ended_ns;
	uint64_t ns = delay - MIN(delay, e->delay_ns);

	return e->phase == WAIT_WAITS ? ns - MIN(ns, since_end) : ns;
}

/*
 * How much of the thread's waiting isn't in any sample's weight yet: the sum of .owed_ns (struct
 * wait_site).
 */
static uint64_t owed_of(const struct wait_entry *e)
{
	uint64_t owed = 0;

	for (unsigned i = 0; i < WAIT_SITES; i++)
		owed += e->sites[i].owed_ns;
	return owed;
}

static bool waits_for_gil(const struct wait_entry *e)
{
	return e->away == AWAY_WAITS || e->away == AWAY_UNCOUNTED;
}

/* How long others have waited since the thread left its CPU with the GIL. */
static uint64_t blame_since(const struct sampler *s, const struct wait_entry *e)
{
	struct gil_key key = {.wait = e->gil, .tgid = e->wait.sample.proc.tgid};
	uint64_t value, sum;

	if (e->away != AWAY_HOLDS ||
	    bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.gils), &key, &value))
		return 0;
	sum = gil_value(value, clock_ns(CLOCK_MONOTONIC)).sum_ns;
	return sum - MIN(sum, e->others_ns);
}

/*
 * Adds the thread's times with the GIL (how long it waited, how long others waited for it) that no
 * record has yet.
 */
static void add_gil(const struct sampler *s, struct wait_entry *e)
{
	struct rec_wait *wait = &e->wait;
	uint64_t ns = e->phase == WAIT_IS_OVER ? e->gil_ns : 0;

	if (e->phase == WAIT_WAITS && waits_for_gil(e))
		ns = e->over_ns - MIN(wait->since_ns, e->over_ns);
	wait->gil_ns = ns + e->gil_owed_ns;
	wait->sample.blame_ns = e->phase == WAIT_IS_OVER ? e->held_ns : blame_since(s, e);
	if (wait->sample.gil == GIL_HELD)
		wait->sample.blame_ns += e->blame_ns;
}

static void hand_on(struct sampler *s, struct wait_entry *e)
{
	struct rec_wait *wait = &e->wait;
	uint64_t ready = ready_ns(s, e), ns;

	if (e->phase == WAIT_RUNS)
		e->over_ns = wait->since_ns = s->ended_ns;
	if (e->phase == WAIT_WAITS) {
		e->over_ns = s->ended_ns;
		wait->flags |= WAIT_OPEN;
	}
	add_gil(s, e);
	ns = e->over_ns - MIN(wait->since_ns, e->over_ns);
	ns -= MIN(ns, ready);
	wait->sample.time_ns = e->over_ns;
	wait->sample.weight = ns + owed_of(e);
	if ((wait->sample.weight || wait->gil_ns) && wait->sample.type == REC_WAIT)
		s->config.record(s->config.ctx, wait, sizeof(*wait));
}

/*
 * If an entry is deleted meanwhile, the kernel may start over, so the number of reads is limited.
 */
bool waits_next(const struct sampler *s, uint32_t *key, unsigned *n, struct wait_entry *e)
{
	unsigned most = 2 * bpf_map__max_entries(s->skel->maps.waits);
	int fd = bpf_map__fd(s->skel->maps.waits);

	while (*n < most && !bpf_map_get_next_key(fd, *n ? key : NULL, key)) {
		++*n;
		if (!bpf_map_lookup_elem(fd, key, e))
			return true;
	}
	return false;
}

void waits_read_open(struct sampler *s)
{
	struct wait_entry e;
	unsigned n = 0;
	uint32_t key;

	if (s->waits_read || waits_source(s) < 0)
		return;
	s->waits_read = true;
	while (waits_next(s, &key, &n, &e))
		if (!blocked_is_doubted(s, key, &e))
			hand_on(s, &e);
}

void sampler_waiting_stacks(struct sampler *s, void (*keep)(void *ctx, uint64_t stack), void *ctx)
{
	struct wait_entry e;
	unsigned n = 0;
	uint32_t key;

	if (waits_source(s) < 0)
		return;
	while (waits_next(s, &key, &n, &e))
		if (e.wait.sample.stack)
			keep(ctx, e.wait.sample.stack);
}
