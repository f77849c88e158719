/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two profiles side by side: what each function costs in both, and which differences are more than
 * noise. Samples that follow each other are alike, so noise is what blocks of time tell: those of the
 * same time are swapped between the two at random, again and again, and the largest of all functions'
 * differences that comes about so is the yardstick for each of them (max-T), at 3 % for everything
 * together;
 * docs/decisions/0013.
 */
#ifndef VIEW_DIFF_H
#define VIEW_DIFF_H

#include "view/costs.h"

enum diff_side { DIFF_A, DIFF_B, DIFF_SIDES };
enum diff_what { DIFF_SELF, DIFF_TOTAL, DIFF_WHATS };

struct diff_cost {
	double value[DIFF_SIDES];	   /* of the measure: value / per */
	double share[DIFF_SIDES];	   /* of the side's sum, 0 to 1 */
	bool value_changed, share_changed; /* by more than noise */
	/*
	 * The verdict. Where the work is known it is of the cost: that the share of all fell because
	 * another function got dearer is no change of this one. Where it isn't, of the share.
	 */
	bool changed;
	/*
	 * Where the work is known, by more than noise beside what most functions did alike: 1 dearer, -1 cheaper. Also
	 * where the machine's speed moved the cost itself the other way, so that it isn't .changed.
	 */
	int apart;
	/*
	 * Neither, though the share differs by far more than that of single samples and runs does: it
	 * is of too few stretches of time to tell.
	 */
	bool doubtful;
};

struct diff_row {
	const char *name;	       /* dotted */
	uint32_t location[DIFF_SIDES]; /* 0: not there */
	struct diff_cost of[DIFF_WHATS];
	bool own;   /* code of the user's */
	bool below; /* native or kernel code that Python called: what it costs is a caller's own */
	const char *
		passes_on; /* its total changed by what this function's did, which it called; or NULL */
};

struct diff {
	struct profile *p[DIFF_SIDES]; /* borrowed */
	unsigned value[DIFF_SIDES];    /* index of the same value type */
	/* Set by the caller before diff_make(): by what each side's values are divided, > 0. */
	double per[DIFF_SIDES];
	bool work_known; /* .per is how much work was done: runs, or what the user counted */
	double runs[DIFF_SIDES]; /* whole runs merged in a side, where that is known; 0 else */
	bool per_time;		 /* .per is wall time */
	bool by_share;		 /* there is nothing to divide by: .value is the share */
	bool timed; /* false: a profile has no times, so samples were taken for independent */
	size_t blocks, checked; /* blocks of time in a side; functions with enough samples */
	double all[DIFF_SIDES]; /* of the measure */
	double speed; /* by what all functions' costs were multiplied alike, where the work is known */
	double gc[DIFF_SIDES]; /* the garbage collector's share, 0 to 1: costs_is_gc() */
	struct costs costs[DIFF_SIDES];
	VEC(struct diff_row)
	rows; /* changes of self, largest first; then of totals, own code before; then what may be noise */
};

/* 0 or -errno + message; fini in any case. */
_must_use_ int diff_make(struct diff *d);
void diff_fini(struct diff *d);

/* B's minus A's value or share. */
double diff_change(const struct diff_cost *c);
double diff_share_change(const struct diff_cost *c);

/* By what the verdict is: the change of the cost or, where the work isn't known, of the share. */
double diff_effect(const struct diff *d, const struct diff_cost *c);

/* Finds .passes_on of the rows, which are in order. 0 or -errno + message. */
_must_use_ int diff_find_passing(struct diff *d);

#endif
