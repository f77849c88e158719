/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Root frames: frames outside of a stack that say to which process or label value the stack
 * belongs. The first root frame is the process, if samples of several processes are shown.
 * Processes with equal names share a root frame, unless the user gives --by process. The second
 * root frame is the value of the label that --by names.
 */
#ifndef VIEW_SHAPE_ROOTS_H
#define VIEW_SHAPE_ROOTS_H

#include "profile/profile.h"
#include "view/names/rank.h"

struct roots {
	unsigned depth;	    /* how many root frames each sample has: 0 to 2 */
	size_t n_processes; /* how many processes are shown; 0: the profile doesn't say */
	char *process;	    /* name of the process if all processes have the same name, else NULL */
	/*
	 * ranks of the texts of root frames: text i * depth + d is that of root frame d of label
	 * set i, the outermost first
	 */
	struct rank texts;
};

/*
 * Makes the root frames. @sums: the sums of the samples that are shown. @by: "process", "thread", a
 * label's key, or NULL. Returns 0 or -errno + message; -EINVAL if no sample has the label @by.
 */
_must_use_ int roots_init(struct roots *roots, struct profile *p, const struct profile_sum *sums,
			  size_t n, const char *by);
/* Checks @by, before anything is written, and makes nothing. Returns what roots_init() returns. */
_must_use_ int roots_check(const struct profile *p, const struct profile_sum *sums, size_t n,
			   const char *by);
void roots_fini(struct roots *roots);

/*
 * Appends a label set's text for @by (the value of --by): "worker (tid 12)", "tid 12"; nothing if
 * that isn't known.
 */
void roots_by_text(const struct profile *p, uint32_t labels, const char *by, struct str *b);

/*
 * Appends a title for the whole profile: @title unless it is NULL, otherwise the process, or the
 * number of processes.
 */
void roots_title(const struct roots *roots, const char *title, struct str *b);

/*
 * Returns the rank in .texts of root frame @d (below .depth, outermost first) of label set @labels
 * (0: the empty set).
 */
uint32_t roots_rank(const struct roots *roots, uint32_t labels, unsigned d);

#endif
