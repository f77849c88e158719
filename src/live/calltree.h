/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The callers or callees of one row, as a tree that grows with each interval. The tree page and the
 * flame page show it.
 */
#ifndef LIVE_CALLTREE_H
#define LIVE_CALLTREE_H

#include "live/live.h"

#define CALLTREE_MAX_NODES (1u << 19) /* the most nodes of a tree, which take 30 MiB */

struct calltree_node {
	uint64_t key;
	/*
	 * index of the parent node (node 0 is the root), and id of the location; both are 0 for the
	 * root
	 */
	uint32_t parent, location;
	uint32_t first, next; /* indexes of the first child and of the next sibling; 0: none */
	uint32_t tick;	      /* number of the interval that .last counts */
	uint16_t depth;
	/*
	 * .last: value in the interval .tick; .since: value since the start. Both include all nodes
	 * below this one.
	 */
	int64_t last, since;
};

struct calltree {
	struct live *live;
	/* what one node of the tree stands for: a function, a line or a module */
	enum live_table table;
	/*
	 * the tree has the whole stacks of a thread or process. They begin with the thread's
	 * outermost frame or, with .callers, with the innermost frame.
	 */
	bool everything;
	uint64_t key; /* key of the row that the tree is of; unused if .everything */
	struct live_only only;
	bool callers;
	VEC(struct calltree_node) nodes;
	struct map children; /* hash of parent and key -> index of the child's node; 0: none */
	uint32_t tick;	     /* the tick of .live whose interval was added last */
	/* how often the path of a stack was cut short because there was no room */
	uint64_t no_room;
};

/*
 * Builds the tree from the samples so far. The caller has set the fields of @t before .nodes, which
 * say whose tree it is. 0 or -ENOMEM + message.
 */
_must_use_ int calltree_build(struct calltree *t);
void calltree_fini(struct calltree *t);

/* Adds the last interval; to be called after each tick. 0 or -ENOMEM + message. */
_must_use_ int calltree_tick(struct calltree *t);

int64_t calltree_last(const struct calltree *t, uint32_t node);

/*
 * Puts the children of @node into @ret, which is emptied first. Those with the largest value since
 * the start come first. With @by_key the order is that of the nodes' keys, which doesn't change. 0
 * or -ENOMEM + message.
 */
typedef VEC(uint32_t) calltree_list;
_must_use_ int calltree_children(const struct calltree *t, uint32_t node, bool by_key,
				 calltree_list *ret);

#endif
