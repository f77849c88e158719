/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The callers or the callees of one row of a table, as a tree that grows with each interval. The
 * tree page and the flame page show it.
 */
#ifndef LIVE_CALLTREE_H
#define LIVE_CALLTREE_H

#include "live/live.h"

/* the most nodes that a tree may have; that many take 30 MiB */
#define CALLTREE_MAX_NODES (1u << 19)

struct calltree_node {
	uint64_t key;
	/*
	 * index of the parent node, and id of the node's location; both are 0 for the root, which
	 * is node 0
	 */
	uint32_t parent, location;
	/* index of the first child; index of the next sibling; 0: there is none */
	uint32_t first, next;
	uint32_t tick; /* the number of the interval that is counted in .last */
	uint16_t depth;
	/*
	 * .last: value in interval .tick; .since: value since krait top began. Both include the
	 * values of all nodes below this one.
	 */
	int64_t last, since;
};

struct calltree {
	struct live *live;
	/* what each node of the tree stands for: a function, a line or a module */
	enum live_table table;
	/*
	 * true: the tree has the whole stacks of a thread or process. They begin with the outermost
	 * frame or, with .callers, with the innermost frame.
	 */
	bool everything;
	uint64_t key; /* key of the row that the tree is of; unused if .everything */
	struct live_only only;
	bool callers;
	VEC(struct calltree_node) nodes;
	/* hash of parent and key -> index of the child's node; no entry or 0: there is no child */
	struct map children;
	uint32_t tick; /* the value of .live->tick at the end of the interval that was added last */
	/* how often a part of a stack was left out because there was no room for more nodes */
	uint64_t no_room;
};

/*
 * Builds the tree from all samples so far. The caller has set those members of @t that stand before
 * .nodes: they say whose tree it is. 0 or -ENOMEM + message.
 */
_must_use_ int calltree_build(struct calltree *t);
void calltree_fini(struct calltree *t);

/* Adds the samples of the last interval. Call it after each live_tick(). 0 or -ENOMEM + message. */
_must_use_ int calltree_tick(struct calltree *t);

int64_t calltree_last(const struct calltree *t, uint32_t node);

/*
 * Empties @ret and puts the children of @node into it. The child with the largest value since the
 * start comes first. With @by_key, children are ordered by the nodes' keys, so that their order
 * never changes. 0 or -ENOMEM + message.
 */
typedef VEC(uint32_t) calltree_list;
_must_use_ int calltree_children(const struct calltree *t, uint32_t node, bool by_key,
				 calltree_list *ret);

#endif
