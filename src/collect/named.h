/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of processes that needn't be targets. */
#ifndef COLLECT_NAMED_H
#define COLLECT_NAMED_H

#include <stdint.h>

struct collect;

/*
 * Process @tgid has been called @comm since its execve(). The name is needed if a recorded process
 * waits for this one.
 */
void collect_named(struct collect *c, uint32_t tgid, const char *comm);

/*
 * The child that a thread waits for in system call @call with the arguments @arg[2]; 0: any, or
 * none. @flags: WAIT_* (records.h).
 */
uint32_t collect_child_of(int32_t call, const uint64_t *arg, uint8_t flags);

#endif
