/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which packages were installed together with a package that a process runs. */
#ifndef COLLECT_CODE_TOGETHER_H
#define COLLECT_CODE_TOGETHER_H

#include "base/util.h"

struct collect;
struct process;
struct py_code;

/* Makes the state of together.c. False: out of memory. */
_must_use_ bool together_init(struct collect *c);
void together_fini(struct collect *c);

/* Notes that a code object of process @p has come, and was added to .codes. */
void together_met(struct collect *c, struct process *p, const struct py_code *code);
/* Called in each collect_flush(): looks for packages that were noted, as long as asked_may(). */
void together_look(struct collect *c);

#endif
