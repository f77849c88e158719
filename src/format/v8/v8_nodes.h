/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes of V8's profiler, in a .cpuprofile or in the chunks of a trace. A node is a function,
 * called by another node. A node names its children, which come before or after it in the list, or
 * its parent, which comes before.
 */
#ifndef FORMAT_V8_V8_NODES_H
#define FORMAT_V8_V8_NODES_H

#include "base/map.h"
#include "base/vec.h"
#include "format/common/viewer_in.h"

#define V8_NO_NODE UINT32_MAX

struct v8_node {
	uint32_t location; /* location id; 0: the node is the root, which is no function */
	uint32_t parent;   /* index of the parent in v8_nodes.list, + 1; 0: none */
	uint32_t stack;	   /* stack id; 0: not created yet */
	uint32_t depth;	   /* number of frames of the node's stack */
	uint32_t thread;   /* the last thread for which the stack's frames were counted */
};

/* A child that a node names by id; resolved after the list is read. */
struct v8_edge {
	uint32_t parent; /* index of the parent in v8_nodes.list */
	int64_t child;	 /* id of the child in the file */
};

struct v8_nodes {
	const char *format; /* the format's name, with which messages begin */
	struct profile *p;
	size_t budget;
	uint64_t *steps; /* the frames that stacks may still have, see VIEWER_STEPS */
	VEC(struct v8_node) list;
	VEC(struct v8_edge) edges;
	struct map at; /* a node's id in the file -> its index in .list */
	VEC(uint32_t) leaf_first;
	struct str key, name, url;
	/*
	 * Set after init if the file lacks some nodes. A node whose caller is missing counts as not
	 * called, and in n_orphans.
	 */
	bool partial;
	uint64_t n_orphans;
};

/* All pointers are borrowed. */
void v8_nodes_init(struct v8_nodes *n, const char *format, struct profile *p, size_t budget,
		   uint64_t *steps);
void v8_nodes_fini(struct v8_nodes *n);

/* Reads a list of nodes; each call adds more. 0 or -errno + message, as all below. */
_must_use_ int v8_nodes_read(struct v8_nodes *n, struct json_in *in);

/* The index of node @id, or V8_NO_NODE. */
uint32_t v8_nodes_find(const struct v8_nodes *n, int64_t id);

/*
 * The stack of a node, for a sample of @thread, which may be any number: a stack's frames are
 * counted once for each. After this call the stack's nodes keep their parents. @in: the place that
 * messages name.
 */
_must_use_ int v8_nodes_stack(struct v8_nodes *n, const struct json_in *in, uint32_t index,
			      uint32_t thread, uint32_t *ret);

#endif
