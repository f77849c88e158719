/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two profiles side by side: what each function costs in both, and which differences are more than
 * noise. Consecutive samples are alike, so noise is estimated from blocks of time, not from single
 * samples. In many repetitions, blocks of the same time are swapped between the two profiles at
 * random, and the largest difference among all functions is taken. A function's real difference is
 * compared with these largest differences (max-T), such that the chance of a wrong verdict on any
 * function is 3 %. docs/decisions/0013 has the reasons.
 */
#ifndef VIEW_COMPARE_DIFF_H
#define VIEW_COMPARE_DIFF_H

#include "view/costs/costs.h"

enum diff_side { DIFF_A, DIFF_B, DIFF_SIDES };
enum diff_what { DIFF_SELF, DIFF_TOTAL, DIFF_WHATS };

struct diff_cost {
	double value[DIFF_SIDES]; /* the cost on each side, divided by diff.per */
	double share[DIFF_SIDES]; /* the cost as a share, 0 to 1, of the side's sum */
	/* the value, or the share, has changed by more than noise */
	bool value_changed, share_changed;
	/*
	 * The verdict. If .work_known, it is about the cost. Otherwise it is about the share, which
	 * may also fall because another function became more expensive.
	 */
	bool changed;
	/*
	 * If .work_known: the function became more expensive (1) or cheaper (-1) compared with most
	 * other functions, by more than noise. .apart may be set without .changed: the machine's
	 * speed may have changed the cost in the other direction.
	 */
	int apart;
	/*
	 * The share differs by more than chance explains. It counts as unchanged all the same,
	 * because the function ran in too few stretches of time to judge it.
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
	 * Name of a function that this row's function calls, if the change of the callee explains
	 * the change of this row's total. NULL: there is no such function.
	 */
	const char *passes_on;
};

struct diff {
	struct profile *p[DIFF_SIDES]; /* the two profiles that are compared, borrowed */
	/* index of the compared value type, which is the same on both sides */
	unsigned value[DIFF_SIDES];
	/*
	 * What each side's values are divided by, above 0. The caller sets it before diff_make().
	 */
	double per[DIFF_SIDES];
	/* .per is an amount of work: a number of runs, or of things that the user counted */
	bool work_known;
	double runs[DIFF_SIDES]; /* how many whole runs each side consists of; 0: not known */
	bool per_time;		 /* .per is a wall time */
	/* values aren't divided by an amount of work or time: .value is the share */
	bool by_share;
	bool waits; /* the compared value counts waits, which differ in length; set by the caller */
	/* false: one of the profiles has no times, so its samples are taken as independent */
	bool timed;
	/*
	 * .blocks: how many blocks of time each side has; .checked: how many functions have enough
	 * samples
	 */
	size_t blocks, checked;
	double all[DIFF_SIDES]; /* the sum of all values on each side, divided by .per */
	/*
	 * If .work_known: the factor by which the costs of most functions changed (the machine's
	 * speed).
	 */
	double speed;
	/* share of the garbage collector on each side, 0 to 1 (costs_is_gc()) */
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

/* Returns side B's value or share minus side A's. */
double diff_change(const struct diff_cost *c);
double diff_share_change(const struct diff_cost *c);

/*
 * Returns the change on which .changed is based: that of the cost if .work_known, otherwise that of
 * the share.
 */
double diff_effect(const struct diff *d, const struct diff_cost *c);

/*
 * Sets .passes_on (the callee whose change explains the row's change) in all rows, which must be
 * sorted. 0 or -errno + message.
 */
_must_use_ int diff_find_passing(struct diff *d);

#endif
