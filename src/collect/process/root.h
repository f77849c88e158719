/* SPDX-License-Identifier: BSD-2-Clause */
/* Root directories that processes have. */
#ifndef COLLECT_PROCESS_ROOT_H
#define COLLECT_PROCESS_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct proc;

/* A root directory that isn't krait's own: a container's. Stays open when the container is gone. */
struct target_root {
	uint64_t mount, ino; /* the mount's number: it isn't used again while .fd is open */
	int fd;
};
typedef VEC(struct target_root) root_vec;

/* Is @fd on the mount of krait's own root directory, which nobody unmounts? */
bool root_has(int fd);

/*
 * A descriptor of the root directory of @proc, kept in @roots. -1: it is krait's own, or there
 * are too many.
 */
int root_of(root_vec *roots, const struct proc *proc);

#endif
