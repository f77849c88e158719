/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the control groups that the kernel kept from running because their quota of CPU time was
 * used up.
 */
#ifndef PROC_MACHINE_THROTTLED_H
#define PROC_MACHINE_THROTTLED_H

#include <stdint.h>

#include "base/util.h"
#include "base/vec.h"

struct throttled {
	char *path; /* path of the control group, such as "/a/b", as in /proc/PID/cgroup */
	/* for how long the group has been throttled since it was made, on all CPUs together */
	uint64_t ns;
};
typedef VEC(struct throttled) throttled_vec;

/*
 * Lists the groups that were ever throttled, in the tree of cgroup v2 or in v1's tree "cpu". @root:
 * the directory where these trees are, "/sys/fs/cgroup". At most THROTTLED_GROUPS groups are looked
 * at. Groups that can't be read are left out.
 */
#define THROTTLED_GROUPS 2048
void throttled_list(const char *root, throttled_vec *ret);
void throttled_fini(throttled_vec *v);

/*
 * Reduces @now to the groups that were throttled after @before was read; their .ns becomes the time
 * for which they were throttled since then.
 */
void throttled_since(throttled_vec *now, const throttled_vec *before);

/* Is the group @path the group @in, or within it? */
bool throttled_holds(const char *in, const char *path);

#endif
