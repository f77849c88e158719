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
 * Appends the directory below @root where a hierarchy of control groups is mounted: the hierarchy
 * whose path cgroup_path() takes from the same @text.
 */
void cgroup_mount(const char *root, const char *text, size_t n, struct str *ret);

/*
 * Tells whether @text, the contents of a /proc/PID/cgroup, names the control groups @group (struct
 * proc_place). False also if krait doesn't see one of the hierarchies, and so can't find out.
 */
bool cgroups_are(const char *text, const __u64 group[static ABI_GROUPS]);

#endif
