/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes with several interpreters; see several.c. */
#ifndef COLLECT_SEVERAL_H
#define COLLECT_SEVERAL_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

struct collect;
struct process;

/*
 * When a process is looked at again because one of its interpreters isn't initialised. .apart_ns
 * 0: it isn't looked at again.
 */
struct later_look {
	uint64_t due_ns, apart_ns;
};

/* NULL: there is one interpreter. */
bool several_same(const struct proc_several *a, const struct proc_several *b);

/*
 * @p has the interpreters @all, if they are more than one. The kernel programs know it from the
 * next .set_proc() on. 0, or -errno + message: then only the first is shown.
 */
_must_use_ int several_set(struct collect *c, struct process *p, const struct proc_several *all);
void several_forget(struct collect *c, struct process *p);

/* Has the version of one of @p's interpreters that capability? */
bool several_has(const struct collect *c, const struct process *p, enum py_capability can);

/* Which of them are initialised shows later. */
void several_wait(struct process *p);
/*
 * @p was examined: decides whether and when it is examined again. @waits: not all of its
 * interpreters are initialised. @idle: none is.
 */
void several_looked(struct process *p, bool waits, bool idle);
bool several_is_due(const struct process *p, uint64_t now);

#endif
