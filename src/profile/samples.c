/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a profile, which are in a log (samplelog.h), not in tables. Samples are only
 * appended to the log, or the whole log is written anew.
 */
#include "base/cleanup.h"
#include "profile/internal.h"

int profile_add(struct profile *p, const struct profile_sample *s)
{
	return samplelog_add(&p->log, s, p->meta.n_values);
}

int profile_each(struct profile *p, int (*fn)(void *arg, const struct profile_sample *s), void *arg)
{
	return samplelog_each(&p->log, -1, INT64_MAX, fn, arg);
}

int profile_each_between(struct profile *p, int64_t first_ns, int64_t last_ns,
			 int (*fn)(void *arg, const struct profile_sample *s), void *arg)
{
	return samplelog_each(&p->log, first_ns, last_ns, fn, arg);
}

struct change {
	struct profile *p;
	int (*fn)(void *arg, struct profile_sample *s);
	void *arg;
};

static int change_sample(void *arg, const struct profile_sample *sample)
{
	struct change *c = arg;
	struct profile_sample s = *sample;
	int r = c->fn(c->arg, &s);

	return r ? r : profile_add(c->p, &s);
}

int profile_change_each(struct profile *p, int (*fn)(void *arg, struct profile_sample *s),
			void *arg)
{
	struct change c = {p, fn, arg};
	struct samplelog before = p->log;
	int r;

	samplelog_init(&p->log);
	r = samplelog_each(&before, -1, INT64_MAX, change_sample, &c);
	samplelog_fini(r ? &p->log : &before);
	if (r)
		p->log = before;
	return r;
}

int profile_forget_times(struct profile *p)
{
	_cleanup_free_ struct profile_sum *sums = NULL;
	struct samplelog before = p->log;
	size_t n;
	int r = profile_sums(p, &sums, &n);

	if (r)
		return r;
	samplelog_init(&p->log);
	for (size_t i = 0; !r && i < n; i++) {
		struct profile_sample s = {
			.stack = sums[i].stack, .labels = sums[i].labels, .time_ns = -1};

		memcpy(s.values, sums[i].values, p->meta.n_values * sizeof(*s.values));
		r = profile_add(p, &s);
	}
	if (r) {
		samplelog_fini(&p->log);
		p->log = before;
		return r;
	}
	samplelog_fini(&before);
	return 0;
}

uint64_t profile_n_samples(const struct profile *p)
{
	return p->log.n;
}
