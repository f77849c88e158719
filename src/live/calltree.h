/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The callers or callees of one row, as a tree that grows with each interval. An opened row and the
 * flame graph show it.
 */
#ifndef LIVE_CALLTREE_H
#define LIVE_CALLTREE_H

#include "live/live.h"

#define CALLTREE_MAX_NODES (1u << 19) /* the most nodes of a tree: 30 MiB */

struct calltree_node {
	uint64_t key;
	uint32_t parent, location; /* node 0 is the root; its .location is 0 */
	uint32_t first, next;	   /* first child, next sibling; 0: none */
	uint32_t tick;		   /* the number of the interval that .last counts */
	uint16_t depth;
	/* value in interval .tick, and since the start; both with all nodes below */
	int64_t last, since;
};

struct calltree {
	struct live *live;
	enum live_table table; /* what one node is: a function, a line or a module */
	/* the tree has whole stacks of a thread or process, from the thread's start */
	bool everything;
	uint64_t key; /* if not .everything: the row that the tree is of */
	struct live_only only;
	bool callers;
	VEC(struct calltree_node) nodes;
	struct map children; /* hash of parent and key -> index of the node; 0 = none */
	uint32_t tick;	     /* the tick of .live that was added last */
	uint64_t no_room;    /* how many samples' paths were cut short for lack of room */
};

/*
 * Builds the tree from the samples so far. The first fields of @t say of what. 0 or -ENOMEM +
 * message.
 */
_must_use_ int calltree_build(struct calltree *t);
void calltree_fini(struct calltree *t);

/* Adds the last interval; to be called after each tick. 0 or -ENOMEM + message. */
_must_use_ int calltree_tick(struct calltree *t);

int64_t calltree_last(const struct calltree *t, uint32_t node);

/*
 * Puts the children of @node into @ret, which is emptied first: the largest since the start first,
 * or with @by_key in an order that doesn't change. 0 or -ENOMEM + message.
 */
typedef VEC(uint32_t) calltree_list;
_must_use_ int calltree_children(const struct calltree *t, uint32_t node, bool by_key,
				 calltree_list *ret);

#endif
