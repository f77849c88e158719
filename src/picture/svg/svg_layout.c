/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns samples into the boxes of a picture. A box is a function under one caller, with all its
 * lines. Boxes that are too narrow to be seen are counted but not drawn. So a recording of 100,000
 * stacks gives a picture of a few MB, which a browser can handle.
 */
#include "format/common/options.h"
#include "picture/svg/svg.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"

/*
 * Orders boxes of one caller by width, the widest first, because people read from the left. Boxes
 * of equal width are sorted by name, so that the picture is always the same.
 */
static int compare(const void *arg, const struct tree_node *a, const struct tree_node *b)
{
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void add_up(int64_t *to, int64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = value < 0 ? INT64_MIN : INT64_MAX;
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
		r = functions_init(&s->named, s->p);
	if (r)
		return r;
	for (size_t i = 0; i < plan.n_sums; i++) {
		int64_t value = sums[i].values[s->value];

		add_up(&s->all, value);
		add_up(&s->counted, sums[i].values[0]);
		add_up(&s->less, value < 0 ? -MAX(value, -INT64_MAX) : 0);
		add_up(&s->shares_of, value < 0 ? -MAX(value, -INT64_MAX) : value);
	}
	plan.sums = sums;
	plan.key_of_location = s->named.keys.of;
	plan.no_frames = s->named.keys.of[0];
	plan.value = s->value;
	plan.drawn = true;
	return tree_build(&s->tree, &plan);
}

static const char *root_name(const struct svg *s)
{
	if (s->roots.process)
		return s->roots.process;
	return s->roots.n_processes > 1 ? "all processes" : "all";
}

/*
 * Describes the function of a node. The tree's root (node 0) and root frames have no function, so
 * they are described as if they were functions.
 */
static int describe(struct svg *s, uint32_t node, struct function *f)
{
	uint32_t key = s->tree.nodes.v[node].key;

	if (node && !(key & TREE_ROOT))
		return functions_get(&s->named, key, f);
	*f = (struct function){.file = "", .path = "", .module = "", .language = "", .root = true};
	f->name = node ? rank_text(&s->roots.texts, key & ~TREE_ROOT) : root_name(s);
	if (!*f->name)
		f->name = "[no name]";
	function_colour(f);
	return 0;
}

/* Returns the index of a node's function in .functions. Adds the function if it isn't there yet. */
static int function_of(struct svg *s, struct map *seen, uint32_t node, uint32_t *ret)
{
	uint64_t key = node ? s->tree.nodes.v[node].key : UINT64_MAX;
	uint64_t *found = map_get(seen, key);
	struct function f;

	if (found) {
		*ret = *found;
		return 0;
	}
	*ret = s->functions.n;
	if (describe(s, node, &f) || map_put(seen, key, s->functions.n))
		return -ENOMEM;
	return vec_push(&s->functions, f);
}

static int largest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

/*
 * Sets the smallest value of a box that is drawn. Boxes of that value are wide enough to be seen,
 * and at most SVG_MAX_BOXES boxes have at least that value.
 */
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

/*
 * Pushes the children of a box to @todo, the leftmost child last, so that it is popped first.
 * Children that aren't drawn are added to .not_drawn_value instead.
 */
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
	r = set_threshold(s);
	if (!r)
		r = place_boxes(s);
	return r ? err_set(r, "out of memory") : 0;
}

void svg_fini(struct svg *s)
{
	functions_fini(&s->named);
	roots_fini(&s->roots);
	tree_fini(&s->tree);
	vec_fini(&s->functions);
	vec_fini(&s->boxes);
}
