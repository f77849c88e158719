/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the thread that ended the largest part of a group's waits for locks; see waker.h. */
#include "view/waits/waker.h"

#include <errno.h>

/* Stores the group of each thread: from the string of the label `tid` to 1 + index of the group. */
static int note_groups(const struct waits *w, struct map *ret)
{
	int r = 0;

	vec_foreach(t, &w->threads)
		if (!r)
			r = map_put(ret, profile_label_value(w->c->p, t->labels, "tid"),
				    (uint64_t)t->group + 1);
	return r;
}

/*
 * Returns how long the threads of @group had waited when the thread whose samples are summed up in
 * @s woke them up.
 */
static int64_t waited_for(const struct waits *w, const struct map *groups, uint32_t group,
			  const struct profile_sum *s, int value)
{
	const uint64_t *found;

	if (s->values[value] <= 0)
		return 0;
	found = map_get(groups, profile_label_value(w->c->p, s->labels, "waiter_tid"));
	return found && *found == (uint64_t)group + 1 ? s->values[value] : 0;
}

static int add(struct map *sums, const struct waits *w, const struct profile_sum *s, int64_t ns,
	       struct waits_waker *most)
{
	struct waits_frames at = waits_frames_of(w->c, s->stack);
	uint64_t key = (uint64_t)profile_label_value(w->c->p, s->labels, "tid") << 32 |
		       (at.own ?: at.callee);
	uint64_t *sum = map_get(sums, key);

	if (!sum && !map_put(sums, key, 0))
		sum = map_get(sums, key);
	if (!sum)
		return -ENOMEM;
	costs_sum((int64_t *)sum, ns);
	if ((int64_t)*sum > most->ns)
		*most = (struct waits_waker){s->labels, at, (int64_t)*sum};
	return 0;
}

int waits_waker_find(const struct waits *w, uint32_t group, struct waits_waker *ret)
{
	int value = profile_time_value(w->c->p, "lock_blame"), r;
	struct map groups, sums;

	*ret = (struct waits_waker){};
	if (value < 0)
		return 0;
	map_init(&groups);
	map_init(&sums);
	r = note_groups(w, &groups);
	for (size_t i = 0; i < w->n_sums && !r; i++) {
		int64_t ns = waited_for(w, &groups, group, &w->sums[i], value);

		if (ns)
			r = add(&sums, w, &w->sums[i], ns, ret);
	}
	map_fini(&groups);
	map_fini(&sums);
	return r ? -ENOMEM : 0;
}

void waits_waker_add(const struct costs *c, const struct waits_waker *waker, bool pid,
		     struct str *b)
{
	const char *name = profile_label_text(c->p, waker->labels, "thread");

	if (*name)
		str_add(b, name);
	else
		str_addf(b, "tid %s", profile_label_text(c->p, waker->labels, "tid"));
	if (pid)
		str_addf(b, " (pid %s)", profile_label_text(c->p, waker->labels, "pid"));
	if (!waker->at.own && !waker->at.callee)
		return;
	str_add(b, " in ");
	costs_add_line(c, waker->at.callee ?: waker->at.own, waker->at.own, b);
}
