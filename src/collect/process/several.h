/* SPDX-License-Identifier: BSD-2-Clause */
/* Knows the processes that have several interpreters; see several.c. */
#ifndef COLLECT_PROCESS_SEVERAL_H
#define COLLECT_PROCESS_SEVERAL_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

struct collect;
struct process;

/*
 * When krait examines a process again because one of its interpreters isn't initialised yet: at
 * .due_ns (CLOCK_MONOTONIC), and then after another .apart_ns. .apart_ns 0: the process isn't
 * examined again.
 */
struct later_look {
	uint64_t due_ns, apart_ns;
};

/* Do both lists have the same interpreters? NULL stands for a process with only one interpreter. */
bool several_same(const struct proc_several *a, const struct proc_several *b);

/*
 * Notes that @p has the interpreters @all. If there is more than one, the kernel programs use them
 * from the next .set_proc() on. Returns 0 or -errno + message. After an error only the first
 * interpreter is shown.
 */
_must_use_ int several_set(struct collect *c, struct process *p, const struct proc_several *all);
void several_forget(struct collect *c, struct process *p);

/* Does the Python version of at least one interpreter of @p have this capability? */
bool several_has(const struct collect *c, const struct process *p, enum py_capability can);

/* Makes krait examine @p again later, when more of its interpreters may be initialised. */
void several_wait(struct process *p);
/*
 * Decides whether and when @p is examined again; to be called after each examination. @waits: not
 * all of its interpreters are initialised. @idle: none of them is initialised.
 */
void several_looked(struct process *p, bool waits, bool idle);
bool several_is_due(const struct process *p, uint64_t now);

#endif
