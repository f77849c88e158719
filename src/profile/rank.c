/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranks stacks (by the tree that they form) and label sets; see rank.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/rank.h"
#include "profile/tables.h"

static uint32_t *new_ids(uint32_t n)
{
	uint32_t *v = calloc((size_t)n + 1, sizeof(*v));

	for (uint32_t i = 0; v && i <= n; i++)
		v[i] = i;
	return v;
}

static int by_parent(const void *a, const void *b, void *arg)
{
	const struct profile_node *x = intern_get(arg, *(const uint32_t *)a, NULL);
	const struct profile_node *y = intern_get(arg, *(const uint32_t *)b, NULL);

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->location < y->location ? -1 : x->location > y->location;
}

/*
 * Returns the position of each node in a walk of the tree that starts at the root and visits
 * children in the order of their locations. A parent has a smaller id than its children. So a pass
 * from the last id to the first adds up the sizes of subtrees. Then a pass in the order of parents
 * assigns positions: a child's subtree begins where the subtree of the child before it ends. NULL:
 * out of memory.
 */
static uint32_t *walk_order(const struct intern *nodes)
{
	_cleanup_free_ uint32_t *ids = new_ids(nodes->n), *size = new_ids(nodes->n);
	_cleanup_free_ uint32_t *free_place = new_ids(nodes->n);
	uint32_t *place = new_ids(nodes->n);

	if (!ids || !size || !free_place || !place) {
		free(place);
		return NULL;
	}
	for (uint32_t id = 0; id <= nodes->n; id++)
		size[id] = 1;
	for (uint32_t id = nodes->n; id; id--)
		size[((const struct profile_node *)intern_get(nodes, id, NULL))->parent] +=
			size[id];
	qsort_r(ids + 1, nodes->n, sizeof(*ids), by_parent, (void *)nodes);
	free_place[0] = 1;
	for (uint32_t i = 1; i <= nodes->n; i++) {
		const struct profile_node *node = intern_get(nodes, ids[i], NULL);

		place[ids[i]] = free_place[node->parent];
		free_place[node->parent] += size[ids[i]];
		free_place[ids[i]] = place[ids[i]] + 1;
	}
	return TAKE_PTR(place);
}

struct stack_order {
	const struct intern *stacks;
	const uint32_t *place; /* by node id: the position of the node that walk_order() returned */
};

static int by_place(const void *a, const void *b, void *arg)
{
	const struct stack_order *o = arg;
	const uint32_t *x = intern_get(o->stacks, *(const uint32_t *)a, NULL);
	const uint32_t *y = intern_get(o->stacks, *(const uint32_t *)b, NULL);

	return o->place[*x] < o->place[*y] ? -1 : o->place[*x] > o->place[*y];
}

static int by_labels(const void *a, const void *b, void *arg)
{
	size_t n, m;
	const void *x = intern_get(arg, *(const uint32_t *)a, &n);
	const void *y = intern_get(arg, *(const uint32_t *)b, &m);
	int r = memcmp(x, y, MIN(n, m));

	return r ? r : n < m ? -1 : n > m;
}

/* Turns @ids, an array of ids in order, into an array of ranks indexed by id. */
static int to_ranks(const uint32_t *ids, uint32_t n, uint32_t **ret)
{
	uint32_t *rank = new_ids(n);

	if (!rank)
		return err_set(-ENOMEM, "out of memory for sorting stacks");
	for (uint32_t i = 1; i <= n; i++)
		rank[ids[i]] = i;
	*ret = rank;
	return 0;
}

int profile_rank_stacks(const struct profile *p, uint32_t **ret)
{
	struct stack_order order = {&profile_tables(p)->stacks};
	_cleanup_free_ uint32_t *place = walk_order(&profile_tables(p)->nodes);
	_cleanup_free_ uint32_t *ids = new_ids(order.stacks->n);

	if (!place || !ids)
		return err_set(-ENOMEM, "out of memory for sorting stacks");
	order.place = place;
	qsort_r(ids + 1, order.stacks->n, sizeof(*ids), by_place, &order);
	return to_ranks(ids, order.stacks->n, ret);
}

int profile_rank_labels(const struct profile *p, uint32_t **ret)
{
	const struct intern *labels = &profile_tables(p)->labels;
	_cleanup_free_ uint32_t *ids = new_ids(labels->n);

	if (!ids)
		return err_set(-ENOMEM, "out of memory for sorting label sets");
	qsort_r(ids + 1, labels->n, sizeof(*ids), by_labels, (void *)labels);
	return to_ranks(ids, labels->n, ret);
}
