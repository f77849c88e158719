/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two profiles side by side: what each function costs in both, and which differences are more than
 * noise. Consecutive samples are alike, so noise is estimated from blocks of time, not from
 * samples. Blocks of the same time are swapped between the two profiles at random, many times. Each
 * time, the largest difference among all functions is noted; these largest differences are the
 * yardstick for every function (max-T), at a level of 3 % for all functions together.
 * docs/decisions/0013 has the reasons.
 */
#ifndef VIEW_COMPARE_DIFF_H
#define VIEW_COMPARE_DIFF_H

#include "view/costs/costs.h"

enum diff_side { DIFF_A, DIFF_B, DIFF_SIDES };
enum diff_what { DIFF_SELF, DIFF_TOTAL, DIFF_WHATS };

struct diff_cost {
	double value[DIFF_SIDES];	   /* the cost on each side, divided by diff.per */
	double share[DIFF_SIDES];	   /* the cost as a part, 0 to 1, of the side's sum */
	bool value_changed, share_changed; /* value or share has changed by more than noise */
	/*
	 * The verdict. If .work_known, it is about the cost. Else it is about the share, which may
	 * also fall because another function became more expensive.
	 */
	bool changed;
	/*
	 * If .work_known: the function became more expensive (1) or cheaper (-1) compared with most
	 * other functions, by more than noise. .apart may be set without .changed: the machine's
	 * speed may have changed the cost in the other direction.
	 */
	int apart;
	/*
	 * The share differs by more than chance explains, but counts as unchanged, because the
	 * function ran in too few stretches of time to judge it.
	 */
	bool doubtful;
};

struct diff_row {
	/* name of the function, with its module: "json.decoder.decode" */
	const char *name;
	/* for each side: id of a location of the function; 0: that side doesn't have it */
	uint32_t location[DIFF_SIDES];
	struct diff_cost of[DIFF_WHATS];
	bool own; /* the function is of the user's own code */
	/* native or kernel code that Python calls: its cost is part of the caller's own cost */
	bool below;
	/*
	 * Name of a function that this row's function calls, if the change of the called function
	 * explains the change of this row's total. NULL: there is none.
	 */
	const char *passes_on;
};

struct diff {
	struct profile *p[DIFF_SIDES]; /* the two profiles that are compared, borrowed */
	/* index of the compared value type, which is the same on both sides */
	unsigned value[DIFF_SIDES];
	/* Set by the caller before diff_make(): what each side's values are divided by, > 0. */
	double per[DIFF_SIDES];
	/* .per is an amount of work: a number of runs, or of what the user counted */
	bool work_known;
	double runs[DIFF_SIDES]; /* how many whole runs each side consists of; 0: not known */
	bool per_time;		 /* .per is a wall time */
	bool by_share;		 /* values aren't divided: .value is the share */
	bool waits; /* the value counts waits, which differ in length; set by the caller */
	bool timed; /* false: a profile has no times, so its samples are taken as independent */
	/* number of blocks of time in a side, and of functions with enough samples */
	size_t blocks, checked;
	double all[DIFF_SIDES]; /* the sum of all values on each side, divided by .per */
	/* If .work_known: the factor by which the costs of most functions changed. */
	double speed;
	/* share of the garbage collector on each side, 0 to 1: costs_is_gc() */
	double gc[DIFF_SIDES];
	struct costs costs[DIFF_SIDES];
	/*
	 * Functions whose self cost changed, largest change first; then functions whose total
	 * changed, own code first; then functions whose changes may be noise.
	 */
	VEC(struct diff_row)
	rows;
};

/* Compares the two profiles. 0 or -errno + message. Call diff_fini() in any case. */
_must_use_ int diff_make(struct diff *d);
void diff_fini(struct diff *d);

/* Returns the value or share of side B less that of side A. */
double diff_change(const struct diff_cost *c);
double diff_share_change(const struct diff_cost *c);

/*
 * The change on which .changed is based: the change of the cost if .work_known, else the change of
 * the share.
 */
double diff_effect(const struct diff *d, const struct diff_cost *c);

/* Finds .passes_on of the rows, which must be sorted. 0 or -errno + message. */
_must_use_ int diff_find_passing(struct diff *d);

#endif
