/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Child processes that recorded processes wait for: which they are, and what they are called. The
 * children needn't be recorded themselves.
 */
#ifndef COLLECT_NAMED_H
#define COLLECT_NAMED_H

#include <stdint.h>

struct collect;

/*
 * Notes that process @tgid has the name @comm since its execve(). The name is needed if a recorded
 * process waits for process @tgid.
 */
void collect_named(struct collect *c, uint32_t tgid, const char *comm);

/*
 * Returns the child process for which a thread waits in system call @call with the arguments
 * @arg[2]; 0: the thread waits for any child, or for no child. @flags: WAIT_* (records.h).
 */
uint32_t collect_child_of(int32_t call, const uint64_t *arg, uint8_t flags);

#endif
