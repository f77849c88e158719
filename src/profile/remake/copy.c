/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies parts of one profile into another profile; see copy.h. */
#include "profile/remake/copy.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"

static uint32_t *ids(size_t n)
{
	return calloc(n + 1, sizeof(uint32_t));
}

int profile_copy_init(struct profile_copy *c, const struct profile *from, struct profile *to)
{
	*c = (struct profile_copy){
		.from = from,
		.to = to,
		.strings = ids(profile_n_strings(from)),
		.mappings = ids(profile_n_mappings(from)),
		.functions = ids(profile_n_functions(from)),
		.locations = ids(profile_n_locations(from)),
		.labels = ids(profile_n_labels(from)),
		.stacks = ids(profile_n_stacks(from)),
	};
	if (c->strings && c->mappings && c->functions && c->locations && c->labels && c->stacks)
		return 0;
	profile_copy_fini(c);
	return err_set(-ENOMEM, "out of memory");
}

void profile_copy_fini(struct profile_copy *c)
{
	free(c->strings);
	free(c->mappings);
	free(c->functions);
	free(c->locations);
	free(c->labels);
	free(c->stacks);
	*c = (struct profile_copy){};
}

uint32_t profile_copy_string(struct profile_copy *c, uint32_t id)
{
	if (id && !c->strings[id])
		c->strings[id] = profile_string(c->to, profile_get_string(c->from, id));
	return id ? c->strings[id] : 0;
}

uint32_t profile_copy_mapping(struct profile_copy *c, uint32_t id)
{
	if (id && !c->mappings[id]) {
		struct profile_mapping m = *profile_get_mapping(c->from, id);

		m.name = profile_copy_string(c, m.name);
		m.build_id = profile_copy_string(c, m.build_id);
		c->mappings[id] = profile_mapping(c->to, &m);
	}
	return id ? c->mappings[id] : 0;
}

uint32_t profile_copy_function(struct profile_copy *c, uint32_t id)
{
	if (id && !c->functions[id]) {
		struct profile_function f = *profile_get_function(c->from, id);

		f.name = profile_copy_string(c, f.name);
		f.file = profile_copy_string(c, f.file);
		f.system_name = profile_copy_string(c, f.system_name);
		f.made_in = profile_copy_string(c, f.made_in);
		c->functions[id] = profile_function(c->to, &f);
		if (c->functions[id])
			profile_ran_before(c->to, c->functions[id],
					   profile_get_ran_before(c->from, id));
	}
	return id ? c->functions[id] : 0;
}

/*
 * Returns the id of the copy of a location. The recursion for .outer comes to an end, because
 * .outer has a smaller id than its location, and a chain has at most PROFILE_MAX_INLINED of them.
 */
uint32_t profile_copy_location(struct profile_copy *c, uint32_t id)
{
	if (id && !c->locations[id]) {
		struct profile_location l = *profile_get_location(c->from, id);

		l.mapping = profile_copy_mapping(c, l.mapping);
		l.function = profile_copy_function(c, l.function);
		l.outer = profile_copy_location(c, l.outer);
		c->locations[id] = profile_location(c->to, &l);
	}
	return id ? c->locations[id] : 0;
}

uint32_t profile_copy_stack(struct profile_copy *c, uint32_t id)
{
	_cleanup_free_ uint32_t *to = NULL;
	const uint32_t *from;
	size_t n;

	if (!id || c->stacks[id])
		return id ? c->stacks[id] : 0;
	from = profile_get_stack(c->from, id, &n);
	to = calloc(n + 1, sizeof(*to));
	if (!to)
		return profile_no_memory(c->to);
	for (size_t i = 0; i < n; i++)
		to[i] = profile_copy_location(c, from[i]);
	c->stacks[id] = profile_stack(c->to, to, n);
	return c->stacks[id];
}

uint32_t profile_copy_labels(struct profile_copy *c, uint32_t id, const struct profile_label *extra,
			     size_t n_extra)
{
	const struct profile_label *from;
	_cleanup_free_ struct profile_label *to = NULL;
	size_t n;

	if (c->labels[id])
		return c->labels[id];
	from = profile_get_labels(c->from, id, &n);
	to = calloc(n + n_extra + 1, sizeof(*to));
	if (!to)
		return profile_no_memory(c->to);
	for (size_t i = 0; i < n; i++)
		to[i] = (struct profile_label){profile_copy_string(c, from[i].key),
					       profile_copy_string(c, from[i].value)};
	for (size_t i = 0; i < n_extra; i++)
		to[n + i] = extra[i];
	c->labels[id] = profile_labels(c->to, to, n + n_extra);
	return c->labels[id];
}

static const char *text(struct profile *to, const char *s)
{
	return profile_get_string(to, s ? profile_string(to, s) : 0);
}

struct profile_value_type profile_copy_value_type(struct profile *to,
						  const struct profile_value_type *type)
{
	return (struct profile_value_type){text(to, type->type), text(to, type->unit)};
}

int profile_copy_meta(struct profile *from, struct profile *to)
{
	const struct profile_meta *f = profile_meta(from);
	struct profile_meta *t = profile_meta(to);

	for (unsigned i = 0; i < f->n_values; i++)
		t->values[i] = profile_copy_value_type(to, &f->values[i]);
	t->n_values = f->n_values;
	t->default_value = f->default_value;
	t->period_type = profile_copy_value_type(to, &f->period_type);
	t->period = f->period;
	t->time_ns = f->time_ns;
	t->duration_ns = f->duration_ns;
	return profile_copy_comments(from, to);
}

int profile_copy_comments(struct profile *from, struct profile *to)
{
	int r = 0;

	vec_foreach(text, &profile_meta(from)->comments.list)
		r = r ? r : comments_add(&profile_meta(to)->comments, *text);
	return r;
}
