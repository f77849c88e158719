/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the ids of a condensed profile in place of the old ones; see collect.h and
 * profile/condense.h.
 */
#include <errno.h>

#include "base/error.h"
#include "collect/internal.h"
#include "collect/process/codes.h"
#include "collect/process/thread.h"
#include "profile/condense.h"

static void take_mappings(struct collect *c, struct profile_copy *copy)
{
	c->marks = profile_copy_mapping(copy, c->marks);
	vec_foreach(p, &c->processes->all)
		p->mapping = profile_copy_mapping(copy, p->mapping);
	vec_foreach(f, &c->natives->files)
		(*f)->mapping = profile_copy_mapping(copy, (*f)->mapping);
}

int collect_condense(struct collect *c, struct condense *k)
{
	bool done;

	known_natives_forget(c);
	take_mappings(c, &k->copy);
	threads_condense(c, k);
	/*
	 * Samples that are on the way have the old ids of their stacks. Samples that come later
	 * bring their stacks.
	 */
	done = stacks_condense(c, k);
	done &= registered_condense(c, k);
	codes_next_round(c);
	return done && !profile_failed(c->profile) ? 0 : err_set(-ENOMEM, "out of memory");
}
