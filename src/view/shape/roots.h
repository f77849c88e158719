/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Root frames: what is put above a stack to tell whose it is. The process, when several are shown
 * (equal names merge unless --by process asks for each), then what --by names.
 */
#ifndef VIEW_SHAPE_ROOTS_H
#define VIEW_SHAPE_ROOTS_H

#include "profile/profile.h"
#include "view/names/rank.h"

struct roots {
	unsigned depth;	    /* root frames of every sample: 0 to 2 */
	size_t n_processes; /* shown; 0 = the profile doesn't say */
	char *process;	    /* name of the process if all have the same one, else NULL */
	struct rank texts;  /* input i * depth + d: root frame d of label set i, outermost first */
};

/*
 * @sums: the samples shown. @by: "process", "thread", a label's key, or NULL. 0 or -errno +
 * message; -EINVAL if no sample has that label.
 */
_must_use_ int roots_init(struct roots *roots, struct profile *p, const struct profile_sum *sums,
			  size_t n, const char *by);
/* The same refusal alone, before anything is written. */
_must_use_ int roots_check(const struct profile *p, const struct profile_sum *sums, size_t n,
			   const char *by);
void roots_fini(struct roots *roots);

/* Appends what --by names of a label set: "worker (tid 12)", "tid 12"; nothing if it isn't known. */
void roots_by_text(const struct profile *p, uint32_t labels, const char *by, struct str *b);

/* What the whole is called: @title if it isn't NULL, the process, how many there are. */
void roots_title(const struct roots *roots, const char *title, struct str *b);

/* Rank in .texts of root frame @d (below .depth, outermost first) of a label set (0 = none). */
uint32_t roots_rank(const struct roots *roots, uint32_t labels, unsigned d);

#endif
