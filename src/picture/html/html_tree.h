/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call tree of a whole recording as the page gets it, twice: by function (a box), and by spot (a
 * line and expression of a function) below it, because lines are shown on demand and must follow every
 * filter. Nodes are numbered so that a parent comes before its children.
 */
#ifndef PICTURE_HTML_HTML_TREE_H
#define PICTURE_HTML_HTML_TREE_H

#include "base/map.h"
#include "base/vec.h"
#include "view/shape/functions.h"

/* Sorted by function, line, column, end: a function's spots are neighbours. */
struct html_spot {
	uint32_t function; /* key */
	int32_t line, column, end_line, end_column;
};

/* A function under one caller; preorder, siblings by key. [0] is the root, key unused. */
struct html_box {
	uint32_t parent, key, depth;
	uint32_t first, n; /* its nodes */
};

/* A spot under one caller's spot. [0] is the root's. */
struct html_node {
	uint32_t parent, spot;
};

struct html_tree {
	struct profile *p;
	VEC(struct html_spot) spots;
	VEC(uint32_t) first_spot; /* of each function; one more at the end */
	VEC(struct html_box) boxes;
	VEC(struct html_node) nodes;
	uint32_t *node_of_stack; /* by stack id; stack 0: none */
	int64_t *self;		 /* of node i: n_values at i * n_values; samples that end there */
	unsigned n_values;
};

/* 0 or -ENOMEM + message; fini takes what build left. */
_must_use_ int html_tree_build(struct html_tree *t, struct profile *p, const struct functions *fs);
void html_tree_fini(struct html_tree *t);

#endif
