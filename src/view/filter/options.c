/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers questions about the user's choices of what is shown of a profile; see options.h. */
#include "view/filter/options.h"

void view_options_fini(struct view_options *o)
{
	vec_fini(&o->processes);
	vec_fini(&o->threads);
	vec_fini(&o->modules);
	vec_fini(&o->labels);
	vec_fini(&o->states);
	vec_fini(&o->focus);
	vec_fini(&o->ignore);
	vec_fini(&o->hide);
	vec_fini(&o->show);
	vec_fini(&o->mine);
}

bool view_reframes(const struct view_options *o)
{
	return o->hide.n || o->show.n || o->grain != VIEW_AS_IS || o->native != VIEW_NATIVE_FULL ||
	       o->invert;
}

bool view_wanted(const struct view_options *o)
{
	return o->processes.n || o->threads.n || o->modules.n || o->kinds || o->labels.n ||
	       o->states.n || o->no_idle || o->since_ns || o->until_ns || o->focus.n ||
	       o->ignore.n || view_reframes(o);
}

bool view_is_partial(const struct view_options *o)
{
	return o->modules.n || o->kinds || o->labels.n || o->states.n || o->focus.n || o->ignore.n;
}

bool view_asks_for_idle(const struct view_options *o)
{
	if (o->by && streq(o->by, "idle"))
		return true;
	vec_foreach(label, &o->labels)
		if (str_starts(*label, "idle="))
			return true;
	return false;
}
