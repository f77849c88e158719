/* SPDX-License-Identifier: BSD-2-Clause */
/* The members of a profile, for the files of src/profile that set or read them. */
#ifndef PROFILE_INTERNAL_H
#define PROFILE_INTERNAL_H

#include "base/text/str.h"
#include "profile/profile.h"
#include "profile/samplelog.h"
#include "profile/tables.h"

struct profile {
	struct profile_meta meta;
	struct profile_tables t;
	struct samplelog log;
	struct str scratch;
	/* the last two results of profile_get_stack(); each has room for the deepest stack */
	struct known_stack {
		/*
		 * the stack's locations, leaf first, and the nodes of the tree that they belong to
		 */
		uint32_t *v, *nodes;
		size_t n;
		uint32_t id; /* id of the stack; 0: this element isn't used yet */
	} known[2];
	size_t stack_cap;
	unsigned stack_turn;
	/* the nodes of the last stack that profile_stack() made, from the root on; 0: no node */
	uint32_t last_nodes[128];
	/*
	 * by function id - 1: the time that profile_ran_before() stored; functions beyond the end
	 * have 0
	 */
	VEC(uint64_t) ran_before;
	VEC(uint32_t)
	stack_at; /* by id of a node (0: the root): the stack that ends there; 0: none */
	bool failed;
};

#endif
