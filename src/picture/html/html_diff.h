/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a page that compares two recordings has beside their samples. The samples of both are in one
 * profile: a label tells to which side a sample belongs, and functions that are the same on both
 * sides are one function.
 */
#ifndef PICTURE_HTML_HTML_DIFF_H
#define PICTURE_HTML_HTML_DIFF_H

#include <stdio.h>
#include "profile/profile.h"

/* The label whose values are the two sides of a comparison. */
#define HTML_DIFF_LABEL	 "diff"
#define HTML_DIFF_BEFORE "before"
#define HTML_DIFF_AFTER	 "after"

/* Bits that say which values of a function have changed by more than noise between the sides. */
enum {
	HTML_DIFF_SELF = 1,
	HTML_DIFF_SELF_SHARE = 2,
	HTML_DIFF_TOTAL = 4,
	HTML_DIFF_TOTAL_SHARE = 8,
};

/* What a page that compares two recordings needs beyond the profile. All pointers are borrowed. */
struct html_diff {
	const char *name[2]; /* names of the two sides: files, or values of a label */
	/*
	 * for the reader: .verdict: sentences that tell the result; .sum: sentences that tell the
	 * sums
	 */
	const char *verdict, *sum;
	/* the name of what .counts counts; NULL: .counts isn't set, or is wall time */
	const char *per;
	/*
	 * if above 0: a number for each side by which its first value is divided, so that the two
	 * sides can be compared
	 */
	double counts[2];
	int64_t duration_ns[2]; /* duration of each side; 0: not known */
	bool timed;		/* the noise was estimated from blocks of time */
	const uint8_t *changed; /* HTML_DIFF_* bits, by location id of the page's profile */
	/* both recordings, if the page embeds them instead of its own profile */
	struct profile *recording[2];
	/*
	 * .file: for each side, by location id of the page's profile, the file of the location's
	 * function on that side. "": several files; NULL: the function isn't on that side. .file[i]
	 * itself may be NULL: the side's files are those of the page's profile. .source: for each
	 * side, the source text in the page from which the recording was read. If it is NULL or "",
	 * render_options.open_source is called with .source_arg.
	 */
	const char *const *file[2];
	const char *source[2];
	void *source_arg[2];
};

struct html;

/* Writes the member ,"diff":{...} of the page's header. 0 or -ENOMEM. */
_must_use_ int html_put_diff(struct html *h, FILE *out);

#endif
