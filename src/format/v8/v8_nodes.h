/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes of V8's call trees, in a .cpuprofile or in the chunks of a trace. A node is a function
 * that was called by the function of the node's parent. In one form of the file, a node names its
 * children, which come before or after it in the list. In the other form, a node names its parent,
 * which comes before it.
 */
#ifndef FORMAT_V8_V8_NODES_H
#define FORMAT_V8_V8_NODES_H

#include "base/map.h"
#include "base/vec.h"
#include "format/common/viewer_in.h"

#define V8_NO_NODE UINT32_MAX

struct v8_node {
	/* id of the node's location; 0: the node is the root, which is no function */
	uint32_t location;
	uint32_t parent; /* 1 + index of the parent in v8_nodes.list; 0: the node has no parent */
	uint32_t stack;	 /* id of the node's stack; 0: not made yet */
	uint32_t depth;	 /* how many frames the stack of the node has */
	/* number of the last thread for which the stack's frames were subtracted from .steps */
	uint32_t thread;
};

/* A child that a node names by id. The id is looked up after the list was read. */
struct v8_edge {
	uint32_t parent; /* index in v8_nodes.list of the parent */
	int64_t child;	 /* id that the child has in the file */
};

struct v8_nodes {
	const char *format; /* name of the format, with which messages begin */
	struct profile *p;
	size_t budget;
	uint64_t *steps; /* how many frames the stacks may still have in all (VIEWER_STEPS) */
	VEC(struct v8_node) list;
	VEC(struct v8_edge) edges;
	struct map at; /* from the id of a node in the file to the index of the node in .list */
	VEC(uint32_t) leaf_first;
	struct str key, name, url;
	/*
	 * If the file lacks some nodes, the caller sets this after v8_nodes_init(). If it is set, a
	 * node whose caller is missing is treated as a node without a caller, and is counted in
	 * .n_orphans.
	 */
	bool partial;
	uint64_t n_orphans;
};

/* Prepares reading nodes. All pointers are borrowed. */
void v8_nodes_init(struct v8_nodes *n, const char *format, struct profile *p, size_t budget,
		   uint64_t *steps);
void v8_nodes_fini(struct v8_nodes *n);

/*
 * Reads a list of nodes. Each call adds more nodes. All functions in this file that return int
 * return 0 or -errno + message.
 */
_must_use_ int v8_nodes_read(struct v8_nodes *n, struct json_in *in);

/* Returns the index of node @id, or V8_NO_NODE. */
uint32_t v8_nodes_find(const struct v8_nodes *n, int64_t id);

/*
 * Finds the stack of a node, for a sample of @thread. Threads may have any numbers, which only
 * serve to subtract the number of a stack's frames from .steps once for each thread. The parents of
 * the stack's nodes must not change after this call. @in: the place in the file that messages name.
 */
_must_use_ int v8_nodes_stack(struct v8_nodes *n, const struct json_in *in, uint32_t index,
			      uint32_t thread, uint32_t *ret);

#endif
