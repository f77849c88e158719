/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes have ended, by side band records of one time. Said is only what is certain: of a process that was there
 * before the first of these records it isn't known whether its first thread was its last one.
 */
#ifndef SAMPLER_LIVES_H
#define SAMPLER_LIVES_H

#include "base/map.h"
#include "base/util.h"

struct lives {
	struct map of; /* by process */
	bool unsure;   /* memory was missing for what forbids to say something */
};

/* Another time begins. */
void lives_clear(struct lives *l);
void lives_fini(struct lives *l);

/* In any order. */
void lives_began(struct lives *l, uint32_t tgid);  /* by a fork or an exec: with one thread */
void lives_thread(struct lives *l, uint32_t tgid); /* it started one more */
void lives_ended(struct lives *l, uint32_t tgid, uint64_t time_ns); /* its first thread */

/* Has the image ended that process @tgid had at @time_ns? False: maybe not. */
bool lives_gone(const struct lives *l, uint32_t tgid, uint64_t time_ns);

#endif
