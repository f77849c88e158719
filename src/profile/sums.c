/* SPDX-License-Identifier: BSD-2-Clause */
/* Aggregation of samples; see sums.h. */
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/sums.h"

void sums_init(struct sums *s)
{
	*s = (struct sums){};
	if (getrandom(&s->seed, sizeof(s->seed), GRND_NONBLOCK) < 0)
		s->seed = (uintptr_t)s;
}

void sums_fini(struct sums *s)
{
	vec_fini(&s->entries);
	free(s->slots);
	*s = (struct sums){};
}

void sums_clear(struct sums *s)
{
	s->entries.n = 0;
	if (s->slots)
		memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
}

static size_t home(const struct sums *s, const struct profile_sample *e)
{
	const uint64_t key[2] = {(uint64_t)e->stack << 32 | e->labels, (uint64_t)e->time_ns};

	return XXH3_64bits_withSeed(key, sizeof(key), s->seed) & (s->n_slots - 1);
}

static int grow_slots(struct sums *s)
{
	size_t size = s->n_slots ? s->n_slots * 2 : 256;
	uint32_t *slots;

	if (s->entries.n < s->n_slots / 4 * 3)
		return 0;
	slots = s->entries.n < UINT32_MAX - 1 ? calloc(size, sizeof(*slots)) : NULL;
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->n_slots = size;
	for (size_t i = 0; i < s->entries.n; i++) {
		size_t at = home(s, &s->entries.v[i]);

		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = (uint32_t)i + 1;
	}
	return 0;
}

void sums_values(int64_t *to, const int64_t *v)
{
	for (unsigned i = 0; i < PROFILE_MAX_VALUES; i++) {
		if (__builtin_add_overflow(to[i], v[i], &to[i]))
			to[i] = v[i] < 0 ? INT64_MIN : INT64_MAX;
	}
}

int sums_add(struct sums *s, const struct profile_sample *sample)
{
	size_t at;

	if (grow_slots(s))
		goto no_memory;
	for (at = home(s, sample); s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
		struct profile_sample *e = &s->entries.v[s->slots[at] - 1];

		if (e->stack == sample->stack && e->labels == sample->labels &&
		    e->time_ns == sample->time_ns) {
			sums_values(e->values, sample->values);
			return 0;
		}
	}
	if (vec_push(&s->entries, *sample))
		goto no_memory;
	s->slots[at] = (uint32_t)s->entries.n;
	return 0;
no_memory:
	return err_set(-ENOMEM, "out of memory for the sums of samples");
}

static int add_timeless(void *arg, const struct profile_sample *sample)
{
	struct profile_sample s = *sample;

	s.time_ns = -1;
	return sums_add(arg, &s);
}

int profile_sums(struct profile *p, struct profile_sum **ret, size_t *n)
{
	_cleanup_(sums_fini) struct sums s;
	struct profile_sum *out;
	int r;

	sums_init(&s);
	r = profile_each(p, add_timeless, &s);
	if (r)
		return r;
	out = calloc(s.entries.n ? s.entries.n : 1, sizeof(*out));
	if (!out)
		return err_set(-ENOMEM, "out of memory for the sums of samples");
	for (size_t i = 0; i < s.entries.n; i++) {
		out[i].stack = s.entries.v[i].stack;
		out[i].labels = s.entries.v[i].labels;
		memcpy(out[i].values, s.entries.v[i].values, sizeof(out[i].values));
	}
	*ret = out;
	*n = s.entries.n;
	return 0;
}
