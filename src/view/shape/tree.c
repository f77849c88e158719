/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges samples into a call tree; see tree.h. */
#include "view/shape/tree.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"

/*
 * Returns the child of @parent with @key, which is made if needed; 0 if out of memory (node 0 is
 * never a child).
 */
static uint32_t child(struct tree *t, uint32_t parent, uint32_t key)
{
	uint32_t id = intern_put(&t->children, (const uint32_t[]){parent, key}, 0);
	struct tree_node node = {.parent = parent, .key = key};

	if (id < t->nodes.n)
		return id;
	node.depth = t->nodes.v[parent].depth + 1;
	if (vec_push(&t->nodes, node))
		return 0;
	t->nodes.v[parent].n_children++;
	return id;
}

/*
 * A node on the path from the root to the end of the stack that was added last. Neighbouring stacks
 * share most of their path, and nodes of the shared part aren't looked up again. That more than
 * halves the time that deep stacks take.
 */
struct step {
	uint32_t key, node;
};
typedef VEC(struct step) step_vec;

/* Returns the child of @parent with @key; the child is at depth @depth. 0: out of memory. */
static uint32_t descend(struct tree *t, step_vec *way, size_t depth, uint32_t parent, uint32_t key)
{
	uint32_t node;

	if (depth < way->n && way->v[depth].key == key)
		return way->v[depth].node;
	node = child(t, parent, key);
	way->n = MIN(way->n, depth);
	return node && !vec_push(way, (struct step){key, node}) ? node : 0;
}

static int add_line(struct tree *t, uint32_t node, int32_t line, int64_t value)
{
	uint32_t id = intern_put(&t->lines_at, (const uint32_t[]){node, (uint32_t)line}, 0);

	if (!id)
		return -ENOMEM;
	if (id > t->lines.n)
		return vec_push(&t->lines, (struct tree_line){node, line, value});
	t->lines.v[id - 1].value += value;
	return 0;
}

static void count(struct tree *t, uint32_t node, int64_t value, int64_t samples)
{
	t->nodes.v[node].value += value;
	t->nodes.v[node].samples += samples;
}

/*
 * Adds one stack with its sum: the sum counts for each node on the path from the root to the
 * stack's end.
 */
static int add_stack(struct tree *t, const struct tree_plan *plan, const struct profile_sum *sum,
		     step_vec *way)
{
	int64_t value = sum->values[plan->value], samples = sum->values[0];
	uint32_t node = 0;
	size_t n = 0, depth = 0;
	const uint32_t *stack = sum->stack ? profile_get_stack(plan->p, sum->stack, &n) : NULL;

	count(t, 0, value, samples);
	for (unsigned d = 0; d < plan->roots->depth; d++) {
		node = descend(t, way, depth++, node,
			       TREE_ROOT | roots_rank(plan->roots, sum->labels, d));
		if (!node)
			return -ENOMEM;
		count(t, node, value, samples);
	}
	for (size_t i = n; i--;) {
		node = descend(t, way, depth++, node, plan->key_of_location[stack[i]]);
		if (!node)
			return -ENOMEM;
		count(t, node, value, samples);
		if (plan->lines &&
		    add_line(t, node, profile_get_location(plan->p, stack[i])->line, value))
			return -ENOMEM;
	}
	if (!node) {
		node = child(t, 0, plan->no_frames);
		if (!node)
			return -ENOMEM;
		count(t, node, value, samples);
	}
	t->nodes.v[node].self += value;
	return 0;
}

struct sort_arg {
	const struct tree *t;
	const struct tree_plan *plan;
};

static int compare_siblings(const void *a, const void *b, void *arg)
{
	const struct sort_arg *s = arg;

	return s->plan->compare(s->plan->arg, &s->t->nodes.v[*(const uint32_t *)a],
				&s->t->nodes.v[*(const uint32_t *)b]);
}

/* Gives every node a range in .order for its children, and sorts each range. */
static int sort_children(struct tree *t, const struct tree_plan *plan)
{
	_cleanup_free_ uint32_t *filled = calloc(t->nodes.n, sizeof(*filled));
	struct sort_arg arg = {.t = t, .plan = plan};
	uint32_t next = 0;

	t->order = calloc(t->nodes.n, sizeof(*t->order));
	if (!t->order || !filled)
		return -ENOMEM;
	vec_foreach(node, &t->nodes) {
		node->first = next;
		next += node->n_children;
	}
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		uint32_t parent = t->nodes.v[i].parent;

		t->order[t->nodes.v[parent].first + filled[parent]++] = i;
	}
	vec_foreach(node, &t->nodes) {
		if (node->n_children > 1)
			qsort_r(t->order + node->first, node->n_children, sizeof(*t->order),
				compare_siblings, &arg);
	}
	return 0;
}

static int compare_lines(const void *va, const void *vb)
{
	const struct tree_line *a = va, *b = vb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

int tree_build(struct tree *t, const struct tree_plan *plan)
{
	step_vec way = {};
	int r;

	*t = (struct tree){};
	intern_init(&t->children, 2 * sizeof(uint32_t));
	intern_init(&t->lines_at, 2 * sizeof(uint32_t));
	r = vec_push(&t->nodes, (struct tree_node){});
	for (size_t i = 0; !r && i < plan->n_sums; i++) {
		int64_t value = plan->sums[i].values[plan->value];

		if (value > 0 || (value < 0 && !plan->drawn))
			r = add_stack(t, plan, &plan->sums[i], &way);
	}
	vec_fini(&way);
	/* the look-up tables are as large as the tree, and are no longer needed */
	intern_fini(&t->children);
	intern_fini(&t->lines_at);
	if (!r)
		r = sort_children(t, plan);
	if (r) {
		tree_fini(t);
		return err_set(r, "out of memory");
	}
	if (t->lines.n)
		qsort(t->lines.v, t->lines.n, sizeof(*t->lines.v), compare_lines);
	return 0;
}

void tree_fini(struct tree *t)
{
	vec_fini(&t->nodes);
	vec_fini(&t->lines);
	free(t->order);
	intern_fini(&t->children);
	intern_fini(&t->lines_at);
	*t = (struct tree){};
}

int tree_value(struct profile *p, const char *name)
{
	const struct profile_meta *meta = profile_meta(p);
	_cleanup_str_ struct str known = {};

	for (unsigned i = 0; i < meta->n_values; i++) {
		if (streq(meta->values[i].type, name))
			return (int)i;
		str_addf(&known, "%s%s", i ? ", " : "", meta->values[i].type);
	}
	for (unsigned i = 0; i < meta->n_values; i++) {
		const struct profile_value_type *t = &meta->values[i];
		size_t n = strlen(t->type);

		if (str_starts(name, t->type) && name[n] == '/' && streq(name + n + 1, t->unit))
			return (int)i;
	}
	return err_of("value", name, -EINVAL, "the profile has no such values; it has %s",
		      str_cstr(&known));
}
