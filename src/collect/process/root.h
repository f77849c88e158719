/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the root directories of processes open. */
#ifndef COLLECT_PROCESS_ROOT_H
#define COLLECT_PROCESS_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct proc;

/*
 * A root directory that isn't krait's own, such as a container's. It stays open when the container
 * is gone.
 */
struct target_root {
	/* .mount: number of the mount, which no other mount gets while .fd is open */
	uint64_t mount, ino;
	int fd;
};
typedef VEC(struct target_root) root_vec;

/* Tells whether @fd is on the mount of krait's own root directory, which nobody unmounts. */
bool root_has(int fd);

/*
 * Returns a descriptor of the root directory of @proc, which @roots owns. -1: the directory is
 * krait's own, can't be opened, or there are too many root directories.
 */
int root_of(root_vec *roots, const struct proc *proc);

#endif
