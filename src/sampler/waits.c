/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that records waits (bpf/events/switch.bpf.h): whether it is loaded, and the waits
 * that recording's end cuts short.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sampler/internal.h"
#include "sample.skel.h"

int waits_source(const struct sampler *s)
{
	for (unsigned i = 0; i < s->config.n_sources; i++)
		if (s->config.sources[i].event.source == &source_wait)
			return (int)i;
	return -1;
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
		return;
	}
	bpf_map__set_max_entries(s->skel->maps.waits, 1);
}

/* How long the thread was ready to run and had no CPU, by /proc; @known if that can't be read. */
static uint64_t run_delay(const struct proc_key *proc, uint32_t tid, uint64_t known)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long ns;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", proc->tgid, tid);
	f = fopen(path, "re");
	return f && fscanf(f, "%*u %llu", &ns) == 1 ? ns : known;
}

/* How much of the thread's waits no weight has yet: the sum of .owed_ns (struct wait_site). */
static uint64_t owed_of(const struct wait_entry *e)
{
	uint64_t owed = 0;

	for (unsigned i = 0; i < WAIT_SITES; i++)
		owed += e->sites[i].owed_ns;
	return owed;
}

static void hand_on(struct sampler *s, struct wait_entry *e)
{
	struct rec_wait *wait = &e->wait;
	uint64_t ready = run_delay(&wait->sample.proc, wait->sample.tid, e->delay_ns) - e->delay_ns;
	uint64_t ns;

	if (e->phase == WAIT_RUNS)
		e->over_ns = wait->since_ns = s->ended_ns;
	if (e->phase == WAIT_WAITS) {
		e->over_ns = s->ended_ns;
		wait->flags |= WAIT_OPEN;
	}
	ns = e->over_ns - MIN(wait->since_ns, e->over_ns);
	ns -= MIN(ns, ready);
	wait->sample.time_ns = e->over_ns;
	wait->sample.weight = ns + owed_of(e);
	if (wait->sample.weight && wait->sample.type == REC_WAIT)
		s->config.record(s->config.ctx, wait, sizeof(*wait));
}

void waits_read_open(struct sampler *s)
{
	int fd = bpf_map__fd(s->skel->maps.waits);
	uint32_t key, *before = NULL;
	struct wait_entry e;

	if (s->waits_read || waits_source(s) < 0)
		return;
	s->waits_read = true;
	while (!bpf_map_get_next_key(fd, before, &key)) {
		if (!bpf_map_lookup_elem(fd, &key, &e))
			hand_on(s, &e);
		before = &key;
	}
}
