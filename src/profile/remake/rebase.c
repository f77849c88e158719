/* SPDX-License-Identifier: BSD-2-Clause */
/* Begins and ends a rebase: exchanges the contents of two profiles; see rebase.h. */
#include "profile/remake/rebase.h"

#include <errno.h>
#include "base/error.h"
#include "profile/remake/condense.h"

int rebase_begin(struct rebase *r, struct profile *p)
{
	struct profile *before = profile_new();

	*r = (struct rebase){};
	if (!before)
		return err_set(-ENOMEM, "out of memory");
	profile_swap(p, before);
	if (!profile_copy_init(&r->copy, before, p))
		return 0;
	profile_swap(p, before);
	profile_free(before);
	return -ENOMEM;
}

uint32_t rebase_stack(struct rebase *r, uint32_t id)
{
	return r->condense ? condense_stack(r->condense, id) : profile_copy_stack(&r->copy, id);
}

int rebase_end(struct rebase *r, int err, struct profile **ret)
{
	struct profile *before = (struct profile *)r->copy.from, *p = r->copy.to;

	err = err ? err : profile_copy_meta(p, before);
	profile_copy_fini(&r->copy);
	if (err) {
		profile_swap(p, before);
		profile_free(before);
		return err;
	}
	*ret = before;
	return 0;
}
