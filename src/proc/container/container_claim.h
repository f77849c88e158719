/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a process really in the container that its cgroup's path names, or does somebody only claim
 * that it is? The owner of a cgroup's directory can make more cgroups in it, with any name: systemd
 * lets users do so (user@1000.service), and a container may do so within itself.
 */
#ifndef PROC_CONTAINER_CONTAINER_CLAIM_H
#define PROC_CONTAINER_CONTAINER_CLAIM_H

#include <sys/types.h>
#include "base/text/str.h"

/*
 * Returns how many bytes of the cgroup path @path, which cgroup_path() has taken from the @len
 * bytes of @text, can be believed. The believed part ends before the first name whose directory
 * belongs neither to root nor to krait's own user, is writable for other users, or can't be
 * examined. Directories that krait's own mounts lack are looked for in the mounts of process 1,
 * because krait may be in a pod that sees the host's processes. In the mounts of process 1, ".." at
 * the path's beginning can be followed; in krait's own mounts the believed part ends before "..".
 * Sets *@owner to the owner of the directory that was examined last; (uid_t)-1: not known.
 */
size_t container_believed(const char *text, size_t len, const char *path, uid_t *owner);

/*
 * Can the mounts that process @procdir sees be believed, because only root or krait's own user can
 * have made them? True if the process is in krait's user namespace.
 */
bool container_mounts_believed(int procdir);

#endif
