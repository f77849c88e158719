/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a process that wasn't resident when the kernel program wanted it (struct rec_absent).
 * A thread reads it once from user space, so that the next samples find it. A process whose
 * memory goes again and again has a budget. A read that doesn't return keeps nobody else waiting.
 */
#ifndef COLLECT_ABSENT_H
#define COLLECT_ABSENT_H

#include "base/util.h"
#include "records.h"

struct collect;
struct absent;

/* Of a process: what was spent for it in the current minute. */
struct absent_spent {
	uint64_t since_ns, took_ns;
	size_t pages;
	uint64_t asked_ns;
	bool asked;   /* a read is under way, since then */
	bool refused; /* the budget was spent once; counted */
};

void absent_met(struct collect *c, const struct rec_absent *rec);

/* After each drain: takes back what has been read. */
void absent_take(struct collect *c);

/* False: a read doesn't come back (worker_abandon()). */
_must_use_ bool absent_fini(struct collect *c);

#endif
