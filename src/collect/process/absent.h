/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a process that wasn't resident when the kernel program wanted it (struct rec_absent). A
 * thread reads it once from user space, so that it is resident for the next samples. A process
 * whose memory is paged out again and again has a budget. A read that hangs delays no other
 * process.
 */
#ifndef COLLECT_ABSENT_H
#define COLLECT_ABSENT_H

#include "base/util.h"
#include "records.h"

struct collect;
struct absent;

/* What reading absent memory of a process has cost in the current minute. */
struct absent_spent {
	uint64_t since_ns, took_ns;
	size_t pages;
	uint64_t asked_ns;
	bool asked;   /* a read of the process's memory has been under way since .asked_ns */
	bool refused; /* a read was refused at least once; stats.absent.processes has counted it */
};

void absent_met(struct collect *c, const struct rec_absent *rec);

/* Takes back the jobs that are done. Called at each flush and when a record comes. */
void absent_take(struct collect *c);

/* False: a read hangs; its thread was left behind (worker_abandon()). */
_must_use_ bool absent_fini(struct collect *c);

#endif
