/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks up strings, frames, stacks and labels of a profile by their ids. Changes nothing of what
 * profile.c made.
 */
#include <assert.h>

#include "profile/internal.h"

uint64_t profile_get_ran_before(const struct profile *p, uint32_t function)
{
	return function <= p->ran_before.n ? p->ran_before.v[function - 1] : 0;
}

const char *profile_get_string(const struct profile *p, uint32_t id)
{
	return id ? intern_get(&p->t.strings, id, NULL) : "";
}

/*
 * Does what intern_get() does, for items of @size bytes. It is inlined, because views look up items
 * for each frame of each sample.
 */
static inline const void *item_of(const struct intern *t, uint32_t id, size_t size)
{
	assert(id && id <= t->n);
	return intern_at(t, id, size);
}

const struct profile_mapping *profile_get_mapping(const struct profile *p, uint32_t id)
{
	return item_of(&p->t.mappings, id, sizeof(struct profile_mapping));
}

const struct profile_function *profile_get_function(const struct profile *p, uint32_t id)
{
	return item_of(&p->t.functions, id, sizeof(struct profile_function));
}

const struct profile_location *profile_get_location(const struct profile *p, uint32_t id)
{
	return item_of(&p->t.locations, id, sizeof(struct profile_location));
}

unsigned profile_n_inlined(const struct profile *p, uint32_t location)
{
	unsigned n = 0;

	for (; location; location = profile_get_location(p, location)->outer)
		n++;
	return n;
}

/*
 * Fills *to with stack @id. Most stacks have their outer frames in common with the stack that was
 * asked for before. So the walk stops at the first node that both stacks have, and the frames from
 * there on are copied from *before. A parent node has a smaller id than its children, so both
 * stacks can be walked side by side.
 */
static void walk_stack(const struct profile *p, uint32_t id, const struct known_stack *before,
		       struct known_stack *to)
{
	uint32_t at = *(const uint32_t *)intern_get(&p->t.stacks, id, NULL);
	size_t depth = 0, same = 0, rest;

	while (at) {
		while (same < before->n && before->nodes[same] > at)
			same++;
		if (same < before->n && before->nodes[same] == at)
			break;
		const struct profile_node *node = intern_at(&p->t.nodes, at, sizeof(*node));

		to->nodes[depth] = at;
		to->v[depth++] = node->location;
		at = node->parent;
	}
	rest = at ? before->n - same : 0;
	if (rest) {
		memcpy(to->v + depth, before->v + same, rest * sizeof(*to->v));
		memcpy(to->nodes + depth, before->nodes + same, rest * sizeof(*to->nodes));
	}
	to->n = depth + rest;
	to->id = id;
}

/*
 * .known caches the last two stacks, because callers often ask for the same stack again soon. The
 * cache changes although @p is const.
 */
const uint32_t *profile_get_stack(const struct profile *p, uint32_t id, size_t *n)
{
	struct profile *cache = (struct profile *)p;
	struct known_stack *known = &cache->known[p->stack_turn];

	if (known->id != id) {
		known = &cache->known[cache->stack_turn ^= 1];
		if (known->id != id)
			walk_stack(p, id, &cache->known[cache->stack_turn ^ 1], known);
	}
	*n = known->n;
	return known->v;
}

const struct profile_label *profile_get_labels(const struct profile *p, uint32_t id, size_t *n)
{
	const struct profile_label *labels = NULL;
	size_t bytes = 0;

	if (id)
		labels = intern_get(&p->t.labels, id, &bytes);
	*n = bytes / sizeof(*labels);
	return labels;
}

static const struct profile_label *find_label(const struct profile *p, uint32_t id, const char *key,
					      size_t n)
{
	size_t n_labels;
	const struct profile_label *l = profile_get_labels(p, id, &n_labels);

	for (size_t i = 0; i < n_labels; i++) {
		const char *have = profile_get_string(p, l[i].key);

		if (strlen(have) == n && !memcmp(have, key, n))
			return &l[i];
	}
	return NULL;
}

const char *profile_find_label(const struct profile *p, uint32_t id, const char *key, size_t n)
{
	const struct profile_label *l = find_label(p, id, key, n);

	return l ? profile_get_string(p, l->value) : NULL;
}

uint32_t profile_label_value(const struct profile *p, uint32_t id, const char *key)
{
	const struct profile_label *l = find_label(p, id, key, strlen(key));

	return l ? l->value : 0;
}

const char *profile_label_text(const struct profile *p, uint32_t id, const char *key)
{
	return profile_find_label(p, id, key, strlen(key)) ?: "";
}

void profile_add_no_label(struct str *b, const char *key)
{
	str_addf(b, "[no %s]", key);
}

size_t profile_n_strings(const struct profile *p)
{
	return p->t.strings.n;
}

size_t profile_n_mappings(const struct profile *p)
{
	return p->t.mappings.n;
}

size_t profile_n_functions(const struct profile *p)
{
	return p->t.functions.n;
}

size_t profile_n_locations(const struct profile *p)
{
	return p->t.locations.n;
}

size_t profile_n_stacks(const struct profile *p)
{
	return p->t.stacks.n;
}

size_t profile_n_labels(const struct profile *p)
{
	return p->t.labels.n;
}

size_t profile_n_nodes(const struct profile *p)
{
	return p->t.nodes.n;
}

void profile_get_node(const struct profile *p, uint32_t id, uint32_t *parent, uint32_t *location)
{
	const struct profile_node *node = intern_get(&p->t.nodes, id, NULL);

	*parent = node->parent;
	*location = node->location;
}

uint32_t profile_stack_node(const struct profile *p, uint32_t stack)
{
	return stack ? *(const uint32_t *)intern_get(&p->t.stacks, stack, NULL) : 0;
}

size_t profile_bytes(const struct profile *p)
{
	const struct profile_tables *t = &p->t;
	const struct intern *const all[] = {&t->strings, &t->mappings, &t->functions, &t->locations,
					    &t->nodes,	 &t->stacks,   &t->labels};
	size_t n = 4 * p->stack_cap * sizeof(*p->known[0].v) +
		   p->stack_at.cap * sizeof(*p->stack_at.v);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		n += all[i]->bytes + all[i]->n_slots * sizeof(*all[i]->slots);
	return n;
}

const struct profile_tables *profile_tables(const struct profile *p)
{
	return &p->t;
}

const struct samplelog *profile_log(const struct profile *p)
{
	return &p->log;
}

bool profile_samples_are_of(const struct profile_meta *m, unsigned value)
{
	const struct profile_value_type *of = &m->values[value];

	if (!m->period_type.type || streq(of->type, "samples") ||
	    profile_same_type(of, &m->period_type))
		return true;
	for (unsigned i = 0; i < m->n_values; i++)
		if (profile_same_type(&m->values[i], &m->period_type))
			return false;
	return true;
}
