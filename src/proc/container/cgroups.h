/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Control groups as directories: where the hierarchies are mounted, and by which numbers the kernel
 * knows the groups.
 */
#ifndef PROC_CONTAINER_CGROUPS_H
#define PROC_CONTAINER_CGROUPS_H

#include "base/text/str.h"
#include "records.h"

/*
 * Appends the directory below @root where a hierarchy of control groups is mounted: the one whose
 * path cgroup_path() finds in the same @text.
 */
void cgroup_mount(const char *root, const char *text, size_t n, struct str *ret);

/*
 * Tells whether @text, the contents of a /proc/PID/cgroup, names the control groups with the
 * numbers @group (struct proc_place). False also if krait can't find out, because it doesn't see
 * one of the hierarchies.
 */
bool cgroups_are(const char *text, const __u64 group[static ABI_GROUPS]);

#endif
