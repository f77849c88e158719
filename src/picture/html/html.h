/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the source files that write the HTML page share. Beside the recording, the page has three
 * blocks of data: a header, which is a line of JSON; the call tree; and the samples. If the page is
 * large or grouped, the header's block also has the preview: the widest boxes. Each block is base64
 * of gzip data, except that the header's block isn't compressed in a large page. ui/data/data.js
 * reads the blocks. Numbers are LEB128; signed numbers are zigzag encoded.
 */
#ifndef PICTURE_HTML_HTML_H
#define PICTURE_HTML_HTML_H

#include "picture/html/html_tree.h"
#include "view/shape/roots.h"

/* A box of the preview, which draws the widest boxes of the first picture that the page shows. */
struct html_wide {
	/*
	 * The function's key. For a group of samples: the number of functions, plus the id of a
	 * label set that a sample of the group has.
	 */
	uint32_t key;
	uint32_t depth;
	int64_t total[2]; /* value of the box on each side of a comparison */
};

struct html {
	struct profile *p;
	const struct render_options *opt;
	struct functions functions;
	struct html_tree tree;
	struct roots roots;
	struct str title;
	unsigned value; /* index of the value type that is shown first */
	unsigned sides; /* 2 if two recordings are compared, else 1 */
	bool large;	/* the page takes long to read, so it gets a preview */
	bool grouped;	/* the first picture has a row of groups below its root */
	bool timed;	/* samples have times */
	bool *used;	/* by id of a label set: true if a sample has this label set */
	int64_t totals[PROFILE_MAX_VALUES];
	/* the sum of the values below 0, without its sign; the page doesn't draw it */
	int64_t less[PROFILE_MAX_VALUES];
	/* boxes of the preview in preorder, the root first; empty: there is no preview */
	VEC(struct html_wide) preview;
};

/*
 * A page with more than HTML_PREVIEW boxes gets a preview of HTML_PREVIEW boxes. A comparison with
 * more than HTML_MANY_SAMPLES samples gets a preview too.
 */
#define HTML_PREVIEW	  20000
#define HTML_MANY_SAMPLES 200000

/*
 * Makes .preview if the page is large or grouped, because the page can sum up the boxes of groups
 * only after it has read all samples. @sums: the sums of the profile's samples. 0 or -ENOMEM +
 * message.
 */
_must_use_ int html_preview(struct html *h, const struct profile_sum *sums, size_t n_sums);

/*
 * Writes the preview: the root's values, then the other boxes in preorder. Each box: how many
 * levels to go up from the preceding box; its key; its values. The values are of the type that is
 * shown first, one for each side.
 */
void html_put_preview(const struct html *h, FILE *out);

/*
 * Returns the value of type @v that a sample usually has; 0: there is no usual value. Multiplied by
 * the number of samples it is a sum's usual value, and the page then only stores how much a sum
 * differs from that.
 */
int64_t html_usual(const struct html *h, unsigned v);

/*
 * Writes the header, a line of JSON: names, functions, spots (places in functions, see
 * html_tree.h), label sets, and what the recording says of itself. 0 or -ENOMEM.
 */
_must_use_ int html_put_header(struct html *h, FILE *out);

/*
 * Writes the boxes in preorder. Each box:
 * - how many levels to go up from the preceding box, times two, plus one if the box has several
 *   nodes;
 * - its key;
 * - the number of its nodes, if there are several;
 * - its nodes. Each node: which of the parent box's nodes it is below, if that box has several; its
 *   spot, counted from the function's first, if the function has several; values. Values: the first
 *   value times two, plus one if other values differ from their usual ones. In that case these
 *   differences follow.
 */
void html_put_tree(const struct html *h, FILE *out);

/*
 * Writes the samples. Each sample:
 * - its node and its label set, as differences to those of the preceding sample;
 * - its time in units of html_time_unit(), plus 1, as a difference to that of the preceding sample;
 *   a sample without a time has 0;
 * - its values, as in html_put_tree(). 0 or -errno + message.
 */
_must_use_ int html_put_samples(const struct html *h, FILE *out);
int64_t html_time_unit(const struct html *h);

#endif
