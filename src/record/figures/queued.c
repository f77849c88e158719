/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads how long threads were ready to run before the recording. The kernel counts from a thread's
 * beginning, so the time before the recording is subtracted later. Also reads which control groups
 * were throttled during the recording.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "record/session.h"

#define CGROUPS "/sys/fs/cgroup"

void session_begin_accounts(struct session *s)
{
	if (!session_events_wait(&s->events))
		return;
	vec_foreach(u, &s->uses.all)
		sampler_begin_accounts(s->sampler, u->pid);
}

void session_throttle_begin(struct session *s)
{
	if (session_events_wait(&s->events))
		throttled_list(CGROUPS, &s->throttled_before);
}

void session_throttle_end(struct session *s)
{
	if (!session_events_wait(&s->events))
		return;
	throttled_list(CGROUPS, &s->throttled);
	throttled_since(&s->throttled, &s->throttled_before);
}

uint64_t session_throttle_ready(const struct session *s, const char *path, size_t *threads)
{
	int at = 1 + session_events_wait_index(&s->events);
	_cleanup_free_ struct profile_sum *sums = NULL;
	struct map tids;
	uint64_t ns = 0;
	size_t n;

	*threads = 0;
	if (profile_sums(s->profile, &sums, &n))
		return 0;
	map_init(&tids);
	for (size_t i = 0; i < n; i++) {
		const char *group = profile_label_text(s->profile, sums[i].labels, "cgroup");
		const char *state = profile_label_text(s->profile, sums[i].labels, "state");

		if (!streq(state, "runnable") || !throttled_holds(path, group))
			continue;
		ns += (uint64_t)MAX(sums[i].values[at], (int64_t)0);
		(void)!map_put(&tids, profile_label_value(s->profile, sums[i].labels, "tid"), 1);
	}
	*threads = tids.n;
	map_fini(&tids);
	return ns;
}
