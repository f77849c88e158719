/* SPDX-License-Identifier: BSD-2-Clause */
/* krait doctor: what on this machine lets krait work and what doesn't, each with its remedy. */
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
	struct str text;   /* the finding in one line */
	struct str remedy; /* the command that helps against the finding; empty: none */
};

struct doctor {
	/* the directory under which tests put files in place of the system's; else "" */
	const char *root;
	struct rights rights;
	VEC(struct finding) findings;
	bool failed; /* memory ran out, so a finding is missing */
};

void doctor_fini(struct doctor *d);

/* Runs all checks. Changes nothing on the machine. */
void doctor_examine(struct doctor *d);

/* Tells whether krait can record here: no check failed. */
bool doctor_usable(const struct doctor *d);

/*
 * Prints the findings to @out. @problems_only: leaves out what is fine (after a failed recording).
 */
void doctor_print(FILE *out, const struct doctor *d, bool problems_only, bool colored);

/*
 * Runs doctor_examine() and prints its problems on stderr. For recordings that failed because of
 * rights or the kernel.
 */
void doctor_explain(enum color_mode color);

#endif
