/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of processes that needn't be targets. */
#ifndef COLLECT_NAMED_H
#define COLLECT_NAMED_H

#include <stdint.h>

struct collect;

/* Process @tgid is called @comm since its execve(): a target may wait for it. */
void collect_named(struct collect *c, uint32_t tgid, const char *comm);

#endif
