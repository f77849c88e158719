/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory this process may take. */
#ifndef PROC_MEMORY_H
#define PROC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct str;

/* The least in bytes of what the machine has, RLIMIT_AS and the limits of the cgroups that this process is in. */
uint64_t memory_allowed(void);

/*
 * Least limit of the memory of a cgroup with @path ("/a/b"), and of those around it, in a tree of v2, or of v1 where the
 * controller has a tree called "memory". @root: where these are, "/sys/fs/cgroup". UINT64_MAX: none.
 */
uint64_t memory_of_cgroup(const char *root, const char *path);

/*
 * The path in the line of /proc/PID/cgroup (@text) whose controllers have @controller; "": of v2. Appended to @ret; false:
 * there is no such line.
 */
bool memory_cgroup_path(const char *text, const char *controller, struct str *ret);

#endif
