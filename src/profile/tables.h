/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a profile. Only files of src/profile include this; all other code uses profile.h.
 */
#ifndef PROFILE_TABLES_H
#define PROFILE_TABLES_H

#include "base/intern.h"
#include "profile/profile.h"

/* A node of the tree that stacks are paths in, outermost frame first. */
struct profile_node {
	/* ids of the parent node (0: the node is an outermost frame) and of the location */
	uint32_t parent, location;
};

struct profile_tables {
	struct intern strings, mappings, functions, locations, labels;
	/*
	 * nodes of the tree of stacks, struct profile_node; a parent has a lower id than its
	 * children
	 */
	struct intern nodes;
	/* ids of nodes where a stack ends; 0: the empty stack; the profile finds them by node */
	struct intern stacks;
};

const struct profile_tables *profile_tables(const struct profile *p);

struct samplelog;
const struct samplelog *profile_log(const struct profile *p);

#endif
