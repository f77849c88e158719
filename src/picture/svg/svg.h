/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside of the picture writer (svg*.c), and reading the recording back out of a picture. */
#ifndef PICTURE_SVG_SVG_H
#define PICTURE_SVG_SVG_H

#include "view/shape/functions.h"
#include "view/shape/roots.h"
#include "view/shape/tree.h"

/* Geometry of the static picture, in px; svg_model.js has them too, with its own width. */
enum {
	SVG_WIDTH = 1200,
	SVG_MARGIN = 12,
	SVG_ROW = 18,
	SVG_HEADER = 88,
	SVG_FOOTER = 34,
	SVG_MAX_BOXES = 20000, /* more make browsers slow: about 7 MB of elements */
	SVG_MAX_DEPTH = 2000,
};
/* Boxes narrower than this aren't drawn; many boxes raise it. */
#define SVG_MIN_PX 0.1

struct svg_box {
	uint32_t node, function; /* index into tree.nodes, functions */
	int64_t start;		 /* in value units from the left */
};

struct svg {
	struct profile *p;
	const struct render_options *opt;
	unsigned value; /* index */
	struct functions named;
	struct roots roots;
	struct tree tree;
	VEC(struct function) functions;	    /* used ones, in order of first use */
	VEC(struct svg_box) boxes;	    /* parents first, left to right */
	uint32_t depth;			    /* rows */
	uint32_t not_drawn;		    /* boxes */
	int64_t not_drawn_value, threshold; /* their share; smaller ones weren't drawn */
	int64_t all, counted;		    /* of all stacks, of the value and of what is counted */
	int64_t less,
		shares_of; /* of .all what is below 0, above it: not drawn; what percentages are of */
};

/* Tree, boxes and functions of a picture. 0 or -errno + message. */
_must_use_ int svg_layout(struct svg *s);
void svg_fini(struct svg *s);

/* What the first value type counts: "samples"; "" if that is no count, as of profiles whose stacks have a time only. */
const char *svg_counted(const struct svg *s);
/* "5 samples", "1 sample"; false and nothing if nothing is counted. */
bool svg_add_count(const struct svg *s, int64_t n, struct str *b);
/* A value with its unit, which a profile may call as it likes, as XML text. */
void svg_add_value(const struct svg *s, int64_t value, struct str *b);

/* The parts of the file, in its order. svg_put_data(): 0 or -ENOMEM (no message). */
void svg_put_description(const struct svg *s, struct str *b);
void svg_put_header(const struct svg *s, struct str *b);
void svg_put_box(const struct svg *s, const struct svg_box *box, struct str *b);
void svg_put_footer(const struct svg *s, struct str *b);
_must_use_ int svg_put_data(const struct svg *s, FILE *out);

#endif
