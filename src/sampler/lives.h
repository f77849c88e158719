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
	struct map of; /* by process */
	bool unsure;   /* memory failed for a record that speaks against an end */
};

/* Begins with new records. */
void lives_clear(struct lives *l);
void lives_fini(struct lives *l);

/* Called for each record, in any order. */
void lives_began(struct lives *l, uint32_t tgid);  /* a fork or an exec began it, with one thread */
void lives_thread(struct lives *l, uint32_t tgid); /* it started one more thread */
void lives_ended(struct lives *l, uint32_t tgid, uint64_t time_ns); /* its first thread ended */

/* Has the image ended that process @tgid had at @time_ns? False: not certain. */
bool lives_gone(const struct lives *l, uint32_t tgid, uint64_t time_ns);

#endif
