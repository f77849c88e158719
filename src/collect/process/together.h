/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packages came with a package that a process runs. */
#ifndef COLLECT_PROCESS_TOGETHER_H
#define COLLECT_PROCESS_TOGETHER_H

#include "base/util.h"

struct collect;
struct process;
struct py_code;

/* False: out of memory. */
_must_use_ bool together_init(struct collect *c);
void together_fini(struct collect *c);

/* Code of a process was met, and .codes has it. */
void together_met(struct collect *c, struct process *p, const struct py_code *code);
/* With each flush: looks for what was met, as long as ASKED_NS allows. */
void together_look(struct collect *c);

#endif
