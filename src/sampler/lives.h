/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes have ended, by the side band's records of one drain. Only certain ends are told:
 * if a process existed before the first of these records, it isn't known whether its first thread
 * was its last.
 */
#ifndef SAMPLER_LIVES_H
#define SAMPLER_LIVES_H

#include "base/map.h"
#include "base/util.h"

struct lives {
	struct map of; /* what is known of each process, by tgid */
	bool unsure;   /* memory was lacking for a record that shows that a process goes on */
};

/* Forgets all records: those of a new drain follow. */
void lives_clear(struct lives *l);
void lives_fini(struct lives *l);

/* Called for each record, in any order. */
/* a fork or an exec began the process, with one thread */
void lives_began(struct lives *l, uint32_t tgid);
void lives_thread(struct lives *l, uint32_t tgid); /* the process started one more thread */
/* the process's first thread ended */
void lives_ended(struct lives *l, uint32_t tgid, uint64_t time_ns);

/* Has the image that process @tgid had at @time_ns certainly ended? */
bool lives_gone(const struct lives *l, uint32_t tgid, uint64_t time_ns);

#endif
