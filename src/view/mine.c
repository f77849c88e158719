/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which packages count as the user's own; see view.h. */
#include "view/names/origin.h"
#include "view/view.h"

const char *view_mine(const struct view_options *o, struct profile *p)
{
	const char *unknown = NULL;

	vec_foreach(name, &o->mine) {
		profile_add_comment(p, COMMENTS_MINE, *name);
		if (!unknown && profile_n_functions(p) && !origin_is_there(p, *name))
			unknown = *name;
	}
	if (view_wanted(o))
		origin_note(p);
	return unknown;
}
