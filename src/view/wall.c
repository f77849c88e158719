/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds the value `wall`; see wall.h. */
#include "view/wall.h"

static const struct profile_value_type cpu = {"cpu", "nanoseconds"};
static const struct profile_value_type off_cpu = {"off_cpu", "nanoseconds"};
static const struct profile_value_type wall = {VALUE_WALL, "nanoseconds"};

/* Returns the index of the value of this type; -1: the profile has none. */
static int find(struct profile *p, const struct profile_value_type *type)
{
	const struct profile_meta *m = profile_meta(p);

	for (unsigned i = 0; i < m->n_values; i++)
		if (profile_same_type(&m->values[i], type))
			return (int)i;
	return -1;
}

struct adding {
	int cpu, off_cpu;
	unsigned wall;
};

static int64_t sum(int64_t a, int64_t b)
{
	int64_t s;

	return !__builtin_add_overflow(a, b, &s) ? s : a < 0 ? INT64_MIN : INT64_MAX;
}

static int add(void *arg, struct profile_sample *s)
{
	const struct adding *a = arg;

	s->values[a->wall] = sum(s->values[a->cpu], s->values[a->off_cpu]);
	return 0;
}

static bool is_kept(const char *format)
{
	return format && (streq(format, "pprof") || streq(format, "jsonl"));
}

int wall_derive(struct profile *p, const char *value, const char *format)
{
	struct profile_meta *m = profile_meta(p);
	int there = find(p, &wall);
	struct adding a = {find(p, &cpu), find(p, &off_cpu), m->n_values};
	int r;

	if (!value || !is_wall(value) || is_kept(format) || a.cpu < 0 || a.off_cpu < 0)
		return 0;
	/*
	 * The samples of a page that shows wall time have the value `wall` already. After a merge
	 * some samples may lack it.
	 */
	if (there >= 0) {
		a.wall = (unsigned)there;
		return profile_change_each(p, add, &a);
	}
	if (m->n_values == PROFILE_MAX_VALUES)
		return 0;
	m->values[m->n_values++] = wall;
	r = profile_change_each(p, add, &a);
	if (r)
		m->n_values--;
	return r;
}
