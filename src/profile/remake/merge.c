/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges several profiles into one; see merge.h. */
#include "profile/remake/merge.h"

#include <errno.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "profile/remake/copy.h"
#include "profile/cpu_use.h"

struct merge {
	struct profile *to;
	VEC(struct profile_label) labels;
	/* wall clock time at which the earliest profile started; 0: no profile has such a time */
	int64_t start_ns;
	bool all_ended; /* each profile consists of whole runs that ended with exit code 0 */
	/* each profile has comments about CPU use, so the merged profile gets such comments */
	bool tells_use;

	/* The members below are about the profile that is merged in now. */
	struct profile_copy copy;
	int64_t shift_ns;
	/* for each value of the profile that is being merged in: its index in the merged profile */
	unsigned value_at[PROFILE_MAX_VALUES];
};

static bool is_taken(const struct merge *m, unsigned n, unsigned at)
{
	for (unsigned i = 0; i < n; i++)
		if (m->value_at[i] == at)
			return true;
	return false;
}

/*
 * Finds a profile's value type @type, its number @n, in the merged profile. Adds the type if it
 * isn't there. If a profile has the same type twice, the merged profile has it twice.
 */
static int find_type(struct merge *m, const struct profile_value_type *type, unsigned n)
{
	struct profile_meta *meta = profile_meta(m->to);

	for (unsigned i = 0; i < meta->n_values; i++)
		if (profile_same_type(&meta->values[i], type) && !is_taken(m, n, i))
			return (int)i;
	if (meta->n_values == PROFILE_MAX_VALUES)
		return err_set(-E2BIG,
			       "the profiles have more than %d kinds of values between them; "
			       "'%s' in '%s' is one too many",
			       PROFILE_MAX_VALUES, type->type, type->unit);
	meta->values[meta->n_values] = profile_copy_value_type(m->to, type);
	return (int)meta->n_values++;
}

static int map_types(struct merge *m, struct profile *from)
{
	const struct profile_meta *meta = profile_meta(from);

	for (unsigned i = 0; i < meta->n_values; i++) {
		int at = find_type(m, &meta->values[i], i);

		if (at < 0)
			return at;
		m->value_at[i] = (unsigned)at;
	}
	return 0;
}

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct merge *m = arg;
	const struct profile_meta *meta = profile_meta((struct profile *)m->copy.from);
	struct profile_sample to = {.time_ns = s->time_ns};

	if (to.time_ns >= 0 && __builtin_add_overflow(to.time_ns, m->shift_ns, &to.time_ns))
		to.time_ns = INT64_MAX;
	for (unsigned i = 0; i < meta->n_values; i++)
		to.values[m->value_at[i]] = s->values[i];
	to.stack = profile_copy_stack(&m->copy, s->stack);
	to.labels = profile_copy_labels(&m->copy, s->labels, m->labels.v, m->labels.n);
	if (profile_failed(m->to) || (s->stack && !to.stack))
		return err_set(-ENOMEM, "out of memory");
	return profile_add(m->to, &to);
}

/*
 * Adds a comment that says how many whole runs the profiles consist of. The comments about runs in
 * the single profiles are then left out. But if any profile doesn't consist of whole runs, they are
 * kept, and the new comment says that not every recording ended with 0.
 */
static int tell_runs(struct merge *m, struct profile *const *in, size_t n)
{
	struct comments *to = &profile_meta(m->to)->comments;
	uint64_t sum = 0, ended = 0;
	char text[64] = COMMENTS_ENDED ": 0";

	for (size_t i = 0; i < n; i++) {
		const struct comments *c = &profile_meta(in[i])->comments;
		uint64_t runs = comments_runs(c);

		sum += runs;
		m->all_ended &= runs > 0;
		vec_foreach(line, &c->list)
			ended += comments_is_ended(*line);
	}
	if (!ended)
		return 0;
	if (!m->all_ended)
		return comments_add(to, COMMENTS_ENDED ": not every merged recording ended with 0");
	if (sum > 1)
		snprintf(text, sizeof(text), COMMENTS_ENDED ": 0, %llu runs",
			 (unsigned long long)sum);
	return comments_add(to, text);
}

static bool tells_use(struct profile *p)
{
	struct cpu_use u;

	vec_foreach(text, &profile_meta(p)->comments.list)
		if (cpu_use_parse(*text, &u) && u.all)
			return true;
	return false;
}

static int take_comments(const struct merge *m, struct profile *from)
{
	int r = 0;

	vec_foreach(text, &profile_meta(from)->comments.list)
		if (!r && !(m->all_ended && comments_is_ended(*text)) &&
		    !(!m->tells_use && cpu_use_is(*text)))
			r = comments_add(&profile_meta(m->to)->comments, *text);
	return r;
}

static int take_profile(struct merge *m, struct profile *from)
{
	struct profile_meta *meta = profile_meta(m->to);
	const struct profile_meta *have = profile_meta(from);
	int r = map_types(m, from);

	if (r)
		return r;
	m->shift_ns = have->time_ns > 0 ? have->time_ns - m->start_ns : 0;
	meta->duration_ns = MAX(meta->duration_ns, add_up_to_max(m->shift_ns, have->duration_ns));
	r = profile_copy_init(&m->copy, from, m->to);
	if (!r)
		r = profile_each(from, take_sample, m);
	profile_copy_fini(&m->copy);
	return r ? r : take_comments(m, from);
}

static bool has_samples(const struct profile_meta *meta)
{
	for (unsigned i = 0; i < meta->n_values; i++)
		if (streq(meta->values[i].type, "samples"))
			return true;
	return false;
}

/*
 * Sets the period to that of the first profile, or to one sample if the values "samples" of the
 * profiles count samples of different events.
 */
static void set_period(struct merge *m, struct profile *const *in, size_t n)
{
	struct profile_meta *meta = profile_meta(m->to), *first = profile_meta(in[0]);
	static const struct profile_value_type samples = {"samples", "count"};

	meta->period_type = profile_copy_value_type(m->to, &first->period_type);
	meta->period = first->period;
	for (size_t i = 0; i < n; i++) {
		const struct profile_meta *other = profile_meta(in[i]);
		struct profile_value_type type =
			profile_copy_value_type(m->to, &other->period_type);

		if (!has_samples(other) || profile_same_type(&type, &meta->period_type))
			continue;
		meta->period_type = samples;
		meta->period = 1;
	}
}

/* Sets the start and the period of the merged profile. */
static void begin(struct merge *m, struct profile *const *in, size_t n)
{
	struct profile_meta *meta = profile_meta(m->to);

	for (size_t i = 0; i < n; i++) {
		int64_t start = profile_meta(in[i])->time_ns;

		if (start > 0 && (!m->start_ns || start < m->start_ns))
			m->start_ns = start;
	}
	meta->time_ns = m->start_ns;
	set_period(m, in, n);
}

static int add_labels(struct merge *m, const struct profile_label_text *labels, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct profile_label l = {profile_string_n(m->to, labels[i].key, labels[i].key_len),
					  profile_string(m->to, labels[i].value)};

		if (vec_push(&m->labels, l))
			return err_set(-ENOMEM, "out of memory");
	}
	return 0;
}

int profile_merge(struct profile *const *in, size_t n, const struct profile_label_text *labels,
		  size_t n_labels, struct profile **ret)
{
	struct merge m = {.to = profile_new(), .all_ended = true, .tells_use = true};
	int r = m.to ? add_labels(&m, labels, n_labels) : err_set(-ENOMEM, "out of memory");

	if (!r)
		begin(&m, in, n);
	r = r ? r : tell_runs(&m, in, n);
	for (size_t i = 0; i < n; i++)
		m.tells_use &= tells_use(in[i]);
	for (size_t i = 0; i < n && !r; i++)
		r = take_profile(&m, in[i]);
	vec_fini(&m.labels);
	if (r) {
		profile_free(m.to);
		return r;
	}
	/*
	 * The merged profile begins with the first profile's value types, in their order. So the
	 * first profile's default has the same index.
	 */
	profile_meta(m.to)->default_value = profile_meta(in[0])->default_value;
	*ret = m.to;
	return 0;
}
