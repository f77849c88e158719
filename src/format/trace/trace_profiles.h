/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V8's profiles in a trace: an event "Profile" says of which thread one is and when it begins, and each
 * "ProfileChunk", which another thread may write, has more of its nodes and samples.
 */
#ifndef FORMAT_TRACE_TRACE_PROFILES_H
#define FORMAT_TRACE_TRACE_PROFILES_H

#include "format/v8/v8_nodes.h"

/* Of one profile; a sample lasts until the next one. */
struct trace_tick {
	uint32_t node; /* index */
	int64_t at_ns; /* since the profile's start */
};

struct trace_profile {
	uint32_t id; /* string of the profile */
	uint32_t
		thread; /* whatever the caller calls it; that of the first chunk if nobody says more */
	bool begun;	/* its start is known */
	int64_t start_ns, end_ns; /* end 0: not known */
	int64_t at_ns;		  /* of the last sample, since the start */
	struct v8_nodes nodes;
	VEC(struct trace_tick) ticks;
	struct json_in last; /* where its last chunk is, for messages */
};

struct trace_profiles {
	const char *format;
	struct profile *p;
	size_t budget;
	uint64_t *steps;
	VEC(struct trace_profile *) list;
	struct map at;		       /* pid << 32 | id, strings -> index */
	uint64_t n_unknown, n_orphans; /* samples without their node, nodes without their caller */
	struct str key;
};

struct trace_profile_event {
	bool begins; /* "Profile", else "ProfileChunk" */
	uint32_t pid, id, thread;
	int64_t ts_ns;
	struct json_in args;
};

/* All that is given stays the caller's. */
void trace_profiles_init(struct trace_profiles *t, const char *format, struct profile *p,
			 size_t budget, uint64_t *steps);
void trace_profiles_fini(struct trace_profiles *t);

/*
 * 0 or -errno + message, as all below. -EINVAL: nothing of it is in the profile but for nodes, and whoever calls may go on,
 * if the memory allows.
 */
_must_use_ int trace_profiles_take(struct trace_profiles *t, const struct trace_profile_event *e);

/* When the first of them begins; @none where no start is known. */
int64_t trace_profiles_start(const struct trace_profiles *t, int64_t none);

/* Has any a sample? */
bool trace_profiles_any(const struct trace_profiles *t);

/* Adds a profile's samples with @labels, as counts and nanoseconds; times are since @base_ns. */
_must_use_ int trace_profile_add(struct trace_profiles *t, struct trace_profile *profile,
				 uint32_t labels, int64_t base_ns);

#endif
