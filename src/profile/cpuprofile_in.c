/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A .cpuprofile into a profile; see cpuprofile_in.h. Nodes name their children, which may come before
 * or behind them; a sample is a node, and lasts until the next one.
 */
#include "profile/cpuprofile_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "profile/folded_frame.h"
#include "profile/viewer_in.h"

#define FORMAT	  "cpuprofile"
#define NO_MEMORY VIEWER_NO_MEMORY
#define US	  3 /* times are microseconds: power of ten to nanoseconds */

struct node {
	uint32_t location; /* 0: the root, which is no function */
	uint32_t parent;   /* index + 1, 0 = none */
	uint32_t stack;	   /* 0 = not yet */
};

/* Found while nodes are read: who a child is known then only by its id. */
struct edge {
	uint32_t parent; /* index */
	int64_t child;	 /* id */
};

struct reader {
	struct profile *p;
	size_t budget;
	uint64_t steps;
	struct json_in samples, deltas; /* .at NULL: nowhere */
	int64_t start_ns, end_ns;
	VEC(struct node) nodes;
	VEC(struct edge) edges;
	struct map at; /* id -> index */
	VEC(uint32_t) leaf_first;
	struct str key, name, url;
};

static int bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FORMAT, in, field, what);
}

static int in_field(int r, const char *field)
{
	return viewer_in_wrap(FORMAT, r, field);
}

/* Where a function begins, not where it was. V8 counts lines from 0; its own words are in parentheses. */
static uint32_t make_location(struct reader *r, int64_t line)
{
	bool root = streq(str_cstr(&r->name), "(root)") && !r->url.n;
	struct folded_frame f = {.kind = KIND_NATIVE, .name = {"(anonymous)", 11}};
	struct profile_location l;

	if (root)
		return 0;
	if (r->name.n)
		f.name = (struct folded_text){str_cstr(&r->name), r->name.n};
	f.file = (struct folded_text){str_cstr(&r->url), r->url.n};
	if (streq(str_cstr(&r->name), "(garbage collector)") && !r->url.n)
		f.kind = KIND_GC;
	else if (str_ends(str_cstr(&r->url), ".py"))
		f.kind = KIND_PYTHON;
	l = folded_frame_location(r->p, &f);
	if (line >= 0 && line < INT32_MAX)
		viewer_in_set_start(r->p, &l, (int32_t)line + 1);
	return profile_location(r->p, &l);
}

static int read_call_frame(struct reader *r, struct json_in *in, int64_t *line)
{
	int more, err = in_field(json_in_enter(in, '{'), "callFrame");

	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			err = in_field(more, "callFrame");
		else if (streq(key, "functionName"))
			err = viewer_in_text(FORMAT, in, "functionName", &r->name);
		else if (streq(key, "url"))
			err = viewer_in_text(FORMAT, in, "url", &r->url);
		else if (streq(key, "lineNumber"))
			err = in_field(json_in_integer(in, line), "lineNumber");
		else
			err = in_field(json_in_skip(in), "callFrame");
	}
	return err;
}

/* Beside the profile. */
static size_t bytes_of(const struct reader *r)
{
	return r->nodes.n * sizeof(*r->nodes.v) + r->edges.n * sizeof(*r->edges.v) +
	       r->at.size * sizeof(*r->at.slots);
}

static int read_children(struct reader *r, struct json_in *in)
{
	int more, err = in_field(json_in_enter(in, '['), "children");

	while (!err && (more = json_in_item(in))) {
		struct edge e = {.parent = (uint32_t)r->nodes.n};

		err = in_field(more < 0 ? more : json_in_integer(in, &e.child), "children");
		if (!err && vec_push(&r->edges, e))
			err = NO_MEMORY;
		err = err ? err
			  : viewer_in_check_memory(FORMAT, in, "children", r->p, bytes_of(r),
						   r->budget);
	}
	return err;
}

static int read_node(struct reader *r, struct json_in *in)
{
	int64_t id = 0, parent, line = -1;
	bool has_id = false, has_parent = false, has_frame = false;
	struct node node = {};
	int more, err = in_field(json_in_enter(in, '{'), "nodes");

	str_clear(&r->name);
	str_clear(&r->url);
	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "nodes");
		if (streq(key, "id"))
			err = in_field(json_in_integer(in, &id), "id"), has_id = true;
		else if (streq(key, "parent"))
			err = in_field(json_in_integer(in, &parent), "parent"), has_parent = true;
		else if (streq(key, "callFrame"))
			err = read_call_frame(r, in, &line), has_frame = true;
		else if (streq(key, "children"))
			err = read_children(r, in);
		else
			err = in_field(json_in_skip(in), "nodes");
	}
	if (err)
		return err;
	if (!has_id || !has_frame || map_get(&r->at, (uint64_t)id))
		return bad(in, "id", "a node needs one of its own, and a callFrame");
	if (has_parent) {
		const uint64_t *at = map_get(&r->at, (uint64_t)parent);

		if (!at)
			return bad(in, "parent", "there is no such node before this one");
		node.parent = (uint32_t)*at + 1;
	}
	node.location = make_location(r, line);
	if (map_put(&r->at, (uint64_t)id, r->nodes.n) || vec_push(&r->nodes, node))
		return NO_MEMORY;
	return viewer_in_check_memory(FORMAT, in, "nodes", r->p, bytes_of(r), r->budget);
}

static int read_nodes(struct reader *r, struct json_in *in)
{
	int more, err = in_field(json_in_enter(in, '['), "nodes");

	while (!err && (more = json_in_item(in)))
		err = more < 0 ? in_field(more, "nodes") : read_node(r, in);
	vec_foreach(e, &r->edges) {
		const uint64_t *at = map_get(&r->at, (uint64_t)e->child);

		if (err)
			break;
		if (!at)
			return bad(in, "children", "one of them isn't in the list");
		if (r->nodes.v[*at].parent && r->nodes.v[*at].parent != e->parent + 1)
			return bad(in, "children", "a node is that of two others");
		r->nodes.v[*at].parent = e->parent + 1;
	}
	return err;
}

/* A circle of parents is as deep as can be. */
static int stack_of(struct reader *r, const struct json_in *in, struct node *node)
{
	if (node->stack)
		return 0;
	r->leaf_first.n = 0;
	for (const struct node *n = node;; n = &r->nodes.v[n->parent - 1]) {
		if (n->location && vec_push(&r->leaf_first, n->location))
			return NO_MEMORY;
		if (r->leaf_first.n > VIEWER_MAX_DEPTH || !r->steps--)
			return bad(in, "samples", "stacks are far deeper than they should be");
		if (!n->parent)
			break;
		if (!n->location && n->parent)
			return bad(in, "samples", "the root has a caller");
	}
	node->stack = profile_stack(r->p, r->leaf_first.v, r->leaf_first.n);
	if (!node->stack)
		return NO_MEMORY;
	return viewer_in_check_memory(FORMAT, in, "samples", r->p, 0, r->budget);
}

/* A sample that waits for the next one's time. */
struct waiting {
	struct node *node;
	int64_t at_ns;
};

/* V8's clocks go back now and then: that is no time. */
static int add_sample(struct reader *r, const struct json_in *in, const struct waiting *w,
		      int64_t until_ns)
{
	struct profile_sample s = {.values = {1, 0}};
	int err = w->node ? stack_of(r, in, w->node) : 0;

	if (!w->node || err)
		return err;
	s.stack = w->node->stack;
	if (__builtin_sub_overflow(w->at_ns, r->start_ns, &s.time_ns) ||
	    __builtin_sub_overflow(until_ns, w->at_ns, &s.values[1]))
		return bad(in, "timeDeltas", "their sum doesn't fit in 64 bits");
	s.time_ns = MAX(s.time_ns, (int64_t)0);
	s.values[1] = MAX(s.values[1], (int64_t)0);
	return profile_add(r->p, &s);
}

static int read_delta(struct reader *r, int64_t *at_ns)
{
	int64_t delta;
	int more = json_in_item(&r->deltas), err;

	if (!more)
		return bad(&r->deltas, "timeDeltas", "there are more samples");
	err = in_field(more < 0 ? more : json_in_scaled(&r->deltas, US, &delta), "timeDeltas");
	if (!err && __builtin_add_overflow(*at_ns, delta, at_ns))
		err = bad(&r->deltas, "timeDeltas", "their sum doesn't fit in 64 bits");
	return err;
}

static int read_samples(struct reader *r)
{
	struct json_in *in = &r->samples;
	int64_t now = r->start_ns;
	struct waiting w = {};
	int more, err = in_field(json_in_enter(in, '['), "samples");

	err = err ? err : in_field(json_in_enter(&r->deltas, '['), "timeDeltas");
	while (!err && (more = json_in_item(in))) {
		const uint64_t *at;
		int64_t id;

		err = in_field(more < 0 ? more : json_in_integer(in, &id), "samples");
		if (err)
			return err;
		at = map_get(&r->at, (uint64_t)id);
		if (!at)
			return bad(in, "samples", "there is no such node");
		err = read_delta(r, &now);
		err = err ? err : add_sample(r, in, &w, now);
		w = (struct waiting){&r->nodes.v[*at], now};
	}
	return err ? err : add_sample(r, in, &w, MAX(r->end_ns, now));
}

static void set_meta(struct reader *r)
{
	struct profile_meta *m = profile_meta(r->p);

	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"time", "nanoseconds"};
	m->n_values = 2;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = 1;
	if (r->end_ns > r->start_ns && r->start_ns >= 0)
		m->duration_ns = r->end_ns - r->start_ns;
}

static int read_file(struct reader *r, struct json_in in)
{
	int more, err = in_field(json_in_enter(&in, '{'), "the file");
	bool there = false;

	while (!err && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "the file");
		if (streq(key, "nodes") && !there) {
			there = true;
			err = read_nodes(r, &in);
			continue;
		}
		if (streq(key, "startTime") || streq(key, "endTime")) {
			err = in_field(
				json_in_scaled(&in, US, *key == 's' ? &r->start_ns : &r->end_ns),
				"startTime, endTime");
			continue;
		}
		if (streq(key, "samples"))
			r->samples = in;
		else if (streq(key, "timeDeltas"))
			r->deltas = in;
		err = in_field(json_in_skip(&in), "the file");
	}
	err = err ? err : in_field(json_in_end(&in), "the file");
	if (!err && (!there || !r->samples.at || !r->deltas.at))
		err = bad(&in, "the file", "it lacks nodes, samples or timeDeltas");
	set_meta(r);
	return err ? err : read_samples(r);
}

int cpuprofile_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {
		.p = profile_new(), .budget = VIEWER_BUDGET(n), .steps = VIEWER_STEPS(n)};
	_cleanup_str_ struct str unpacked = {};
	struct json_in in;
	int err = r.p ? viewer_in_open(FORMAT, data, n, r.budget, &unpacked, &in) : NO_MEMORY;

	map_init(&r.at);
	err = err ? err : read_file(&r, in);
	map_fini(&r.at);
	vec_fini(&r.nodes);
	vec_fini(&r.edges);
	vec_fini(&r.leaf_first);
	str_fini(&r.key);
	str_fini(&r.name);
	str_fini(&r.url);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

bool cpuprofile_probe(const uint8_t *head, size_t n)
{
	return viewer_in_begins(head, n, '{') && viewer_in_has(head, n, "\"nodes\"") &&
	       viewer_in_has(head, n, "\"callFrame\"");
}
