/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A page of two recordings side by side: the samples of both are one profile, in which a label tells
 * the side, and which has what is said of the same function in one place. The page gets what else
 * it takes to compare them.
 */
#ifndef PICTURE_HTML_HTML_DIFF_H
#define PICTURE_HTML_HTML_DIFF_H

#include <stdio.h>
#include "profile/profile.h"

/* The label and its values. */
#define HTML_DIFF_LABEL	 "diff"
#define HTML_DIFF_BEFORE "before"
#define HTML_DIFF_AFTER	 "after"

/* What is more than noise in a function. */
enum {
	HTML_DIFF_SELF = 1,
	HTML_DIFF_SELF_SHARE = 2,
	HTML_DIFF_TOTAL = 4,
	HTML_DIFF_TOTAL_SHARE = 8,
};

/* All borrowed. */
struct html_diff {
	const char *name[2];	   /* of the sides: files, or labels */
	const char *verdict, *sum; /* sentences for the reader */
	const char *per;	   /* what .counts are of; NULL: nothing, or wall time */
	double counts[2];	/* > 0: what the value shown first is divided by, to be compared */
	int64_t duration_ns[2]; /* 0: not known */
	bool timed;		/* noise was told by blocks of time */
	const uint8_t *changed; /* HTML_DIFF_*, by location id of the page's profile */
	struct profile *recording[2]; /* embedded, instead of the page's profile */
	/*
	 * Files that a function's lines are of on either side, by location id of the page's profile; ""
	 * where there are several, NULL where it isn't on that side; NULL: as the page's profile says. Their
	 * text: as in the page that the recording was in; NULL or "": render_options.open_source is asked,
	 * with the side's argument.
	 */
	const char *const *file[2];
	const char *source[2];
	void *source_arg[2];
};

struct html;

/* ,"diff":{...} of the header. 0 or -ENOMEM. */
_must_use_ int html_put_diff(struct html *h, FILE *out);

#endif
