/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands over what was recorded so far (a window) as a profile of its own, while the recording goes
 * on; see session.h.
 */
#include <errno.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "profile/remake/rebase.h"
#include "record/session.h"

int session_rebase(struct session *s, struct rebase *r)
{
	vec_foreach(l, &s->labels)
		*l = (struct profile_label){profile_copy_string(&r->copy, l->key),
					    profile_copy_string(&r->copy, l->value)};
	s->trim_ns = 0;
	return collect_rebase(s->collect, r);
}

int session_check_ids(const struct session *s)
{
	return s->void_ids ? err_set(-ENOMEM, "out of memory: nothing more can be recorded") : 0;
}

int session_window(struct session *s, struct profile **ret)
{
	struct rebase rebase;
	int r = session_check_ids(s);

	if (r)
		return r;
	collect_name_threads(s->collect);
	r = rebase_begin(&rebase, s->profile);
	if (r)
		return r;
	r = rebase_end(&rebase, session_rebase(s, &rebase), ret);
	s->void_ids |= r != 0;
	if (r)
		return r;
	s->windows++;
	profile_meta(*ret)->duration_ns = (int64_t)(clock_ns(CLOCK_MONOTONIC) - s->start_ns);
	return 0;
}
