/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call tree of a whole recording, at two levels: boxes and nodes. A box is a function under one
 * caller. A node is a spot (a line and expression of a function) under one spot of the caller. So
 * each box consists of nodes. The page needs nodes because it shows lines on demand, under any
 * filter. Numbers of parents are smaller than those of their children.
 */
#ifndef PICTURE_HTML_HTML_TREE_H
#define PICTURE_HTML_HTML_TREE_H

#include "base/map.h"
#include "base/vec.h"
#include "view/shape/functions.h"

/*
 * A place in a function. Spots are sorted by function, line, column and end, so the spots of one
 * function are neighbours.
 */
struct html_spot {
	uint32_t function; /* number of the function in struct functions */
	int32_t line, column, end_line, end_column;
};

/*
 * A function under one caller. Boxes are in preorder, and children of a box are sorted by key. [0]
 * is the root, whose key isn't used.
 */
struct html_box {
	uint32_t parent, key, depth;
	uint32_t first, n; /* the nodes of the box: html_tree.nodes[first .. first + n) */
};

/* A spot (place in a function) under one spot of the caller. [0] is the root. */
struct html_node {
	uint32_t parent, spot;
};

struct html_tree {
	struct profile *p;
	VEC(struct html_spot) spots;
	/*
	 * by key of a function: index in .spots of the function's first spot; one more entry at the
	 * end has the number of spots
	 */
	VEC(uint32_t) first_spot;
	VEC(struct html_box) boxes;
	VEC(struct html_node) nodes;
	uint32_t *node_of_stack; /* by stack id: index of the node in which the stack ends */
	/*
	 * values of the samples whose stack ends at a node: those of node i begin at i * n_values
	 */
	int64_t *self;
	unsigned n_values;
};

/* Builds the tree of @p. 0 or -ENOMEM + message. Call html_tree_fini() after failure too. */
_must_use_ int html_tree_build(struct html_tree *t, struct profile *p, const struct functions *fs);
void html_tree_fini(struct html_tree *t);

#endif
