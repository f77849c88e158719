/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the page's writer. The page gets three blocks beside the recording, each in base64 and, but
 * for the first one where there is much to read, gzip (ui/data.js reads them): a header line of JSON, with the widest
 * boxes if there is much to read, or groups; the call tree; and the samples. Numbers are LEB128, signed ones zigzag.
 */
#ifndef PICTURE_HTML_HTML_H
#define PICTURE_HTML_HTML_H

#include "picture/html/html_tree.h"
#include "view/shape/roots.h"

/* A box of the picture that is seen first. */
struct html_wide {
	uint32_t key; /* of a group: the number of functions, plus one of its label sets */
	uint32_t depth;
	int64_t total[2]; /* by side */
};

struct html {
	struct profile *p;
	const struct render_options *opt;
	struct functions functions;
	struct html_tree tree;
	struct roots roots;
	struct str title;
	unsigned value; /* index of the type that is shown first */
	unsigned sides; /* 2 where two recordings are compared, else 1 */
	bool large;	/* there is much to read */
	bool grouped;	/* what is seen first has groups below its root */
	bool timed;	/* samples have times */
	bool *used;	/* by label set: a sample has it */
	int64_t totals[PROFILE_MAX_VALUES];
	int64_t less[PROFILE_MAX_VALUES]; /* of these what is below 0, above it: not drawn */
	VEC(struct html_wide) preview;	  /* preorder, [0] the root; empty: no preview */
};

/* More boxes than this make a preview, and are in none; in a comparison, so do many samples. */
#define HTML_PREVIEW	  20000
#define HTML_MANY_SAMPLES 200000

/*
 * Finds what the preview has, which is made of much to read, and of groups: their boxes are summed only
 * from the samples. @sums: of the profile. 0 or -ENOMEM + message.
 */
_must_use_ int html_preview(struct html *h, const struct profile_sum *sums, size_t n_sums);

/*
 * The root's values; the other boxes in the preview, in preorder, each: levels to go up; key; values.
 * Values: of the type that is shown first, of each side.
 */
void html_put_preview(const struct html *h, FILE *out);

/* Value units of type @v that a sample usually has, or 0: what is stored is the difference. */
int64_t html_usual(const struct html *h, unsigned v);

/*
 * The header: names, functions, spots, label sets and what the recording says of itself, one line.
 * 0 or -ENOMEM.
 */
_must_use_ int html_put_header(struct html *h, FILE *out);

/*
 * The boxes in preorder, each: levels to go up from the one before, times two, plus one if it has
 * several nodes; key; their number if so; its nodes, each: which of the parent box's nodes it is
 * below, if that has several; spot, counted from the function's first, if it has several; values.
 * Values: the first type's times two, plus one if others differ from usual; the differences if so.
 */
void html_put_tree(const struct html *h, FILE *out);

/*
 * The samples, each: node and label set as differences to the one before; time in units of
 * html_time_unit(), plus 1, 0 for none, as difference too; values as above. 0 or -errno + message.
 */
_must_use_ int html_put_samples(const struct html *h, FILE *out);
int64_t html_time_unit(const struct html *h);

#endif
