/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Called when the profile gets new ids (is rebased): replaces the old ids in the collector, and
 * keeps the stacks that later samples may need; see collect.h and profile/remake/rebase.h.
 */
#include "profile/remake/rebase.h"

#include <errno.h>

#include "base/error.h"
#include "collect/budget/crowd.h"
#include "collect/code/codes.h"
#include "collect/code/recent.h"
#include "collect/internal.h"
#include "collect/thread/thread.h"

static void take_mappings(struct collect *c, struct profile_copy *copy)
{
	c->marks = profile_copy_mapping(copy, c->marks);
	c->processes->mapping = 0;
	vec_foreach(p, &c->processes->all)
		p->mapping = profile_copy_mapping(copy, p->mapping);
	vec_foreach(f, &c->natives->files)
		(*f)->mapping = profile_copy_mapping(copy, (*f)->mapping);
}

int collect_rebase(struct collect *c, struct rebase *r)
{
	bool done;

	known_natives_forget(c);
	take_mappings(c, &r->copy);
	threads_rebase(c, r);
	/*
	 * The kernel programs send each stack only once, so later samples may refer to stacks that
	 * were sent before.
	 */
	done = stacks_rebase(c, r);
	done &= dated_rebase(c, r);
	return done && !profile_failed(c->profile) ? 0 : err_set(-ENOMEM, "out of memory");
}

void collect_next_round(struct collect *c)
{
	codes_next_round(c);
}

bool collect_keeps_due(struct collect *c)
{
	if (c->stats.stacks - c->stacks->kept_at < SENT_SETS)
		return false;
	c->stacks->kept_at = c->stats.stacks;
	return true;
}

void collect_keep_stack(struct collect *c, uint64_t id)
{
	(void)stack_is_there(c, id);
}

void collect_name_threads(struct collect *c)
{
	thread_names(c, NAMES_OF_NEW);
	crowd_turn(c, NULL); /* what krait does after this isn't charged to any process */
}
