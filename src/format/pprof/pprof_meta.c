/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the value types and comments of a pprof file. If not all value types fit in struct
 * profile_meta, a comment names the value types that were left out.
 */
#include "format/pprof/pprof_meta.h"

#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"

#define NO_MEMORY err_set(-ENOMEM, "out of memory for reading the profile")

static int resolve_value_type(struct pprof_tables *t, uint64_t type, uint64_t unit,
			      struct profile_value_type *ret)
{
	uint32_t type_id = 0, unit_id = 0;
	int r = pprof_tables_string(t, type, 0, "ValueType.type", &type_id);

	if (!r)
		r = pprof_tables_string(t, unit, 0, "ValueType.unit", &unit_id);
	if (r)
		return r;
	ret->type = profile_get_string(t->p, type_id);
	ret->unit = profile_get_string(t->p, unit_id);
	return 0;
}

/*
 * Keeps the first PROFILE_MAX_VALUES value types of the file, and in any case the default one. If
 * the file names no default, that is the last type, as for pprof itself (google/pprof,
 * internal/driver/driver.go, sampleFormat).
 */
int pprof_meta_values(struct pprof_tables *t)
{
	struct profile_meta *m = profile_meta(t->p);
	size_t n = t->value_types.n, by_default = n - 1;

	if (!n)
		return err_set(-EINVAL, "pprof: the file has no sample types: it isn't a profile");
	for (size_t i = 0; i < n; i++) {
		if (t->meta.default_type && t->value_types.v[i].type == t->meta.default_type)
			by_default = i;
	}
	m->n_values = (unsigned)MIN(n, (size_t)PROFILE_MAX_VALUES);
	m->default_value = (unsigned)MIN(by_default, (size_t)m->n_values - 1);
	for (unsigned i = 0; i < m->n_values; i++) {
		int r;

		t->value_at[i] = i == m->default_value ? (unsigned)by_default : i;
		r = resolve_value_type(t, t->value_types.v[t->value_at[i]].type,
				       t->value_types.v[t->value_at[i]].unit, &m->values[i]);
		if (r)
			return r;
	}
	return resolve_value_type(t, t->period_type.type, t->period_type.unit, &m->period_type);
}

static int add_comment(struct pprof_tables *t, const char *text)
{
	return comments_add(&profile_meta(t->p)->comments, text) ? NO_MEMORY : 0;
}

/* If there was no room for some value types, adds a comment that names them. */
static int tell_left_out(struct pprof_tables *t)
{
	_cleanup_str_ struct str text = {};
	const struct profile_meta *m = profile_meta(t->p);
	size_t left = t->value_types.n - m->n_values;

	if (!left)
		return 0;
	str_addf(&text, COMMENTS_LEFT_OUT ": %zu sample type%s:", left, left == 1 ? "" : "s");
	for (size_t i = m->n_values - 1; i < t->value_types.n; i++) {
		uint32_t id = 0;
		int r = pprof_tables_string(t, t->value_types.v[i].type, 0, "ValueType.type", &id);

		if (r)
			return r;
		if (i != t->value_at[m->n_values - 1])
			str_addf(&text, " %.40s", profile_get_string(t->p, id));
	}
	return text.failed ? NO_MEMORY : add_comment(t, text.s);
}

int pprof_meta_comments(struct pprof_tables *t)
{
	int r = tell_left_out(t);

	for (size_t i = 0; i < t->comments.n && !r; i++) {
		uint32_t id = 0;

		r = pprof_tables_string(t, t->comments.v[i], 0, "comment", &id);
		if (!r)
			r = add_comment(t, profile_get_string(t->p, id));
	}
	return r;
}
