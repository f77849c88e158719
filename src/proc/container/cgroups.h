/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Control groups as directories: where their hierarchies are mounted, and which numbers the kernel
 * has for them.
 */
#ifndef PROC_CONTAINER_CGROUPS_H
#define PROC_CONTAINER_CGROUPS_H

#include "base/text/str.h"
#include "records.h"

/*
 * Appends the directory where that hierarchy is mounted whose path cgroup_path() takes from the
 * same @text, in the mounts that are seen at @root.
 */
void cgroup_mount(const char *root, const char *text, size_t n, struct str *ret);

/*
 * Is @text, of /proc/PID/cgroup, that of the processes in @group (struct proc_place)? False also if
 * that can't be found out, because krait doesn't see a hierarchy.
 */
bool cgroups_are(const char *text, const __u64 group[static ABI_GROUPS]);

#endif
