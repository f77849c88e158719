/* SPDX-License-Identifier: BSD-2-Clause */
/* The closing lines: what a recording got, what it lost and why. Nothing is dropped silently. */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include "base/log.h"
#include "base/vec.h"
#include "record/session.h"

struct summary_line {
	enum log_level level;
	bool kept;	 /* in the recording, whether it is printed or not, */
	const char *key; /* behind this word; NULL: by its level */
	char *text;
};

struct summary {
	struct sampler_stats kernel;
	struct collect_stats collect;
	uint64_t wall_ns;
	uint64_t due, missing; /* clocks: samples by the targets' CPU time; those that never came */
	double reached_hz;     /* samples a second of the targets' CPU time; 0 = not known */
	uint64_t own_cpu_ns, start_cpu_ns; /* in all; until sampling began */
	size_t own_rss_bytes, map_bytes;
	VEC(struct summary_line) lines; /* the closing lines */
	bool goes_on;			/* what the command started, after its end */
};

/* Samples that never came, of @due by CPU time, if that can't be chance; else 0. */
uint64_t summary_missing(uint64_t due, uint64_t came);

/* Takes the figures and puts them into words; before the sampler is closed. */
void summary_take(struct summary *m, struct session *s);
void summary_fini(struct summary *m);

/* Nothing was recorded, and a page or picture of it would show nothing: it isn't written. Other tools' files are. */
bool summary_leaves_nothing(const struct session *s);

/* On stderr. The output's path is not among them: it is in the last line of all. */
void summary_print(const struct summary *m);

/* --summary-json: the same as JSON, to an open output. 0 or -errno + message. */
_must_use_ int summary_write_json(const struct session *s, const struct summary *m,
				  struct output *out);

#endif
