/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells how much memory krait's own process may take. */
#ifndef PROC_MACHINE_MEMORY_H
#define PROC_MACHINE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct str;

/*
 * Returns how many bytes of memory krait may take: the least of the machine's memory, RLIMIT_AS and
 * the limits of the cgroups that krait is in.
 */
uint64_t memory_allowed(void);

/*
 * Returns the smallest memory limit, in bytes, of the cgroup @path ("/a/b") and of all cgroups
 * around it, in cgroup v2's tree or in v1's tree "memory". @root: the directory that has these
 * trees, "/sys/fs/cgroup". UINT64_MAX: there is no limit.
 */
uint64_t memory_of_cgroup(const char *root, const char *path);

/*
 * Appends the path in that line of /proc/PID/cgroup (@text) that lists @controller, which is "" for
 * the line of cgroup v2. False: there is no such line.
 */
bool memory_cgroup_path(const char *text, const char *controller, struct str *ret);

#endif
