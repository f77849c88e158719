/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts samples to a part of the time; see part.h. */
#include "profile/intervals/part.h"

/*
 * Returns the value with index @value of a sample as a duration in ns. 0: the sample has no such
 * value, or no time, or its end would overflow.
 */
static int64_t length_of(const struct profile_sample *s, int value)
{
	int64_t ns = value < 0 ? 0 : s->values[value];

	return ns <= 0 || s->time_ns < 0 || ns > INT64_MAX - s->time_ns ? 0 : ns;
}

static bool is_one_wait(const struct profile *p, const struct profile_sample *s)
{
	const char *state = profile_label_text(p, s->labels, "state");

	return !streq(state, "runnable") && !streq(state, "stolen");
}

int64_t wait_length(const struct profile *p, const struct profile_sample *s, int value)
{
	int64_t ns = length_of(s, value);

	return ns && is_one_wait(p, s) ? ns : 0;
}

struct part part_of(struct profile *p, uint64_t since_ns, uint64_t until_ns)
{
	return (struct part){.since_ns = since_ns,
			     .until_ns = until_ns,
			     .off_cpu = profile_time_value(p, "off_cpu"),
			     .gil_wait = profile_time_value(p, "gil_wait"),
			     .lock_blame = profile_time_value(p, "lock_blame")};
}

static bool in_time(const struct part *part, int64_t time_ns)
{
	return time_ns >= 0 && (uint64_t)time_ns >= part->since_ns &&
	       (!part->until_ns || (uint64_t)time_ns < part->until_ns);
}

/*
 * Returns how much of a value lies within the part of the time. The value is @ns in all, and is
 * spread evenly over the @length ns from @time_ns on.
 */
static int64_t part_of_value(const struct part *part, int64_t ns, int64_t time_ns, int64_t length)
{
	uint64_t from = MAX((uint64_t)time_ns, part->since_ns);
	uint64_t to = (uint64_t)time_ns + (uint64_t)length;
	double share;

	if (part->until_ns)
		to = MIN(to, part->until_ns);
	if (to <= from)
		return 0;
	if (ns == length)
		return (int64_t)(to - from);
	share = (double)(to - from) / (double)length;
	return share < 1 ? (int64_t)((double)ns * share) : ns;
}

/*
 * Does what part_cut() does, for a sample of a thread that ended another thread's wait for a lock.
 * The sample's time is when that wait ended, so the wait lies before that time.
 */
static bool cut_ended(const struct part *part, struct profile_sample *s)
{
	int64_t *ns = &s->values[part->lock_blame], end = s->time_ns;
	int64_t begin = MAX(end - *ns, 0);

	if (end <= 0)
		return in_time(part, end);
	*ns = part_of_value(part, *ns, begin, end - begin);
	if (part->until_ns)
		s->time_ns = (int64_t)MIN((uint64_t)end, part->until_ns);
	return *ns > 0;
}

/*
 * Reduces each value in nanoseconds to what lies within the part of the time. A wait may have two
 * lengths: the value gil_wait also counts the time from the wait's end until the thread got a CPU,
 * the other values don't.
 */
bool part_cut_as(const struct part *part, struct profile *p, struct profile_sample *s,
		 bool one_wait)
{
	const struct profile_meta *m = profile_meta(p);
	int64_t off = one_wait ? length_of(s, part->off_cpu) : 0;
	int64_t gil = one_wait ? length_of(s, part->gil_wait) : 0;
	bool any = false;

	if (!off && !gil && part->lock_blame >= 0 && s->values[part->lock_blame] > 0)
		return cut_ended(part, s);
	if (!off && !gil)
		return in_time(part, s->time_ns);
	for (int i = 0; i < (int)m->n_values; i++) {
		int64_t length = i == part->gil_wait ? gil : off;

		if (!streq(m->values[i].unit, "nanoseconds"))
			continue;
		if (length)
			s->values[i] = part_of_value(part, s->values[i], s->time_ns, length);
		any |= s->values[i] > 0;
	}
	s->time_ns = MAX(s->time_ns, (int64_t)part->since_ns);
	return any;
}

bool part_cut(const struct part *part, struct profile *p, struct profile_sample *s)
{
	return part_cut_as(part, p, s, is_one_wait(p, s));
}
