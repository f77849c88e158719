/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The budget for asking processes: for reading from their memory, their files or /proc what krait
 * can't know otherwise. The budget begins anew at each collect_flush(), and at each collect_ask().
 * What counts is the CPU time that asking takes, and the time for which a process's memory keeps
 * krait waiting. The time for which krait waits for a CPU says nothing about the process, and isn't
 * counted.
 */
#ifndef COLLECT_BUDGET_ASKED_H
#define COLLECT_BUDGET_ASKED_H

#include <stdbool.h>
#include <stdint.h>

struct collect;

/*
 * May processes still be asked? False: the budget is spent. At the next collect_flush() or
 * collect_ask() the budget begins anew.
 */
bool asked_may(const struct collect *c);
/*
 * asked_begin() is called before the work, asked_end() after it. asked_end() charges the time that
 * has passed since asked_begin().
 */
uint64_t asked_begin(void);
void asked_end(struct collect *c, uint64_t began_ns);

#endif
