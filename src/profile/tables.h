/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a profile. Only files of src/profile include this; all other code uses profile.h.
 */
#ifndef PROFILE_TABLES_H
#define PROFILE_TABLES_H

#include "base/intern.h"
#include "profile/profile.h"

/* A node of the tree in which stacks are paths, outermost frame first. */
struct profile_node {
	/* id of the parent node (0: this node is an outermost frame), and id of the location */
	uint32_t parent, location;
};

struct profile_tables {
	struct intern strings, mappings, functions, locations, labels;
	/*
	 * nodes of the tree of stacks, struct profile_node; a parent has a lower id than its
	 * children
	 */
	struct intern nodes;
	/*
	 * ids of the nodes where a stack ends; 0: the empty stack; .stack_at of the profile finds a
	 * stack by its node
	 */
	struct intern stacks;
};

const struct profile_tables *profile_tables(const struct profile *p);

struct samplelog;
const struct samplelog *profile_log(const struct profile *p);

#endif
