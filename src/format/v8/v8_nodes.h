/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes of V8's profiler, in a .cpuprofile and in pieces in a trace: a node is a function that was
 * called by another node. Nodes name their children, which may come before or behind them in a list, or
 * their parent, which comes before.
 */
#ifndef FORMAT_V8_V8_NODES_H
#define FORMAT_V8_V8_NODES_H

#include "base/map.h"
#include "base/vec.h"
#include "format/common/viewer_in.h"

#define V8_NO_NODE UINT32_MAX

struct v8_node {
	uint32_t location; /* 0: the root, which is no function */
	uint32_t parent;   /* index + 1, 0 = none */
	uint32_t stack;	   /* 0 = not yet */
	uint32_t depth;	   /* its frames */
	uint32_t thread;   /* that had it last */
};

/* Found while nodes are read: who a child is known then only by its id. */
struct v8_edge {
	uint32_t parent; /* index */
	int64_t child;	 /* id */
};

struct v8_nodes {
	const char *format; /* messages begin with it */
	struct profile *p;
	size_t budget;
	uint64_t *steps; /* frames that stacks may still have, see VIEWER_STEPS */
	VEC(struct v8_node) list;
	VEC(struct v8_edge) edges;
	struct map at; /* id -> index */
	VEC(uint32_t) leaf_first;
	struct str key, name, url;
	/* Set behind init: of a file that lacks parts of it. What isn't there calls nothing, and is counted. */
	bool partial;
	uint64_t n_orphans;
};

/* All that is given stays the caller's. */
void v8_nodes_init(struct v8_nodes *n, const char *format, struct profile *p, size_t budget,
		   uint64_t *steps);
void v8_nodes_fini(struct v8_nodes *n);

/* A list of nodes, more of them each time. 0 or -errno + message, as all below. */
_must_use_ int v8_nodes_read(struct v8_nodes *n, struct json_in *in);

/* The index of node @id, V8_NO_NODE. */
uint32_t v8_nodes_find(const struct v8_nodes *n, int64_t id);

/*
 * The stack of a node, for a sample of @thread, whatever that is: each counts it once. Its nodes get no other parents
 * after that. @in: where a message says it is.
 */
_must_use_ int v8_nodes_stack(struct v8_nodes *n, const struct json_in *in, uint32_t index,
			      uint32_t thread, uint32_t *ret);

#endif
