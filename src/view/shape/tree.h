/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges samples into a call tree, for pictures and folded text. Frames with the same key become
 * one node; a key may stand for a frame's text, for a function, or for anything that fits in 32
 * bits. Only memory bounds the depth, because no function here is recursive.
 */
#ifndef VIEW_SHAPE_TREE_H
#define VIEW_SHAPE_TREE_H

#include "base/intern.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "view/shape/roots.h"

struct tree_node {
	/* parent node, key and depth; the root is node 0 with depth 0 and key 0 */
	uint32_t parent, key, depth;
	uint32_t first, n_children; /* the children are tree.order[first .. first + n_children) */
	/*
	 * sums of the chosen value: .value over all samples whose stack contains the node, .self
	 * over all samples whose stack ends at the node
	 */
	int64_t value, self;
	int64_t samples;
};

/* The part of a node's value that was spent in a line, or in code that the line called. */
struct tree_line {
	uint32_t node;
	int32_t line; /* line of the node; 0: not known */
	int64_t value;
};

struct tree {
	VEC(struct tree_node) nodes; /* all nodes; parents come before their children */
	/* lines by node, then by value, the largest first; set only on request */
	VEC(struct tree_line) lines;
	uint32_t *order;
	struct intern children,
		/*
		 * children: from (parent, key) to the index of the node; lines_at: from (node,
		 * line) to 1 + index of the line
		 */
		lines_at;
};

/* Says how to build a tree. All pointers are borrowed. */
struct tree_plan {
	struct profile *p;
	const struct profile_sum *sums;
	size_t n_sums;
	const struct roots *roots; /* root frames; the keys of their nodes are TREE_ROOT | rank */
	/* by location id: the key of the location's node, below TREE_ROOT */
	const uint32_t *key_of_location;
	/* key of the node for samples that have neither frames nor root frames */
	uint32_t no_frames;
	unsigned value; /* index of the value type that is summed */
	bool lines;
	bool drawn; /* the nodes will be drawn as boxes, which can't show values below 0 */
	/*
	 * The order of siblings; a result below 0 means that @a comes first. Different keys must
	 * not compare as equal.
	 */
	int (*compare)(const void *arg, const struct tree_node *a, const struct tree_node *b);
	const void *arg;
};
#define TREE_ROOT 0x80000000u

/*
 * Builds the tree of @plan. Leaves out stacks whose value is 0 and, with .drawn, stacks whose value
 * is below 0. Returns 0 or -ENOMEM + message.
 */
_must_use_ int tree_build(struct tree *t, const struct tree_plan *plan);
void tree_fini(struct tree *t);

/*
 * Returns the index of the first value type that is called @name, which is TYPE or TYPE/UNIT;
 * -EINVAL + a message that lists the types.
 */
_must_use_ int tree_value(struct profile *p, const char *name);

#endif
