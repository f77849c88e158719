/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which processes have ended, from the records of the side band (perf's reports of what
 * processes do) that are read at one time. Only certain ends are reported: if a process existed
 * before the first of these records, krait doesn't know whether its first thread was also the last
 * to end.
 */
#ifndef SAMPLER_SIDEBAND_LIVES_H
#define SAMPLER_SIDEBAND_LIVES_H

#include "base/map.h"
#include "base/util.h"

struct lives {
	struct map of; /* what is known of each process, by its tgid */
	/* a record that would show that a process goes on couldn't be kept for lack of memory */
	bool unsure;
};

/* Forgets all records. To be called before sideband_drain() reads new records. */
void lives_clear(struct lives *l);
void lives_fini(struct lives *l);

/* These three functions are called for the records, in any order. */
/* a fork or an exec has begun the process, which has one thread at that moment */
void lives_began(struct lives *l, uint32_t tgid);
void lives_thread(struct lives *l, uint32_t tgid); /* the process has started one more thread */
/* the first thread of the process has ended */
void lives_ended(struct lives *l, uint32_t tgid, uint64_t time_ns);

/* Has the process that had number @tgid at @time_ns certainly ended? */
bool lives_gone(const struct lives *l, uint32_t tgid, uint64_t time_ns);

#endif
