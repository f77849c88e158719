/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes have ended, by the side band's records of one drain. Only certain ends are
 * reported: if a process existed before the first of these records, it isn't known whether its
 * first thread was also the last one to end.
 */
#ifndef SAMPLER_SIDEBAND_LIVES_H
#define SAMPLER_SIDEBAND_LIVES_H

#include "base/map.h"
#include "base/util.h"

struct lives {
	struct map of; /* what is known of each process, by its tgid */
	bool unsure;   /* memory was lacking for a record that would show that a process goes on */
};

/* Forgets all records. To be called before the records of a new drain come. */
void lives_clear(struct lives *l);
void lives_fini(struct lives *l);

/* The three functions below are called for each record, in any order. */
/* a fork or an exec has begun the process, which has one thread at that moment */
void lives_began(struct lives *l, uint32_t tgid);
void lives_thread(struct lives *l, uint32_t tgid); /* the process has started one more thread */
/* the first thread of the process has ended */
void lives_ended(struct lives *l, uint32_t tgid, uint64_t time_ns);

/* Tells whether the image that process @tgid had at @time_ns has certainly ended. */
bool lives_gone(const struct lives *l, uint32_t tgid, uint64_t time_ns);

#endif
