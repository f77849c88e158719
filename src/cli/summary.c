/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing lines on stderr; see summary.h. */
#include "cli/summary.h"

#include "base/log.h"

static const char *const outcome_words[] = {
#define X(name, words) words,
	WALK_OUTCOMES(X)
#undef X
};

typedef unsigned long long ull;

static void print_outcomes(const struct collect_stats *st)
{
	for (unsigned i = WALK_OK + 1; i < WALK_OUTCOME_MAX; i++)
		if (st->outcomes[i])
			log_note("%llu samples: %s", (ull)st->outcomes[i], outcome_words[i]);
	for (size_t i = 0; i < st->n_unsupported; i++)
		log_note("%llu samples of %u processes not understood: %s",
			 (ull)st->unsupported[i].samples, st->unsupported[i].processes,
			 st->unsupported[i].reason);
}

static void print_losses(const struct session *s, const struct sampler_stats *k,
			 const struct collect_stats *st)
{
	if (k->counters[COUNT_RING_FULL])
		log_warn("%llu records lost because the ring was full; sample less often (-F)",
			 (ull)k->counters[COUNT_RING_FULL]);
	if (k->throttled)
		log_warn("the kernel throttled sampling %llu times", (ull)k->throttled);
	if (st->broken_records)
		log_warn("%llu records made no sense", (ull)st->broken_records);
	if (s->sideband_lost)
		log_info("%llu process events lost", (ull)s->sideband_lost);
}

void summary_print(struct session *s)
{
	double seconds = (double)(s->end_ns - s->start_ns) / NSEC_PER_SEC;
	struct sampler_stats k;
	struct collect_stats st;

	sampler_stats(s->sampler, &k);
	collect_stats(s->collect, &st);
	if (!st.samples)
		log_warn("no samples: the target was hardly on the CPU");
	log_note("%llu samples of %u processes in %.1f s", (ull)st.samples, st.processes, seconds);
	print_outcomes(&st);
	print_losses(s, &k, &st);
	if (k.run_count)
		log_info("%.0f ns in the kernel per sample", (double)k.run_ns / k.run_count);
	log_info("%zu stacks, %zu code objects, %zu KiB of maps", st.stacks, st.codes,
		 k.map_bytes >> 10);
	if (!streq(s->path, "-"))
		log_note("%s", s->path);
}
