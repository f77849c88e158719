/* SPDX-License-Identifier: BSD-2-Clause */
/* The ids of a profile that was made small; see collect.h and profile/condense.h. */
#include <errno.h>

#include "base/error.h"
#include "collect/internal.h"
#include "profile/condense.h"

/*
 * What didn't come in this round is known to no stack that can come still: the kernel programs sent all of those
 * again that they met.
 */
static void drop_codes(struct collect *c)
{
	vec_foreach(i, &c->live) {
		struct process *p = &c->processes.v[*i];

		for (size_t k = p->codes.n; k--;)
			if (p->codes.v[k]->round != c->round)
				sent_drop_code(c, p, k);
	}
	c->round++;
}

static void take_mappings(struct collect *c, struct profile_copy *copy)
{
	c->marks = profile_copy_mapping(copy, c->marks);
	vec_foreach(p, &c->processes)
		p->mapping = profile_copy_mapping(copy, p->mapping);
	vec_foreach(f, &c->natives)
		(*f)->mapping = profile_copy_mapping(copy, (*f)->mapping);
}

static void take_labels(struct collect *c, struct condense *k)
{
	/* Sets that were different may be one now. */
	vec_foreach(t, &c->threads)
		for (size_t i = 0; t->tid && i < GIL_STATE_MAX; i++) {
			t->labels[i] = condense_labels_whole(k, t->labels[i]);
			t->own[i] = false;
		}
}

/* False: out of memory. */
static bool take_stack(struct condense *k, uint64_t *id)
{
	uint32_t now = condense_stack(k, (uint32_t)*id);

	*id = (*id & ~(uint64_t)UINT32_MAX) | now;
	return now;
}

int collect_condense(struct collect *c, struct condense *k)
{
	bool done = true;

	known_forget(c);
	take_mappings(c, &k->copy);
	take_labels(c, k);
	/* Samples on the way have the old ids of stacks; what comes later is sent with its stack. */
	map_foreach(slot, &c->stacks)
		if (slot->value != STACK_UNNAMED)
			done &= take_stack(k, &slot->value);
	map_foreach(slot, &c->registered)
		done &= take_stack(k, &slot->value);
	drop_codes(c);
	return done && !profile_failed(c->profile) ? 0 : err_set(-ENOMEM, "out of memory");
}
