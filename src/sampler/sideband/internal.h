/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the side band (perf's reports of what processes do) share. */
#ifndef SAMPLER_SIDEBAND_INTERNAL_H
#define SAMPLER_SIDEBAND_INTERNAL_H

#include "base/vec.h"
#include "sampler/perf_ring.h"
#include "sampler/sideband/lives.h"
#include "sampler/sideband/sideband.h"

struct channel {
	int cpu, fd;
	struct perf_ring ring;
};

struct sideband {
	VEC(struct channel) cpus;
	struct sideband_config config;
	struct sideband_stats stats;
	/* which processes have ended, according to the records that sideband_drain() reads now */
	struct lives lives;
	int epfd;
	bool was_empty; /* the last sideband_drain() found no record */
	/*
	 * The event that wakes krait for one watched thread. The thread's records are in the rings
	 * of the CPUs as well. .fd -1: no thread is watched.
	 */
	struct channel watched;
};

/*
 * The parts of a side-band record: the header, .n bytes of content, and the time, which is at its
 * end.
 */
struct record {
	const struct perf_event_header *h;
	const uint8_t *body;
	size_t n;
	uint64_t time_ns;
};

/* records.c: takes a record apart. False: the record is too short. */
bool sideband_split(const struct perf_event_header *h, struct record *ret);
/*
 * Is @r a record of process @tgid itself, and not only of one of its threads? A record that reports
 * lost records counts as a record of every process.
 */
bool sideband_is_of(const struct record *r, uint32_t tgid);
/* Calls the function of sideband_ops for record @r. False: the record is malformed. */
bool sideband_dispatch(struct sideband *s, const struct record *r);
/* Notes in .lives what a record says about a process's beginning or end. */
void sideband_note_life(struct sideband *s, const struct record *r, uint64_t now_ns);
/*
 * Returns the size of an MMAP2 record with a path of PATH_MAX bytes (kernel/events/core.c,
 * perf_event_mmap_event()).
 */
size_t sideband_longest(void);

#endif
