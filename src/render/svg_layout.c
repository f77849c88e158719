/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From samples to the boxes of a picture. A box is a function under one caller, its lines merged.
 * What is too narrow to be seen isn't drawn, and what isn't drawn is counted: a recording of
 * 100,000 stacks gives a picture of a few MB that a browser can handle.
 */
#include "render/svg.h"

#include "base/cleanup.h"
#include "base/error.h"

/*
 * What makes two locations the same box: everything that a reader can see of the function. What has
 * no name in a mapping is one box.
 */
static int rank_functions(struct svg *s)
{
	struct profile *p = s->p;
	_cleanup_str_ struct str b = {};
	int r = rank_add(&s->keys, "");

	for (uint32_t id = 1; !r && id <= profile_n_locations(p); id++) {
		const struct profile_location *l = profile_get_location(p, id);

		str_clear(&b);
		if (l->function) {
			const struct profile_function *f = profile_get_function(p, l->function);

			str_addf(&b, "%s\1%s\1%d\1", profile_get_string(p, f->name),
				 profile_get_string(p, f->file), f->start_line);
		}
		if (l->mapping)
			str_add(&b,
				profile_get_string(p, profile_get_mapping(p, l->mapping)->name));
		r = b.failed ? -ENOMEM : rank_add(&s->keys, b.s);
	}
	if (!r)
		r = rank_finish(&s->keys);
	return r ? err_set(r, "out of memory") : 0;
}

/* Widest first, so that a picture is read from the left; equal ones by name, to be the same always.
 */
static int compare(const void *arg, const struct tree_node *a, const struct tree_node *b)
{
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int build_tree(struct svg *s)
{
	_cleanup_free_ struct profile_sum *sums = NULL;
	struct tree_plan plan = {.p = s->p, .roots = &s->roots, .lines = true, .compare = compare};
	int r = profile_sums(s->p, &sums, &plan.n_sums);

	if (r)
		return r;
	r = roots_init(&s->roots, s->p, sums, plan.n_sums, s->opt->by);
	if (!r)
		r = rank_functions(s);
	if (r)
		return r;
	plan.sums = sums;
	plan.key_of_location = s->keys.of;
	plan.no_frames = s->keys.of[0];
	plan.value = s->value;
	return tree_build(&s->tree, &plan);
}

static void describe_location(const struct svg *s, uint32_t id, struct svg_function *f)
{
	const struct profile_location *l = profile_get_location(s->p, id);
	const struct profile_function *pf;

	if (l->mapping) {
		f->kind = profile_get_mapping(s->p, l->mapping)->kind;
		f->module = render_names_mapping(s->names, l->mapping);
	}
	if (!l->function)
		return;
	pf = profile_get_function(s->p, l->function);
	f->name = profile_get_string(s->p, pf->name);
	f->path = profile_get_string(s->p, pf->file);
	f->file = render_names_file(s->names, l->function);
	f->origin = render_names_origin(s->names, l->function);
}

static const char *root_name(const struct svg *s)
{
	if (s->roots.process)
		return s->roots.process;
	return s->roots.n_processes > 1 ? "all processes" : "all";
}

/* The function of a node, by key; key 0 of the tree's root and root frames are none. */
static void describe(const struct svg *s, uint32_t node, struct svg_function *f)
{
	uint32_t key = s->tree.nodes.v[node].key;

	*f = (struct svg_function){.name = "", .file = "", .path = "", .module = ""};
	if (!node || key & TREE_ROOT) {
		f->root = true;
		f->name = node ? rank_text(&s->roots.texts, key & ~TREE_ROOT) : root_name(s);
	} else if (s->keys.first[key] == 0) {
		f->name = "[no frames]";
		f->kind = KIND_MARK;
	} else {
		describe_location(s, s->keys.first[key], f);
	}
	if (!*f->name)
		f->name = *f->module ? f->module : "[no name]";
	svg_class(f);
}

/* Index of a node's function, described at first use. */
static int function_of(struct svg *s, struct map *seen, uint32_t node, uint32_t *ret)
{
	uint64_t key = node ? s->tree.nodes.v[node].key : UINT64_MAX;
	uint64_t *found = map_get(seen, key);
	struct svg_function f;

	if (found) {
		*ret = *found;
		return 0;
	}
	describe(s, node, &f);
	*ret = s->functions.n;
	if (map_put(seen, key, s->functions.n))
		return -ENOMEM;
	return vec_push(&s->functions, f);
}

static int largest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

/* Smallest value that is drawn: by width, and so that at most SVG_MAX_BOXES are. */
static int set_threshold(struct svg *s)
{
	size_t n = s->tree.nodes.n;
	double px = (double)s->tree.nodes.v[0].value / (SVG_WIDTH - 2 * SVG_MARGIN);
	_cleanup_free_ int64_t *values = NULL;

	s->threshold = MAX((int64_t)(px * SVG_MIN_PX), 1);
	if (n <= SVG_MAX_BOXES)
		return 0;
	values = calloc(n, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		values[i] = s->tree.nodes.v[i].value;
	qsort(values, n, sizeof(*values), largest_first);
	s->threshold = MAX(s->threshold, values[SVG_MAX_BOXES] + 1);
	return 0;
}

struct visit {
	uint32_t node;
	int64_t start;
};

typedef VEC(struct visit) visits;

/* Puts the children on @todo, the leftmost on top; leaves out and counts what isn't drawn. */
static int push_children(struct svg *s, visits *todo, struct visit v)
{
	const struct tree_node *n = &s->tree.nodes.v[v.node];
	int64_t end = v.start;
	int r = 0;

	for (uint32_t i = 0; i < n->n_children; i++)
		end += s->tree.nodes.v[s->tree.order[n->first + i]].value;
	for (uint32_t i = n->n_children; !r && i--;) {
		uint32_t child = s->tree.order[n->first + i];
		int64_t value = s->tree.nodes.v[child].value;

		end -= value;
		if (value >= s->threshold && n->depth + 1 < SVG_MAX_DEPTH)
			r = vec_push(todo, (struct visit){child, end});
		else
			s->not_drawn_value += value;
	}
	return r;
}

static int place_boxes(struct svg *s)
{
	visits todo = {};
	struct map seen;
	int r = vec_push(&todo, (struct visit){});

	map_init(&seen);
	while (!r && todo.n) {
		struct visit v = todo.v[--todo.n];
		struct svg_box box = {.node = v.node, .start = v.start};

		s->depth = MAX(s->depth, s->tree.nodes.v[v.node].depth + 1);
		r = function_of(s, &seen, v.node, &box.function);
		if (!r)
			r = vec_push(&s->boxes, box);
		if (!r)
			r = push_children(s, &todo, v);
	}
	map_fini(&seen);
	vec_fini(&todo);
	s->not_drawn = s->tree.nodes.n - s->boxes.n;
	return r;
}

int svg_layout(struct svg *s)
{
	int r = build_tree(s);

	if (r)
		return r;
	s->names = render_names_new(s->p);
	if (!s->names)
		return -ENOMEM;
	r = set_threshold(s);
	if (!r)
		r = place_boxes(s);
	return r ? err_set(r, "out of memory") : 0;
}

void svg_fini(struct svg *s)
{
	render_names_free(s->names);
	rank_fini(&s->keys);
	roots_fini(&s->roots);
	tree_fini(&s->tree);
	vec_fini(&s->functions);
	vec_fini(&s->boxes);
}
