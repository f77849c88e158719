/* SPDX-License-Identifier: BSD-2-Clause */
/* What the value "samples" of a profile counts; see profile.h. */
#include "profile/profile.h"

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
