/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells how much memory krait's own process may take. */
#ifndef PROC_MACHINE_MEMORY_H
#define PROC_MACHINE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct str;

/*
 * How many bytes krait may take: the least of the machine's memory, RLIMIT_AS and the limits of the
 * cgroups that krait is in.
 */
uint64_t memory_allowed(void);

/*
 * The smallest memory limit, in bytes, of the cgroup @path ("/a/b") and of the cgroups around it,
 * in cgroup v2's tree or in v1's tree "memory". @root: the directory where these trees are,
 * "/sys/fs/cgroup". UINT64_MAX: no limit.
 */
uint64_t memory_of_cgroup(const char *root, const char *path);

/*
 * Appends the path in the line of /proc/PID/cgroup (@text) that lists @controller; the line of
 * cgroup v2 lists "". False: there is no such line.
 */
bool memory_cgroup_path(const char *text, const char *controller, struct str *ret);

#endif
