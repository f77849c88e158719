/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates how much the machine's speed varies. All merged runs of a side do the same work, so
 * what they cost differs only by the machine's speed; docs/decisions/0013.
 */
#include <errno.h>
#include <math.h>
#include "base/error.h"
#include "base/map.h"
#include "view/compare/noise.h"

struct reader {
	const struct profile *p;
	unsigned value;
	struct map sums; /* by id of a value of the label: what the run with that value cost */
};

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct reader *r = arg;
	uint32_t run = profile_label_value(r->p, s->labels, NOISE_RUN_LABEL);
	uint64_t *sum = map_get(&r->sums, run);
	int64_t value = s->values[r->value];

	if (!run || value <= 0)
		return 0;
	if (sum) {
		*sum += (uint64_t)value;
		return 0;
	}
	return map_put(&r->sums, run, (uint64_t)value) ? err_set(-ENOMEM, "out of memory") : 0;
}

static void add_deviations(const struct map *sums, struct noise_runs *ret)
{
	double mean = 0;

	map_foreach(run, sums)
		mean += log((double)run->value) / (double)sums->n;
	map_foreach(run, sums)
		ret->squares += pow(log((double)run->value) - mean, 2);
	ret->freedom += sums->n ? (double)(sums->n - 1) : 0;
}

/*
 * Tells whether the values of the label `run` are whole runs. A program may use a label of that
 * name for parts that do different work. These would look like runs on a machine whose speed varies
 * much, and then nearly every change would count as noise. So the label must have exactly as many
 * values as the profile has whole runs.
 */
static bool are_runs(struct profile *p, const struct map *sums)
{
	return sums->n == comments_runs(&profile_meta(p)->comments);
}

int noise_add_runs(struct profile *p, unsigned value, struct noise_runs *ret)
{
	struct reader r = {.p = p, .value = value};
	int error;

	map_init(&r.sums);
	error = profile_each(p, take_sample, &r);
	if (!error && are_runs(p, &r.sums))
		add_deviations(&r.sums, ret);
	map_fini(&r.sums);
	return error;
}

double noise_speed_sd(const struct noise_runs *r)
{
	double of_a_run = r->freedom > 0 ? r->squares / r->freedom : 0;

	/*
	 * Two sides differ as much as two single runs do, however many runs are merged: the runs of
	 * a side come one after the other, and a machine that is busy during one of them is mostly
	 * busy during all.
	 */
	return sqrt(NOISE_SPEED * NOISE_SPEED + 2 * of_a_run);
}
