/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frees and clears batches (batch.h), answers questions about their contents, and puts a batch's
 * tree of stacks in order.
 */
#include "store/batch.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "store/sort.h"

void batch_fini(struct batch *b)
{
	vec_fini(&b->meta.comments);
	str_fini(&b->text);
	vec_fini(&b->strings);
	vec_fini(&b->mappings);
	vec_fini(&b->functions);
	vec_fini(&b->locations);
	vec_fini(&b->labels);
	vec_fini(&b->sets);
	vec_fini(&b->nodes);
	vec_fini(&b->samples);
	vec_fini(&b->values);
}

/*
 * Removes the contents that a block shares with no other block: label sets, nodes, samples and
 * comments. Its names (strings, mappings, functions, locations) stay.
 */
static void clear_block(struct batch *b)
{
	b->labels.n = b->sets.n = b->nodes.n = b->samples.n = b->values.n = 0;
	b->meta.comments.n = 0;
}

void batch_clear(struct batch *b)
{
	b->base[BATCH_STRINGS] += b->strings.n;
	b->base[BATCH_MAPPINGS] += b->mappings.n;
	b->base[BATCH_FUNCTIONS] += b->functions.n;
	b->base[BATCH_LOCATIONS] += b->locations.n;
	b->base[BATCH_NODES] += b->nodes.n;
	vec_foreach(set, &b->sets)
		b->base[BATCH_SETS] = MAX(b->base[BATCH_SETS], set->number);
	str_clear(&b->text);
	b->strings.n = b->mappings.n = b->functions.n = b->locations.n = 0;
	clear_block(b);
}

void batch_forget_block(struct batch *b)
{
	clear_block(b);
	/*
	 * a batch that holds only names has no samples, so it doesn't matter how many values a
	 * sample has
	 */
	b->meta.n_values = 1;
}

int batch_check_inlined(const struct batch *b)
{
	_cleanup_free_ uint16_t *inlined = calloc(b->locations.n + 1, sizeof(*inlined));

	if (!inlined)
		return err_nomem();
	for (uint32_t i = 1; i <= b->locations.n; i++) {
		const struct profile_location *l = &b->locations.v[i - 1];

		inlined[i] = (uint16_t)(inlined[l->outer] + 1);
		if (inlined[i] > PROFILE_MAX_INLINED)
			return err_set(-EBADMSG,
				       "too many functions are inlined into one function");
	}
	return 0;
}

const char *batch_text(const struct batch *b, uint32_t number, size_t *n)
{
	*n = number ? b->strings.v[number - 1].n : 0;
	return *n ? b->text.s + b->strings.v[number - 1].at : "";
}

bool batch_has_label(const struct batch *b, uint32_t set, const struct profile_label_text *want)
{
	for (uint32_t i = 0; set && i < b->sets.v[set - 1].n; i++) {
		const struct profile_label *l = &b->labels.v[b->sets.v[set - 1].at + i];
		size_t key, value;
		const char *k = batch_text(b, l->key, &key), *v = batch_text(b, l->value, &value);

		if (key == want->key_len && !memcmp(k, want->key, key) &&
		    value == strlen(want->value) && !memcmp(v, want->value, value))
			return true;
	}
	return false;
}

bool batch_has_labels(const struct batch *b, uint32_t set, const struct profile_label_text *wanted,
		      size_t n)
{
	bool all = true;

	for (size_t i = 0; all && i < n; i++) {
		bool any = false;

		for (size_t k = 0; !any && k < n; k++)
			any = wanted[k].key_len == wanted[i].key_len &&
			      !memcmp(wanted[k].key, wanted[i].key, wanted[i].key_len) &&
			      batch_has_label(b, set, &wanted[k]);
		all = any;
	}
	return all;
}

/*
 * The tree of a batch while its nodes are put in order. All arrays are indexed by a node's number;
 * element 0 is the root's.
 */
struct order {
	/* the node's first child, and the next child of the node's parent */
	uint32_t *first, *next;
	uint32_t *number;      /* the new number */
	uint32_t *by_location; /* indices of the nodes in order of their locations */
	struct batch_node *nodes;
};

static void order_fini(struct order *o)
{
	free(o->first);
	free(o->next);
	free(o->number);
	free(o->by_location);
	free(o->nodes);
}

/*
 * Makes the lists of children. A child is put at the head of its parent's list. The child that
 * sorts last is put there first, so each list ends up sorted by location.
 */
static int order_init(struct order *o, const struct batch *b)
{
	size_t n = b->nodes.n;
	int r;

	o->first = calloc(n + 1, sizeof(*o->first));
	o->next = calloc(n + 1, sizeof(*o->next));
	o->number = calloc(n + 1, sizeof(*o->number));
	o->nodes = calloc(n + 1, sizeof(*o->nodes));
	if (!o->first || !o->next || !o->number || !o->nodes)
		return err_nomem();
	r = sort_rows(n ? &b->nodes.v->location : NULL, sizeof(*b->nodes.v), n, &o->by_location);
	for (size_t i = r ? 0 : n; i--;) {
		uint32_t node = o->by_location[i] + 1, parent = b->nodes.v[node - 1].parent;

		o->next[node] = o->first[parent];
		o->first[parent] = node;
	}
	return r;
}

/* Numbers the nodes in preorder: after a node its subtree, then its next sibling. */
static void number(struct order *o, const struct batch *b)
{
	uint32_t at = o->first[0], n = 0;

	while (at) {
		const struct batch_node *node = &b->nodes.v[at - 1];

		o->number[at] = ++n;
		o->nodes[n - 1] = (struct batch_node){o->number[node->parent], node->location};
		if (o->first[at]) {
			at = o->first[at];
			continue;
		}
		while (at && !o->next[at])
			at = b->nodes.v[at - 1].parent;
		at = at ? o->next[at] : 0;
	}
}

int batch_order(struct batch *b)
{
	_cleanup_(order_fini) struct order o = {};
	int r = order_init(&o, b);

	if (r)
		return r;
	number(&o, b);
	if (b->nodes.n)
		memcpy(b->nodes.v, o.nodes, b->nodes.n * sizeof(*o.nodes));
	vec_foreach(s, &b->samples)
		s->node = o.number[s->node];
	return 0;
}
