/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The callers or the callees of one row, as a tree that grows with each interval: what is shown when
 * a row is opened, and the flame view's boxes.
 */
#ifndef LIVE_CALLTREE_H
#define LIVE_CALLTREE_H

#include "live/live.h"

#define CALLTREE_MAX_NODES (1u << 19) /* 30 MiB */

struct calltree_node {
	uint64_t key;
	uint32_t parent, location; /* the root is node 0, its location 0 */
	uint32_t first, next;	   /* child, sibling; 0 = none */
	uint32_t tick;		   /* .last is of that interval */
	uint16_t depth;
	int64_t last, since; /* value with what is below */
};

struct calltree {
	struct live *live;
	enum live_table table; /* what one node is: functions, lines, modules */
	bool everything;       /* whole stacks from the thread's start: of a thread or process */
	uint64_t key;	       /* else: of this row */
	struct live_only only;
	bool callers;
	VEC(struct calltree_node) nodes;
	struct map children; /* hash of parent and key -> node; 0 = none */
	uint32_t tick;	     /* of live that is in it */
	uint64_t no_room;    /* samples whose path was cut short */
};

/* Begins with what there is; the first fields say of what. 0 or -ENOMEM + message. */
_must_use_ int calltree_build(struct calltree *t);
void calltree_fini(struct calltree *t);

/* After a tick: adds the last interval. 0 or -ENOMEM + message. */
_must_use_ int calltree_tick(struct calltree *t);

int64_t calltree_last(const struct calltree *t, uint32_t node);

/*
 * The children of @node, largest since the start first, into @ret, which is emptied; with @by_key in
 * an order that doesn't change. 0 or -ENOMEM + message.
 */
typedef VEC(uint32_t) calltree_list;
_must_use_ int calltree_children(const struct calltree *t, uint32_t node, bool by_key,
				 calltree_list *ret);

#endif
