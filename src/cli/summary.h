/* SPDX-License-Identifier: BSD-2-Clause */
/* The closing lines: what a recording got, what it lost and why. Nothing is dropped silently. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "cli/record_session.h"

struct summary {
	struct sampler_stats kernel;
	struct collect_stats collect;
	uint64_t wall_ns;
	uint64_t due, missing; /* clocks: samples by the targets' CPU time; those that never came */
	double reached_hz;     /* samples a second of the targets' CPU time; 0 = not known */
	uint64_t own_cpu_ns;
	size_t own_rss_bytes;
};

/* Takes the figures; before the sampler is closed. */
void summary_take(struct summary *m, struct session *s);

/* On stderr. The output's path is not among them: it is the last line of all. */
void summary_print(const struct session *s, const struct summary *m);

/* --summary-json: the same as JSON; "-" is stdout. 0 or -errno + message. */
_must_use_ int summary_write_json(const struct session *s, const struct summary *m,
				  const char *path);

#endif
