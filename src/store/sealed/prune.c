/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shortens the stacks of a block of sums: code that has little of the service's time counts as
 * "[rare code]" in its caller.
 */
#include "base/nomem.h"
#include "profile/mark.h"
#include "store/internal.h"

struct pruning {
	struct profile *p;
	const struct sums *sums; /* the samples, summed up by stack and labels */
	/* indexed by node and value: the sum over the samples at the node and below it */
	int64_t *totals;
	int64_t least[PROFILE_MAX_VALUES];
	unsigned n_values;
	uint32_t rare; /* the location of "[rare code]" */
};

static int64_t *totals_of(struct pruning *x, uint32_t node)
{
	return x->totals + (size_t)node * x->n_values;
}

static int64_t size_of(int64_t v)
{
	return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

static void add_to(int64_t *sum, int64_t v)
{
	*sum = add_up_to_max(*sum, size_of(v));
}

/*
 * Sums up the samples of each node, and adds each node's sums to its parent's. Parents have lower
 * numbers than their children; node 0 is the root.
 */
static void sum_up(struct pruning *x)
{
	uint32_t parent, location;

	sums_foreach(e, x->sums)
	{
		int64_t *totals = totals_of(x, profile_stack_node(x->p, e->key.stack));

		for (unsigned i = 0; i < x->n_values; i++)
			add_to(&totals[i], e->values[i]);
	}
	for (uint32_t node = (uint32_t)profile_n_nodes(x->p); node; node--) {
		profile_get_node(x->p, node, &parent, &location);
		for (unsigned i = 0; i < x->n_values; i++)
			add_to(&totals_of(x, parent)[i], totals_of(x, node)[i]);
	}
}

static bool is_rare(struct pruning *x, uint32_t node)
{
	bool rare = node != 0;

	for (unsigned i = 0; rare && i < x->n_values; i++)
		rare = !totals_of(x, node)[i] || totals_of(x, node)[i] < x->least[i];
	return rare;
}

static uint32_t rare_location(struct profile *p)
{
	struct profile_mapping m = {.name = profile_string(p, MARK_MAPPING), .kind = KIND_MARK};
	struct profile_function f = {.name = profile_string(p, mark_text(MARK_RARE))};

	return profile_location(p, &(struct profile_location){.mapping = profile_mapping(p, &m),
							      .function = profile_function(p, &f)});
}

/* Returns @stack without the rare nodes at its end: they become one frame "[rare code]". */
static uint32_t prune_stack(struct pruning *x, uint32_t stack)
{
	uint32_t node = profile_stack_node(x->p, stack), kept = node, parent, location;
	size_t deep = 0;

	while (is_rare(x, kept))
		profile_get_node(x->p, kept, &kept, &location);
	if (kept == node)
		return stack;
	for (uint32_t at = kept; at; at = parent, deep++)
		profile_get_node(x->p, at, &parent, &location);
	if (kept)
		profile_get_node(x->p, kept, &parent, &location);
	if (!kept || location != x->rare) {
		kept = profile_node(x->p, kept, x->rare);
		deep++;
	}
	return profile_stack_at(x->p, kept, deep);
}

/* Sums up the samples again, with the shortened stacks as keys. */
static int prune_sums(struct pruning *x, struct sums *ret)
{
	int r = 0;

	sums_foreach(e, x->sums)
	{
		struct sums_key key = e->key;

		key.stack = prune_stack(x, key.stack);
		r = r			   ? r
		    : profile_failed(x->p) ? err_nomem()
					   : sums_add_near(ret, &key, e->values);
	}
	return r;
}

/*
 * Shortens the stacks that end in rare nodes. Nodes that this adds to the profile lie below nodes
 * that were kept, so their sums aren't needed.
 */
int store_prune(struct profile *p, const struct sums *sums, int64_t part, struct sums *ret)
{
	struct pruning x = {.p = p, .sums = sums, .n_values = profile_meta(p)->n_values};
	int r;

	x.rare = rare_location(p);
	if (x.rare)
		x.totals = calloc((profile_n_nodes(p) + 1) * (size_t)x.n_values, sizeof(*x.totals));
	if (!x.totals)
		return err_nomem();
	sum_up(&x);
	for (unsigned i = 0; i < x.n_values; i++)
		x.least[i] = x.totals[i] / part;
	r = prune_sums(&x, ret);
	free(x.totals);
	return r;
}
