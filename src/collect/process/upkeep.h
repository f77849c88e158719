/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is done again and again for a process that is known already, on the thread that drains: its mappings and its
 * threads' names are read when they may have changed. Who changes them all the time has a budget of CPU time, and so have
 * all together: what is over it is done later, counted, and the first one is named.
 */
#ifndef COLLECT_UPKEEP_H
#define COLLECT_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

struct collect;
struct process;

/* May it be done now? If not, it is counted as put off, once until it is done. */
bool upkeep_may(struct collect *c, struct process *p, uint64_t now_ns);
/* From when on it may; CLOCK_MONOTONIC. */
uint64_t upkeep_due_ns(const struct collect *c, const struct process *p);

/* Around the work: CPU time of the thread, and of the children that read for it. */
uint64_t upkeep_begin(void);
void upkeep_end(struct collect *c, struct process *p, uint64_t began_ns);

#endif
