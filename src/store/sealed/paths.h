/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the nodes of a block's tree among the nodes of blocks that were read earlier, because
 * blocks of one service have mostly the same paths. Both trees are in preorder, so they are merged
 * like sorted lists. That is much faster than a look-up in the profile for each node. The known
 * paths are only a cache: a node that isn't among them is looked up in the profile.
 */
#ifndef STORE_SEALED_PATHS_H
#define STORE_SEALED_PATHS_H

#include "base/vec.h"

/* A node of a tree, given by its place in the path from the root. */
struct path {
	/*
	 * .depth: how many nodes the path from the root has; .location: number of its last node's
	 * location, in the epoch (the time for which names keep their numbers)
	 */
	uint32_t depth, location;
	uint32_t id; /* the node's id in the profile */
};

/* Paths whose nodes' ids in the profile are known. A zero-initialised struct has no paths. */
struct paths {
	/*
	 * .known: the paths of earlier blocks, in preorder; .merged: .known merged with the paths
	 * of the block that is read now, as far as this block was read
	 */
	VEC(struct path) known, merged;
	size_t at; /* how many elements of .known were put into .merged so far */
};

void paths_fini(struct paths *p);

/*
 * Finds the next node of a block. The caller must ask for all nodes of the block in preorder, and
 * all locations must have numbers of the same epoch (the time for which names keep their numbers).
 * Returns a pointer to the node's id in the profile, valid until the next call. If the id is 0, the
 * node isn't known, and the caller sets the id. NULL: out of memory.
 */
uint32_t *paths_find(struct paths *p, uint32_t depth, uint32_t location);

/*
 * To be called at the end of a block, of which @n nodes were asked for. Returns 0 or -ENOMEM +
 * message.
 */
_must_use_ int paths_end(struct paths *p, size_t n);

#endif
