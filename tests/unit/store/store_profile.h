/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes profiles with chosen or random contents. Turns their samples into sorted lines of text, so
 * that two profiles can be compared.
 */
#ifndef TESTS_UNIT_STORE_STORE_PROFILE_H
#define TESTS_UNIT_STORE_STORE_PROFILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

#define BEGIN_MS 1700000000000ll

static inline uint32_t random_below(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % n;
}

static inline struct profile *new_profile(void)
{
	struct profile *p = profile_new();
	struct profile_meta *m = profile_meta(p);

	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"cpu", "nanoseconds"};
	m->values[2] = (struct profile_value_type){"off_cpu", "nanoseconds"};
	m->n_values = 3;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = 10101010;
	m->time_ns = BEGIN_MS * (int64_t)NSEC_PER_MSEC;
	return p;
}

static inline uint32_t random_text(struct profile *p, uint32_t *state, const char *what, uint32_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%u", what, random_below(state, n));
	return profile_string(p, text);
}

static inline uint32_t random_location(struct profile *p, uint32_t *state)
{
	bool native = !random_below(state, 3);
	struct profile_mapping m = {
		.name = profile_string(p, native ? "/usr/lib/libc.so.6" : "[python 3.12]"),
		.build_id = native ? profile_string(p, "abcdef") : 0,
		.kind = native ? KIND_NATIVE : KIND_PYTHON,
		.start = native ? 0x1000 : 0,
		.limit = native ? UINT64_MAX - 5 : 0,
	};
	struct profile_function f = {
		.name = random_text(p, state, "function", 50),
		.file = native ? 0 : random_text(p, state, "file", 9),
		.system_name = native ? random_text(p, state, "_Z", 50) : 0,
		.start_line = (int32_t)random_below(state, 100),
	};
	struct profile_location l = {
		.mapping = profile_mapping(p, &m),
		.function = random_below(state, 9) ? profile_function(p, &f) : 0,
		.line = native ? 0 : 1 + (int32_t)random_below(state, 5000),
		.column = native ? 0 : 1,
		.end_line = native ? 0 : 5001,
		.end_column = native ? 0 : 7,
		.address = native ? 0xffff800000000000ull + random_below(state, 1u << 20) : 0,
	};

	return profile_location(p, &l);
}

static inline uint32_t random_stack(struct profile *p, uint32_t *state)
{
	uint32_t frames[40];
	size_t n = random_below(state, ARRAY_SIZE(frames));

	for (size_t i = 0; i < n; i++)
		frames[i] = random_location(p, state);
	return profile_stack(p, frames, n);
}

static inline uint32_t random_labels(struct profile *p, uint32_t *state)
{
	struct profile_label l[] = {
		{profile_string(p, "pid"), random_text(p, state, "", 4)},
		{profile_string(p, "thread"), random_text(p, state, "worker-", 6)},
		{profile_string(p, "empty"), 0},
	};

	return random_below(state, 20) ? profile_labels(p, l, 1 + random_below(state, 3)) : 0;
}

static inline struct profile_sample random_sample(struct profile *p, uint32_t *state)
{
	struct profile_sample s = {
		.stack = random_stack(p, state),
		.labels = random_labels(p, state),
		.time_ns = (int64_t)random_below(state, 60000) * (int64_t)NSEC_PER_MSEC,
		.values = {1, 10101010},
	};

	if (!random_below(state, 3)) {
		s.values[1] = 0;
		s.values[2] = -(int64_t)random_below(state, 1u << 30) * 4096;
	}
	return s;
}

/* Appends a frame of a stack as text, with all that the profile knows of it. */
static inline void add_frame(struct str *b, const struct profile *p, uint32_t id)
{
	const struct profile_location *l = profile_get_location(p, id);
	const struct profile_mapping *m = profile_get_mapping(p, l->mapping);
	struct profile_function none = {};
	const struct profile_function *f =
		l->function ? profile_get_function(p, l->function) : &none;

	str_addf(b, ";%s %s %d %llx %llx %llx|%s %s %s %s %d|%d %d %d %d %llx %d",
		 profile_get_string(p, m->name), profile_get_string(p, m->build_id), m->kind,
		 (unsigned long long)m->start, (unsigned long long)m->limit,
		 (unsigned long long)m->offset, profile_get_string(p, f->name),
		 profile_get_string(p, f->file), profile_get_string(p, f->system_name),
		 profile_get_string(p, f->made_in), f->start_line, l->line, l->column, l->end_line,
		 l->end_column, (unsigned long long)l->address, l->outer != 0);
}

struct lines {
	struct profile *p;
	VEC(char *) list;
};

static inline int add_line(void *arg, const struct profile_sample *s)
{
	struct lines *to = arg;
	const struct profile_meta *m = profile_meta(to->p);
	struct str b = {};
	size_t n;
	const uint32_t *frames = profile_get_stack(to->p, s->stack, &n);

	str_addf(&b, "%lld", (long long)(m->time_ns + s->time_ns) / 1000000);
	for (unsigned i = 0; i < m->n_values; i++)
		if (s->values[i])
			str_addf(&b, " %s/%s=%lld", m->values[i].type, m->values[i].unit,
				 (long long)s->values[i]);
	for (size_t i = 0; i < n; i++)
		add_frame(&b, to->p, frames[i]);
	const struct profile_label *l = profile_get_labels(to->p, s->labels, &n);

	/* adds labels by key, because the ids of keys may be in another order in each profile */
	for (const char *const *key = (const char *const[]){"empty", "pid", "thread", NULL}; *key;
	     key++)
		for (size_t i = 0; i < n; i++)
			if (streq(profile_get_string(to->p, l[i].key), *key))
				str_addf(&b, " %s:%s", *key, profile_get_string(to->p, l[i].value));
	return vec_push(&to->list, str_take(&b));
}

static inline int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline struct lines lines_of(struct profile *p)
{
	struct lines lines = {.p = p};

	assert_int_equal(profile_each(p, add_line, &lines), 0);
	if (lines.list.n)
		qsort(lines.list.v, lines.list.n, sizeof(*lines.list.v), by_text);
	return lines;
}

static inline void lines_fini(struct lines *l)
{
	vec_foreach(line, &l->list)
		free(*line);
	vec_fini(&l->list);
}

static inline void assert_same_samples(struct profile *a, struct profile *b)
{
	struct lines x = lines_of(a), y = lines_of(b);

	assert_int_equal(x.list.n, y.list.n);
	for (size_t i = 0; i < x.list.n; i++)
		assert_string_equal(x.list.v[i], y.list.v[i]);
	lines_fini(&x);
	lines_fini(&y);
}

#endif
