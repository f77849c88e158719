/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses which values are compared. Refuses to compare values of different events. */
#include <errno.h>

#include "base/error.h"
#include "cli/diff/diff.h"
#include "view/shape/tree.h"
#include "view/wall.h"

/*
 * Returns the value that the sampled event measures (.period_type names it). NULL: there is none,
 * as in files of other tools and in merged files.
 */
static const struct profile_value_type *sampled_event(const struct profile_meta *m)
{
	if (!m->period_type.type || streq(m->period_type.type, "samples"))
		return NULL;
	for (unsigned i = 0; i < m->n_values; i++)
		if (profile_same_type(&m->values[i], &m->period_type))
			return &m->values[i];
	return NULL;
}

/*
 * Tells whether the value is time that threads waited for the GIL, or that others waited for
 * threads that held the GIL or a lock.
 */
static bool is_of_gil_or_blame(const struct profile_value_type *v)
{
	return streq(v->type, "gil_wait") || streq(v->type, "gil_blame") ||
	       streq(v->type, "lock_blame");
}

/* Tells whether the value is waiting time or contains some, as wall time does. */
static bool is_of_waits(const struct profile_value_type *v)
{
	return streq(v->unit, "nanoseconds") &&
	       (streq(v->type, "off_cpu") || is_wall(v->type) || is_of_gil_or_blame(v));
}

/* Tells whether the value is CPU time: in krait's recordings, all other times are about waits. */
static bool is_cpu_time(const struct profile_value_type *v)
{
	return streq(v->unit, "nanoseconds") && !is_of_waits(v);
}

/*
 * Tells whether values of the two types can be compared. Other tools have other names for CPU time.
 */
static bool is_comparable(const struct profile_value_type *a, const struct profile_value_type *b)
{
	return profile_same_type(a, b) || (is_cpu_time(a) && is_cpu_time(b));
}

bool diff_samples_differ(const struct profile_meta *a, const struct profile_meta *b)
{
	const struct profile_value_type *of_a = sampled_event(a), *of_b = sampled_event(b);

	return of_a && of_b && !is_comparable(of_a, of_b);
}

/*
 * Returns the name of a value that both profiles have and that can be compared; NULL: there is
 * none.
 */
static const char *common_value(const struct profile_meta *a, const struct profile_meta *b)
{
	bool differ = diff_samples_differ(a, b);

	for (unsigned i = a->n_values; i--;) {
		if ((differ && streq(a->values[i].type, "samples")) ||
		    is_of_gil_or_blame(&a->values[i]))
			continue;
		for (unsigned k = 0; k < b->n_values; k++)
			if (profile_same_type(&a->values[i], &b->values[k]))
				return a->values[i].type;
	}
	return NULL;
}

/* Appends the names of the profile's values. Leaves "samples" out if it has other values. */
static void add_names(const struct profile_meta *m, struct str *b)
{
	for (unsigned i = 0; i < m->n_values; i++)
		if (m->n_values == 1 || !streq(m->values[i].type, "samples"))
			str_addf(b, "%s%s", b->n ? ", " : "", m->values[i].type);
}

/* Sets the error message: side B has no value that can be compared with side A's default value. */
static int no_such_value(const struct diff_facts *f)
{
	const struct profile_meta *a = profile_meta(f->diff.p[DIFF_A]);
	const struct profile_meta *b = profile_meta(f->diff.p[DIFF_B]);
	_cleanup_str_ struct str of_a = {}, of_b = {};
	const char *common = common_value(a, b);

	if (common)
		return err_set(-EINVAL, "%s has no %s; --value %s compares what both have",
			       f->name[DIFF_B], a->values[a->default_value].type, common);
	add_names(a, &of_a);
	add_names(b, &of_b);
	return err_set(-EINVAL, "they have no value in common: %s has %s; %s has %s",
		       f->name[DIFF_A], str_cstr(&of_a), f->name[DIFF_B], str_cstr(&of_b));
}

/* Returns the index of side B's value that is compared with side A's default value. */
static int default_of_b(const struct diff_facts *f)
{
	const struct profile_meta *a = profile_meta(f->diff.p[DIFF_A]);
	const struct profile_meta *b = profile_meta(f->diff.p[DIFF_B]);
	const struct profile_value_type *shown = &a->values[a->default_value],
					*of_b = &b->values[b->default_value];
	int at;

	if (profile_same_type(shown, of_b))
		return (int)b->default_value;
	at = tree_value(f->diff.p[DIFF_B], shown->type);
	if (at >= 0)
		return at;
	return is_comparable(shown, of_b) ? (int)b->default_value : no_such_value(f);
}

static int find_values(struct diff_facts *f, const char *name)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		int at = tree_value(f->diff.p[side], name);

		if (at < 0)
			return err_wrap(at, "%s", f->name[side]);
		f->diff.value[side] = (unsigned)at;
	}
	return 0;
}

static int find_defaults(struct diff_facts *f)
{
	int at = default_of_b(f);

	f->diff.value[DIFF_A] = profile_meta(f->diff.p[DIFF_A])->default_value;
	f->diff.value[DIFF_B] = at < 0 ? 0 : (unsigned)at;
	return MIN(at, 0);
}

void diff_name_value(struct diff_facts *f)
{
	const struct profile_meta *a = profile_meta(f->diff.p[DIFF_A]);

	f->type = a->values[f->diff.value[DIFF_A]].type;
	f->unit = a->values[f->diff.value[DIFF_A]].unit;
}

int diff_choose_values(struct diff_facts *f, const char *name)
{
	const struct profile_meta *a = profile_meta(f->diff.p[DIFF_A]);
	const struct profile_meta *b = profile_meta(f->diff.p[DIFF_B]);
	int r = name ? find_values(f, name) : find_defaults(f);
	const char *unit;

	if (r)
		return r;
	diff_name_value(f);
	f->diff.waits = is_of_waits(&a->values[f->diff.value[DIFF_A]]);
	unit = b->values[f->diff.value[DIFF_B]].unit;
	if (!streq(f->unit, unit))
		return err_set(-EINVAL,
			       "%s has the unit %s in %s, but %s in %s: they can't be compared",
			       f->type, f->unit, f->name[DIFF_A], unit, f->name[DIFF_B]);
	if (streq(f->type, "samples") && diff_samples_differ(a, b))
		return err_set(-EINVAL,
			       "samples are of %s in %s, but of %s in %s: they can't be compared; "
			       "--value chooses a value that both have",
			       a->period_type.type, f->name[DIFF_A], b->period_type.type,
			       f->name[DIFF_B]);
	return 0;
}
