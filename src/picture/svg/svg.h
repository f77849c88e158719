/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source files that write the SVG picture (svg*.c) share. */
#ifndef PICTURE_SVG_SVG_H
#define PICTURE_SVG_SVG_H

#include "view/shape/functions.h"
#include "view/shape/roots.h"
#include "view/shape/tree.h"

/* Sizes in the static picture, in px. svg_model.js has the same numbers, except the width. */
enum {
	SVG_WIDTH = 1200,
	SVG_MARGIN = 12,
	SVG_ROW = 18,
	SVG_HEADER = 88,
	SVG_FOOTER = 34,
	/*
	 * The most boxes of a picture. More boxes make browsers slow; 20,000 boxes are about 7 MB
	 * of text.
	 */
	SVG_MAX_BOXES = 20000,
	SVG_MAX_DEPTH = 2000,
};
/* Boxes narrower than this aren't drawn. In a picture with many boxes the limit is higher. */
#define SVG_MIN_PX 0.1

struct svg_box {
	/* indexes of the box's node in svg.tree.nodes, and of its function in svg.functions */
	uint32_t node, function;
	/* where the box begins: the sum of the values of all boxes to its left */
	int64_t start;
};

struct svg {
	struct profile *p;
	const struct render_options *opt;
	unsigned value; /* index of the value type that is shown */
	struct functions named;
	struct roots roots;
	struct tree tree;
	VEC(struct function) functions; /* the sampled functions, in order of their first use */
	/* the boxes: parents before their children, and children from left to right */
	VEC(struct svg_box) boxes;
	uint32_t depth;	    /* number of rows of boxes in the picture */
	uint32_t not_drawn; /* number of boxes that weren't drawn */
	/*
	 * .not_drawn_value: the value of the boxes that weren't drawn; .threshold: boxes with a
	 * smaller value aren't drawn
	 */
	int64_t not_drawn_value, threshold;
	/*
	 * .all: the sum of the shown value over all stacks; .counted: that of the first value type.
	 */
	int64_t all, counted;
	/*
	 * .less: the sum of the values below 0, without its sign; it isn't drawn. .shares_of: the
	 * value that counts as 100 %.
	 */
	int64_t less, shares_of;
};

/* Computes tree, boxes and functions of a picture. 0 or -errno + message. */
_must_use_ int svg_layout(struct svg *s);
void svg_fini(struct svg *s);

/*
 * Returns the name of the first value type, such as "samples", if it counts what the shown value
 * stands for. Returns "" if it counts something else, as in profiles whose stacks have only a time.
 */
const char *svg_counted(const struct svg *s);
/*
 * Appends "5 samples" or "1 sample". Returns false, and appends nothing, if svg_counted() returns
 * "".
 */
bool svg_add_count(const struct svg *s, int64_t n, struct str *b);
/*
 * Appends a value with its unit as XML text. The unit comes from the profile and may be any text.
 */
void svg_add_value(const struct svg *s, int64_t value, struct str *b);

/*
 * Write the parts of the file. The functions are declared in the order of the parts. svg_put_data()
 * returns 0 or -ENOMEM (no message).
 */
void svg_put_description(const struct svg *s, struct str *b);
void svg_put_header(const struct svg *s, struct str *b);
void svg_put_box(const struct svg *s, const struct svg_box *box, struct str *b);
void svg_put_footer(const struct svg *s, struct str *b);
_must_use_ int svg_put_data(const struct svg *s, FILE *out);

#endif
