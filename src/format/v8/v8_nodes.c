/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the nodes of V8's call trees; see v8_nodes.h. */
#include "format/v8/v8_nodes.h"

#include <errno.h>
#include "base/error.h"
#include "format/common/folded_frame.h"

#define NO_MEMORY VIEWER_NO_MEMORY
#define TOO_DEEP  "stacks are far deeper than they should be"

static int bad(const struct v8_nodes *n, const struct json_in *in, const char *field,
	       const char *what)
{
	return viewer_in_bad(n->format, in, field, what);
}

static int in_field(const struct v8_nodes *n, int r, const char *field)
{
	return viewer_in_wrap(n->format, r, field);
}

void v8_nodes_init(struct v8_nodes *n, const char *format, struct profile *p, size_t budget,
		   uint64_t *steps)
{
	*n = (struct v8_nodes){.format = format, .p = p, .budget = budget, .steps = steps};
	map_init(&n->at);
}

void v8_nodes_fini(struct v8_nodes *n)
{
	map_fini(&n->at);
	vec_fini(&n->list);
	vec_fini(&n->edges);
	vec_fini(&n->leaf_first);
	str_fini(&n->key);
	str_fini(&n->name);
	str_fini(&n->url);
}

uint32_t v8_nodes_find(const struct v8_nodes *n, int64_t id)
{
	const uint64_t *at = map_get(&n->at, (uint64_t)id);

	return at ? (uint32_t)*at : V8_NO_NODE;
}

/*
 * Makes the location of a node's function. Its line is where the function begins, not the line that
 * was running. V8 counts lines from 0. Names in parentheses stand for things of V8 itself.
 */
static uint32_t make_location(struct v8_nodes *n, int64_t line)
{
	bool root = streq(str_cstr(&n->name), "(root)") && !n->url.n;
	struct folded_frame f = {.kind = KIND_NATIVE, .name = {"(anonymous)", 11}};
	struct profile_location l;

	if (root)
		return 0;
	if (n->name.n)
		f.name = (struct folded_text){str_cstr(&n->name), n->name.n};
	f.file = (struct folded_text){str_cstr(&n->url), n->url.n};
	if (streq(str_cstr(&n->name), "(garbage collector)") && !n->url.n)
		f.kind = KIND_GC;
	else if (str_ends(str_cstr(&n->url), ".py"))
		f.kind = KIND_PYTHON;
	l = folded_frame_location(n->p, &f);
	if (line >= 0 && line < INT32_MAX)
		viewer_in_set_start(n->p, &l, (int32_t)line + 1);
	return profile_location(n->p, &l);
}

static int read_call_frame(struct v8_nodes *n, struct json_in *in, int64_t *line)
{
	int more, err = in_field(n, json_in_enter(in, '{'), "callFrame");

	while (!err && (more = json_in_key(in, &n->key))) {
		const char *key = str_cstr(&n->key);

		if (more < 0)
			err = in_field(n, more, "callFrame");
		else if (streq(key, "functionName"))
			err = viewer_in_text(n->format, in, "functionName", &n->name);
		else if (streq(key, "url"))
			err = viewer_in_text(n->format, in, "url", &n->url);
		else if (streq(key, "lineNumber"))
			err = in_field(n, json_in_integer(in, line), "lineNumber");
		else
			err = in_field(n, json_in_skip(in), "callFrame");
	}
	return err;
}

/* Returns how many bytes of memory are used beside those of the profile. */
static size_t bytes_of(const struct v8_nodes *n)
{
	return n->list.n * sizeof(*n->list.v) + n->edges.n * sizeof(*n->edges.v) +
	       n->at.size * sizeof(*n->at.slots);
}

static int read_children(struct v8_nodes *n, struct json_in *in)
{
	int more, err = in_field(n, json_in_enter(in, '['), "children");

	while (!err && (more = json_in_item(in))) {
		struct v8_edge e = {.parent = (uint32_t)n->list.n};

		err = in_field(n, more < 0 ? more : json_in_integer(in, &e.child), "children");
		if (!err && vec_push(&n->edges, e))
			err = NO_MEMORY;
		err = err ? err
			  : viewer_in_check_memory(n->format, in, "children", n->p, bytes_of(n),
						   n->budget);
	}
	return err;
}

static int read_node(struct v8_nodes *n, struct json_in *in)
{
	int64_t id = 0, parent, line = -1;
	bool has_id = false, has_parent = false, has_frame = false;
	struct v8_node node = {};
	int more, err = in_field(n, json_in_enter(in, '{'), "nodes");

	str_clear(&n->name);
	str_clear(&n->url);
	while (!err && (more = json_in_key(in, &n->key))) {
		const char *key = str_cstr(&n->key);

		if (more < 0)
			return in_field(n, more, "nodes");
		if (streq(key, "id"))
			err = in_field(n, json_in_integer(in, &id), "id"), has_id = true;
		else if (streq(key, "parent"))
			err = in_field(n, json_in_integer(in, &parent), "parent"),
			has_parent = true;
		else if (streq(key, "callFrame"))
			err = read_call_frame(n, in, &line), has_frame = true;
		else if (streq(key, "children"))
			err = read_children(n, in);
		else
			err = in_field(n, json_in_skip(in), "nodes");
	}
	if (err)
		return err;
	if (!has_id || !has_frame || map_get(&n->at, (uint64_t)id))
		return bad(n, in, "id", "a node needs an id of its own, and a callFrame");
	if (has_parent) {
		const uint64_t *at = map_get(&n->at, (uint64_t)parent);

		if (!at && !n->partial)
			return bad(n, in, "parent", "no earlier node has this id");
		n->n_orphans += !at;
		node.parent = at ? (uint32_t)*at + 1 : 0;
	}
	node.location = make_location(n, line);
	if (map_put(&n->at, (uint64_t)id, n->list.n) || vec_push(&n->list, node))
		return NO_MEMORY;
	return viewer_in_check_memory(n->format, in, "nodes", n->p, bytes_of(n), n->budget);
}

static int take_edge(struct v8_nodes *n, const struct json_in *in, const struct v8_edge *e)
{
	const uint64_t *at = map_get(&n->at, (uint64_t)e->child);

	if (!at)
		return bad(n, in, "children", "a child isn't in the list of nodes");
	if (n->list.v[*at].parent && n->list.v[*at].parent != e->parent + 1)
		return bad(n, in, "children", "a node is a child of two others");
	n->list.v[*at].parent = e->parent + 1;
	return 0;
}

int v8_nodes_read(struct v8_nodes *n, struct json_in *in)
{
	int more, err = in_field(n, json_in_enter(in, '['), "nodes");

	while (!err && (more = json_in_item(in)))
		err = more < 0 ? in_field(n, more, "nodes") : read_node(n, in);
	vec_foreach(e, &n->edges)
		err = err ? err : take_edge(n, in, e);
	n->edges.n = 0;
	return err;
}

/*
 * Collects the frames of a node's stack. If the parents form a circle, the limit of depth ends the
 * search.
 */
static int collect_frames(struct v8_nodes *n, const struct json_in *in, const struct v8_node *node)
{
	n->leaf_first.n = 0;
	for (;; node = &n->list.v[node->parent - 1]) {
		if (node->location && vec_push(&n->leaf_first, node->location))
			return NO_MEMORY;
		if (n->leaf_first.n > VIEWER_MAX_DEPTH || !*n->steps)
			return bad(n, in, "samples", TOO_DEEP);
		--*n->steps;
		if (!node->parent)
			return 0;
		if (!node->location)
			return bad(n, in, "samples", "the root has a caller");
	}
}

static int make_stack(struct v8_nodes *n, const struct json_in *in, struct v8_node *node)
{
	int err = collect_frames(n, in, node);

	if (err)
		return err;
	node->stack = profile_stack(n->p, n->leaf_first.v, n->leaf_first.n);
	node->depth = (uint32_t)n->leaf_first.n;
	return node->stack ? viewer_in_check_memory(n->format, in, "samples", n->p, bytes_of(n),
						    n->budget)
			   : NO_MEMORY;
}

static int count_again(struct v8_nodes *n, const struct json_in *in, const struct v8_node *node)
{
	if (node->depth > *n->steps)
		return bad(n, in, "samples", TOO_DEEP);
	*n->steps -= node->depth;
	return 0;
}

int v8_nodes_stack(struct v8_nodes *n, const struct json_in *in, uint32_t index, uint32_t thread,
		   uint32_t *ret)
{
	struct v8_node *node = &n->list.v[index];
	int err = 0;

	if (!node->stack)
		err = make_stack(n, in, node);
	else if (node->thread != thread)
		err = count_again(n, in, node);
	node->thread = thread;
	*ret = node->stack;
	return err;
}
