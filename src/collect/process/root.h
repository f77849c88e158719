/* SPDX-License-Identifier: BSD-2-Clause */
/* Root directories of processes. */
#ifndef COLLECT_PROCESS_ROOT_H
#define COLLECT_PROCESS_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct proc;

/*
 * A root directory that isn't krait's own, as of a container. It stays open when the container is
 * gone.
 */
struct target_root {
	uint64_t mount, ino; /* .mount: the mount's number, which isn't reused while .fd is open */
	int fd;
};
typedef VEC(struct target_root) root_vec;

/* Is @fd on the mount of krait's own root directory? Nobody unmounts that one. */
bool root_has(int fd);

/*
 * A descriptor of the root directory of @proc; @roots owns it. -1: the directory is krait's own,
 * can't be opened, or there are too many.
 */
int root_of(root_vec *roots, const struct proc *proc);

#endif
