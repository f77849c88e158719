/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a process's memory if it wasn't resident when the kernel program wanted to read it (struct
 * rec_absent). A thread reads it once from user space, so that it is resident for the next samples.
 * What these reads may cost is limited, because memory may be paged out again and again. A read
 * that hangs delays no other process.
 */
#ifndef COLLECT_BUDGET_ABSENT_H
#define COLLECT_BUDGET_ABSENT_H

#include "base/util.h"
#include "records.h"

struct collect;
struct absent;

void absent_met(struct collect *c, const struct rec_absent *rec);

/*
 * Takes the results of the jobs that have ended. Called in each collect_flush(), and when a struct
 * rec_absent comes.
 */
void absent_take(struct collect *c);

/*
 * Frees the state of absent.c. Returns false if a read hangs: the thread that reads is left behind
 * (worker_abandon()).
 */
_must_use_ bool absent_fini(struct collect *c);

#endif
