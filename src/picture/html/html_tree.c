/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns stacks into the page's trees; see html_tree.h. */
#include "picture/html/html_tree.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"

/*
 * A node while the tree is built. Nodes and boxes are numbered as they are found; the finished tree
 * numbers them in another order. The struct is small, because a recording has millions of nodes.
 */
struct draft {
	/*
	 * .box: index of the node's box; .next: index of another node of the same box, or 0 for
	 * none
	 */
	uint32_t box, next;
};
struct draft_box {
	/*
	 * .nodes, .children: the first node and the first child of the box; .next: the next child
	 * of the box's parent; 0: there is none
	 */
	uint32_t nodes, children, next;
};

/*
 * The key by which a node or a box is found: its parent, and for a node its spot (a place in a
 * function), for a box its function. These keys are interned; the id of a key is the index of the
 * draft node or box.
 */
struct place {
	uint32_t parent, at;
};

struct builder {
	struct html_tree *t;
	const struct functions *fs;
	/*
	 * by location id: index of the location's spot (place in a function); [0] is for stacks
	 * without frames
	 */
	uint32_t *spot_of;
	VEC(struct draft) nodes;
	VEC(struct draft_box) boxes;
	/* from a key (struct place) to the index of the node or box that has this key */
	struct intern node_at, box_at;
	/*
	 * nodes and locations of the preceding stack, root first, because most stacks begin with
	 * the same frames as the stack before them
	 */
	VEC(uint32_t) path, locations;
	uint32_t *number; /* by index of a draft node: the node's number in the finished tree */
};

static int compare_spots(const void *a, const void *b)
{
	const struct html_spot *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	if (x->end_line != y->end_line)
		return x->end_line < y->end_line ? -1 : 1;
	return x->end_column < y->end_column ? -1 : x->end_column > y->end_column;
}

static struct html_spot spot_of(const struct builder *b, uint32_t location)
{
	struct html_spot s = {.function = b->fs->keys.of[location]};

	if (location) {
		const struct profile_location *l = profile_get_location(b->t->p, location);

		s.line = MAX(l->line, 0);
		s.column = MAX(l->column, 0);
		s.end_line = l->end_line;
		s.end_column = l->end_column;
	}
	return s;
}

/* Stores for each function the index of its first spot (place in the function). */
static int index_spots(struct html_tree *t, uint32_t n_functions)
{
	uint32_t i = 0;

	for (uint32_t f = 0; f <= n_functions; f++) {
		while (i < t->spots.n && t->spots.v[i].function < f)
			i++;
		if (vec_push(&t->first_spot, i))
			return -ENOMEM;
	}
	return 0;
}

static int make_spots(struct builder *b)
{
	struct html_tree *t = b->t;
	size_t n = profile_n_locations(t->p) + 1, kept = 0;

	b->spot_of = calloc(n, sizeof(*b->spot_of));
	if (!b->spot_of || vec_reserve(&t->spots, n))
		return -ENOMEM;
	for (size_t id = 0; id < n; id++)
		t->spots.v[id] = spot_of(b, id);
	qsort(t->spots.v, n, sizeof(*t->spots.v), compare_spots);
	for (size_t i = 0; i < n; i++) {
		if (!i || compare_spots(&t->spots.v[kept - 1], &t->spots.v[i]))
			t->spots.v[kept++] = t->spots.v[i];
	}
	t->spots.n = kept;
	for (size_t id = 0; id < n; id++) {
		struct html_spot s = spot_of(b, id);

		b->spot_of[id] = (struct html_spot *)bsearch(&s, t->spots.v, kept, sizeof(s),
							     compare_spots) -
				 t->spots.v;
	}
	return index_spots(t, b->fs->keys.n);
}

/* Returns the box with this key below box @parent, which is made if it is new. 0: out of memory. */
static uint32_t box_at(struct builder *b, uint32_t parent, uint32_t key)
{
	uint32_t id = intern_put(&b->box_at, &(struct place){parent, key}, 0);

	if (id < b->boxes.n)
		return id;
	if (vec_push(&b->boxes, (struct draft_box){.next = b->boxes.v[parent].children}))
		return 0;
	return b->boxes.v[parent].children = id;
}

static uint32_t node_at(struct builder *b, uint32_t parent, uint32_t spot)
{
	uint32_t id = intern_put(&b->node_at, &(struct place){parent, spot}, 0), box;

	if (id < b->nodes.n)
		return id;
	box = box_at(b, b->nodes.v[parent].box, b->t->spots.v[spot].function);
	if (!box || vec_push(&b->nodes, (struct draft){box, b->boxes.v[box].nodes}))
		return 0;
	return b->boxes.v[box].nodes = id;
}

/* Finds or makes the node where stack @id ends. */
static int add_stack(struct builder *b, uint32_t id, uint32_t *ret)
{
	size_t n, same = 0;
	const uint32_t *stack = profile_get_stack(b->t->p, id, &n);
	uint32_t node = 0;

	while (same < MIN(n, b->path.n) && b->locations.v[same] == stack[n - 1 - same])
		node = b->path.v[same++];
	b->path.n = b->locations.n = same;
	for (size_t i = n - same; i--;) {
		node = node_at(b, node, b->spot_of[stack[i]]);
		if (!node || vec_push(&b->path, node) || vec_push(&b->locations, stack[i]))
			return -ENOMEM;
	}
	*ret = n ? node : node_at(b, 0, b->spot_of[0]);
	return *ret ? 0 : -ENOMEM;
}

static int add_stacks(struct builder *b)
{
	size_t n = profile_n_stacks(b->t->p);

	b->t->node_of_stack = calloc(n + 1, sizeof(*b->t->node_of_stack));
	if (!b->t->node_of_stack || vec_push(&b->nodes, (struct draft){}) ||
	    vec_push(&b->boxes, (struct draft_box){}))
		return -ENOMEM;
	for (uint32_t id = 1; id <= n; id++) {
		if (add_stack(b, id, &b->t->node_of_stack[id]))
			return -ENOMEM;
	}
	intern_freeze(&b->node_at);
	intern_freeze(&b->box_at);
	return 0;
}

static const struct place *place_of(const struct intern *t, uint32_t id)
{
	return intern_get(t, id, NULL);
}

static int compare_keys(const void *a, const void *b, void *arg)
{
	const struct builder *builder = arg;
	uint32_t x = place_of(&builder->box_at, *(const uint32_t *)a)->at;
	uint32_t y = place_of(&builder->box_at, *(const uint32_t *)b)->at;

	return x < y ? 1
		     /*
		      * sorts the box with the largest key first, because the node that is pushed
		      * last is popped first
		      */
		     : -(x > y);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct html_node *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->spot < y->spot ? -1 : x->spot > y->spot;
}

static struct html_node html_node_of(const struct builder *b, uint32_t draft)
{
	const struct place *p = place_of(&b->node_at, draft);

	return (struct html_node){b->number[p->parent], p->at};
}

/*
 * Numbers the nodes of a box in the order of their parents' numbers, and below the same parent in
 * the order of spots (places in functions). No two nodes have the same parent and spot.
 */
static int number_nodes(struct builder *b, const struct draft_box *draft, struct html_box *box)
{
	struct html_tree *t = b->t;

	box->first = t->nodes.n;
	for (uint32_t i = draft->nodes; i; i = b->nodes.v[i].next) {
		if (vec_push(&t->nodes, html_node_of(b, i)))
			return -ENOMEM;
	}
	box->n = t->nodes.n - box->first;
	qsort(t->nodes.v + box->first, box->n, sizeof(*t->nodes.v), compare_nodes);
	for (uint32_t i = draft->nodes; i; i = b->nodes.v[i].next) {
		struct html_node key = html_node_of(b, i);

		b->number[i] = (struct html_node *)bsearch(&key, t->nodes.v + box->first, box->n,
							   sizeof(key), compare_nodes) -
			       t->nodes.v;
	}
	return 0;
}

struct visit {
	/* index of the draft node, and number of the node's parent in the finished tree */
	uint32_t draft, parent;
};
typedef VEC(struct visit) visits;

static int push_children(struct builder *b, uint32_t draft, uint32_t parent, visits *todo)
{
	_cleanup_free_ uint32_t *order = NULL;
	size_t n = 0;

	for (uint32_t i = b->boxes.v[draft].children; i; i = b->boxes.v[i].next)
		n++;
	order = calloc(n + 1, sizeof(*order));
	if (!order || vec_reserve(todo, todo->n + n))
		return -ENOMEM;
	n = 0;
	for (uint32_t i = b->boxes.v[draft].children; i; i = b->boxes.v[i].next)
		order[n++] = i;
	qsort_r(order, n, sizeof(*order), compare_keys, b);
	for (size_t i = 0; i < n; i++)
		todo->v[todo->n++] = (struct visit){order[i], parent};
	return 0;
}

static int add_box(struct builder *b, struct visit v)
{
	const struct draft_box *draft = &b->boxes.v[v.draft];
	struct html_tree *t = b->t;
	struct html_box box = {.parent = v.parent};
	int r;

	if (v.draft) {
		box.key = place_of(&b->box_at, v.draft)->at;
		box.depth = t->boxes.v[v.parent].depth + 1;
		r = number_nodes(b, draft, &box);
	} else {
		box.n = 1;
		r = vec_push(&t->nodes, (struct html_node){});
	}
	return r ? r : vec_push(&t->boxes, box);
}

static int number(struct builder *b)
{
	visits todo = {};
	int r = vec_push(&todo, (struct visit){});

	b->number = calloc(b->nodes.n, sizeof(*b->number));
	if (!b->number)
		r = -ENOMEM;
	while (!r && todo.n) {
		struct visit v = todo.v[--todo.n];

		r = add_box(b, v);
		if (!r)
			r = push_children(b, v.draft, b->t->boxes.n - 1, &todo);
	}
	vec_fini(&todo);
	for (uint32_t id = 1; !r && id <= profile_n_stacks(b->t->p); id++)
		b->t->node_of_stack[id] = b->number[b->t->node_of_stack[id]];
	return r;
}

static int add_value(void *arg, const struct profile_sample *s)
{
	struct html_tree *t = arg;
	int64_t *self = t->self + (size_t)t->node_of_stack[s->stack] * t->n_values;

	for (unsigned v = 0; v < t->n_values; v++) {
		if (__builtin_add_overflow(self[v], s->values[v], &self[v]))
			self[v] = INT64_MAX;
	}
	return 0;
}

static int add_values(struct html_tree *t)
{
	t->n_values = profile_meta(t->p)->n_values;
	t->self = calloc(t->nodes.n * t->n_values, sizeof(*t->self));
	return t->self ? profile_each(t->p, add_value, t) : -ENOMEM;
}

static void builder_fini(struct builder *b)
{
	free(b->spot_of);
	free(b->number);
	vec_fini(&b->nodes);
	vec_fini(&b->boxes);
	vec_fini(&b->path);
	vec_fini(&b->locations);
	intern_fini(&b->node_at);
	intern_fini(&b->box_at);
}

int html_tree_build(struct html_tree *t, struct profile *p, const struct functions *fs)
{
	struct builder b = {.t = t, .fs = fs};
	int r;

	*t = (struct html_tree){.p = p};
	intern_init(&b.node_at, sizeof(struct place));
	intern_init(&b.box_at, sizeof(struct place));
	r = make_spots(&b);
	if (!r)
		r = add_stacks(&b);
	if (!r)
		r = number(&b);
	builder_fini(&b);
	if (!r)
		r = add_values(t);
	return r ? err_set(r, "out of memory") : 0;
}

void html_tree_fini(struct html_tree *t)
{
	vec_fini(&t->spots);
	vec_fini(&t->first_spot);
	vec_fini(&t->boxes);
	vec_fini(&t->nodes);
	free(t->node_of_stack);
	free(t->self);
}
