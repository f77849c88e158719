/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile's tables, for the files of src/profile only; everybody else uses profile.h. */
#ifndef PROFILE_TABLES_H
#define PROFILE_TABLES_H

#include "base/intern.h"
#include "profile/profile.h"

/* A stack is a path in a tree: nodes with a parent, root frame first. */
struct profile_node {
	uint32_t parent, location; /* ids; .parent 0 = this is the root frame */
};

struct profile_tables {
	struct intern strings, mappings, functions, locations, labels;
	/* struct profile_node; a parent's id is less than those of its children */
	struct intern nodes;
	struct intern stacks; /* id of the node where the stack ends, 0 = the empty stack */
};

const struct profile_tables *profile_tables(const struct profile *p);

struct samplelog;
const struct samplelog *profile_log(const struct profile *p);

#endif
