/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the nodes of a block's tree among those of the blocks that were read before it. Blocks of
 * one service have mostly the same paths. Both trees are in preorder, so they are merged like
 * sorted lists, which is much faster than a look-up in the profile for each node. It is only
 * a cache: the profile is asked for nodes that it lacks.
 */
#ifndef STORE_SEALED_PATHS_H
#define STORE_SEALED_PATHS_H

#include "base/vec.h"

/* A node of a tree, which is a path from the root. */
struct path {
	/* .depth: how many nodes the path has; .location: its last node's, numbered in the epoch */
	uint32_t depth, location;
	uint32_t id; /* the node's id in the profile */
};

/* A zero-initialised one knows no paths. */
struct paths {
	/*
	 * .known: the paths of earlier blocks, in preorder; .merged: these and the paths of the
	 * block that is read now, as far as they were merged
	 */
	VEC(struct path) known, merged;
	size_t at; /* how many of .known are in .merged */
};

void paths_fini(struct paths *p);

/*
 * Finds the next node of a block. All nodes of the block must be asked for in preorder, and all
 * locations must have the numbers of one epoch of names. Returns a pointer to the id of the node in
 * the profile, valid until the next call; if it is 0, the node isn't known, and the caller sets the
 * id. NULL: out of memory.
 */
uint32_t *paths_find(struct paths *p, uint32_t depth, uint32_t location);

/* Ends a block of which @n nodes were asked for. Returns 0 or -ENOMEM + message. */
_must_use_ int paths_end(struct paths *p, size_t n);

#endif
