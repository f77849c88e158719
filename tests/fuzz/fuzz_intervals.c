/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a file of intervals, and adds the labels to the samples of a few threads. Bad
 * lines are reported. No sample is lost, and nothing but its labels changes.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/intervals/intervals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const pids[] = {"1", "1", "2", "0"};
static const char *const tids[] = {"1", "2", "3", "4"};

static struct profile *make(void)
{
	struct profile *p = profile_new();

	profile_meta(p)->n_values = 1;
	for (int64_t t = 0; t < 64; t++) {
		unsigned who = (unsigned)t % ARRAY_SIZE(pids);
		struct profile_label l[] = {
			{profile_string(p, "pid"), profile_string(p, pids[who])},
			{profile_string(p, "tid"), profile_string(p, tids[who])},
		};
		struct profile_sample s = {
			.labels = profile_labels(p, l, 2), .time_ns = t - 1, .values = {t}};

		if (profile_add(p, &s))
			abort();
	}
	return p;
}

struct seen {
	struct profile *p;
	int64_t n, more;
};

static int look(void *arg, const struct profile_sample *s)
{
	struct seen *seen = arg;
	unsigned who = (unsigned)seen->n % ARRAY_SIZE(pids);
	size_t n;

	if (s->values[0] != seen->n || s->time_ns != seen->n - 1 ||
	    !streq(profile_label_text(seen->p, s->labels, "pid"), pids[who]) ||
	    !streq(profile_label_text(seen->p, s->labels, "tid"), tids[who]))
		abort();
	seen->n++;
	profile_get_labels(seen->p, s->labels, &n);
	seen->more += n > 2;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_(intervals_fini) struct intervals v = {};
	struct profile *p = make();
	const struct intervals_clock clock = {};
	struct interval_fork forks[] = {{1, 1, 2, 3}, {9, 2, 1, 1}, {20, 1, 2, 3}, {40, 2, 7, 7}};
	const interval_fork_vec started = {.v = forks, .n = ARRAY_SIZE(forks)};
	struct seen seen = {p, 0, 0};
	uint64_t labelled;

	if (intervals_read(&v, (const char *)data, n, NULL) || (v.bad_lines && !*v.first_bad) ||
	    intervals_apply(&v, p, &clock, &started, &labelled))
		abort();
	if (profile_each(p, look, &seen) || seen.n != 64 || (uint64_t)seen.more != labelled)
		abort();
	profile_free(p);
	return 0;
}
