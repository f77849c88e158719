/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait doctor`: findings about what lets krait work on this machine and what doesn't, and
 * remedies.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include <stdio.h>
#include "base/text/str.h"
#include "base/vec.h"
#include "cli/color.h"
#include "host/rights.h"

enum finding_state { FINDING_OK, FINDING_WARN, FINDING_FAIL };

struct finding {
	const char *name;
	enum finding_state state;
	struct str text;   /* one line that says what was found */
	struct str remedy; /* the command that helps; empty: there is none */
};

struct doctor {
	/*
	 * directory whose files are read in place of the system's files: set by tests, otherwise ""
	 */
	const char *root;
	struct rights rights;
	VEC(struct finding) findings;
	bool failed; /* a finding is missing because there was no memory */
};

void doctor_fini(struct doctor *d);

/* Runs all checks. Changes nothing on the machine. */
void doctor_examine(struct doctor *d);

/* Tells whether krait can record on this machine: no check failed. */
bool doctor_usable(const struct doctor *d);

/*
 * Prints the findings to @out. @problems_only: without those that are fine (used after a failed
 * recording).
 */
void doctor_print(FILE *out, const struct doctor *d, bool problems_only, bool colored);

/*
 * Runs all checks and prints the problems on stderr. For a recording that failed because of rights
 * or the kernel.
 */
void doctor_explain(enum color_mode color);

#endif
