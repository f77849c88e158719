/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a process in the container that its cgroup's path names, or does somebody only say so? Who
 * owns a cgroup's directory makes others in it, with any name: systemd lets users do so
 * (user@1000.service), and a container may within itself.
 */
#ifndef PROC_CONTAINER_CLAIM_H
#define PROC_CONTAINER_CLAIM_H

#include <sys/types.h>
#include "base/str.h"

/*
 * How many bytes of @path are believed, where the hierarchy is at @mount: up to the first name in a
 * directory that belongs neither to root nor to krait's own user, or that can't be looked at.
 * *owner: whose that is, (uid_t)-1: not known.
 */
size_t container_believed(const char *mount, const char *path, uid_t *owner);

/*
 * Where the hierarchy is mounted of which cgroup_path() takes the path from @n bytes of
 * /proc/PID/cgroup.
 */
void container_mount(const char *text, size_t n, struct str *ret);

/*
 * Could only root, or krait's own user, choose what process @procdir has mounted? It is in krait's
 * user namespace.
 */
bool container_mounts_believed(int procdir);

#endif
