/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the closing lines share: figures in summary.c, words in summary_words.c, JSON in summary_json.c. */
#ifndef CLI_RECORD_SUMMARY_PARTS_H
#define CLI_RECORD_SUMMARY_PARTS_H

#include "base/clock.h"
#include "record/summary.h"

typedef unsigned long long ull;

static inline double summary_seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static inline double summary_percent(double part, double of)
{
	return of > 0 ? 100 * part / of : 0;
}

/* Does it come for all CPU time? With :u or :k what is missing of that was to be left out. */
bool summary_is_cpu_time(const struct event *e);

/* Puts the figures into words: .lines. */
void summary_compose(struct session *s, struct summary *m);

#endif
