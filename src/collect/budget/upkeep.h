/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Upkeep: what is done again and again for a known process on the main thread (which also reads the
 * kernel programs' records), such as reading its mappings and its threads' names when they may have
 * changed. Each process has a budget of CPU time for this, and all processes together have a second
 * budget. Work beyond a budget is done later and counted, and the first process whose work was put
 * off is named.
 */
#ifndef COLLECT_BUDGET_UPKEEP_H
#define COLLECT_BUDGET_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

struct collect;
struct process;

/*
 * May upkeep of @p be done now? If not, counts that it was put off: once for each upkeep, however
 * often this function is called before it is done.
 */
bool upkeep_may(struct collect *c, struct process *p, uint64_t now_ns);
/* Returns from when on (CLOCK_MONOTONIC) upkeep may be done. */
uint64_t upkeep_due_ns(const struct collect *c, const struct process *p);

/*
 * upkeep_begin() is called before the work, upkeep_end() after it. upkeep_begin() returns the CPU
 * time of this thread and of the children that read for it; upkeep_end() charges the difference to
 * @p, and returns it.
 */
uint64_t upkeep_begin(void);
uint64_t upkeep_end(struct collect *c, struct process *p, uint64_t began_ns);

#endif
