/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the thread that ended the largest part of a group's waits for locks; see waker.h. */
#include "view/waits/waker.h"

#include <errno.h>

#include "base/intern.h"
#include "view/costs/tally.h"

/*
 * For each thread and line: how long threads of the group had waited when the thread ended their
 * waits in that line.
 */
struct sums {
	struct intern keys; /* a thread, a function, and a line of that function */
	VEC(int64_t) of;    /* the sum of key i is .of[i - 1] */
	uint32_t most;	    /* the key with the largest sum; 0: there is none */
	int64_t most_ns;    /* that sum */
};

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

/* Returns the key of the thread and line that @s is about; 0: no memory. */
static uint32_t key_of(struct sums *sums, const struct waits *w, const struct profile_sum *s)
{
	struct waits_frames at = waits_frames_of(w->c, s->stack);
	uint32_t place = at.own ?: at.callee;
	const uint32_t key[] = {profile_label_value(w->c->p, s->labels, "tid"),
				w->c->keys.of[place],
				place ? (uint32_t)profile_get_location(w->c->p, place)->line : 0};

	return intern_put(&sums->keys, key, 0);
}

static int add(struct sums *sums, const struct waits *w, const struct profile_sum *s, int64_t ns)
{
	uint32_t id = key_of(sums, w, s);

	if (!id || (id > sums->of.n && vec_push(&sums->of, 0)))
		return -ENOMEM;
	costs_sum(&sums->of.v[id - 1], ns);
	if (sums->of.v[id - 1] > sums->most_ns) {
		sums->most = id;
		sums->most_ns = sums->of.v[id - 1];
	}
	return 0;
}

/*
 * Fills *@ret for the thread and line with the largest sum. The function that the line calls is
 * named only if it has nearly all of that sum. 0 or -ENOMEM.
 */
static int describe(struct sums *sums, const struct waits *w, const struct map *groups,
		    uint32_t group, int value, struct waits_waker *ret)
{
	struct tally callees;
	int r = 0;

	tally_init(&callees);
	ret->ns = sums->most_ns;
	for (size_t i = 0; i < w->n_sums && !r; i++) {
		const struct profile_sum *s = &w->sums[i];
		int64_t ns = waited_for(w, groups, group, s, value);
		struct waits_frames at;

		if (!ns || key_of(sums, w, s) != sums->most)
			continue;
		at = waits_frames_of(w->c, s->stack);
		ret->labels = ret->labels ?: s->labels;
		ret->at.own = ret->at.own ?: at.own;
		if (at.callee)
			r = tally_add(&callees, w->c->keys.of[at.callee], at.callee, ns);
	}
	if (waits_nearly(callees.most, ret->ns) || !ret->at.own)
		ret->at.callee = callees.location;
	tally_fini(&callees);
	return r;
}

int waits_waker_find(const struct waits *w, uint32_t group, struct waits_waker *ret)
{
	int value = profile_time_value(w->c->p, "lock_blame"), r;
	struct sums sums = {};
	struct map groups;

	*ret = (struct waits_waker){};
	if (value < 0)
		return 0;
	map_init(&groups);
	intern_init(&sums.keys, 3 * sizeof(uint32_t));
	r = note_groups(w, &groups);
	for (size_t i = 0; i < w->n_sums && !r; i++) {
		int64_t ns = waited_for(w, &groups, group, &w->sums[i], value);

		if (ns)
			r = add(&sums, w, &w->sums[i], ns);
	}
	if (!r && sums.most)
		r = describe(&sums, w, &groups, group, value, ret);
	map_fini(&groups);
	intern_fini(&sums.keys);
	vec_fini(&sums.of);
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
