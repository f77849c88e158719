/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the V8 profiles in a trace. An event "Profile" says which thread is profiled and when its
 * profile begins. Each event "ProfileChunk" adds nodes and samples, and may be written by another
 * thread.
 */
#ifndef FORMAT_TRACE_TRACE_PROFILES_H
#define FORMAT_TRACE_TRACE_PROFILES_H

#include "format/v8/v8_nodes.h"

/* A sample of a V8 profile, which lasts until the profile's next sample. */
struct trace_tick {
	uint32_t node; /* index of the sample's node in trace_profile.nodes */
	int64_t at_ns; /* time since the profile's start */
};

struct trace_profile {
	uint32_t id; /* V8's id of the profile, as a string of trace_profiles.p */
	/*
	 * Number of the thread that is profiled, as the caller counts threads. If the file has no
	 * "Profile" event for the profile, it is the thread of the first "ProfileChunk".
	 */
	uint32_t thread;
	bool begun;		  /* true: .start_ns is known */
	int64_t start_ns, end_ns; /* when the V8 profile began and ended; .end_ns 0: not known */
	int64_t at_ns;		  /* time of the latest sample so far, counted from .start_ns */
	struct v8_nodes nodes;
	VEC(struct trace_tick) ticks;
	/* "args" of the profile's last event; error messages name the byte where these are */
	struct json_in last;
};

struct trace_profiles {
	const char *format;
	struct profile *p;
	size_t budget;
	uint64_t *steps;
	VEC(struct trace_profile *) list;
	/* from pid << 32 | id, both as ids of strings in .p, to the index of the V8 profile */
	struct map at;
	/*
	 * .n_unknown: how many samples have a node that isn't in the file; .n_orphans: how many
	 * nodes have a caller that isn't in the file
	 */
	uint64_t n_unknown, n_orphans;
	struct str key;
};

struct trace_profile_event {
	bool begins; /* true: the event is a "Profile"; false: it is a "ProfileChunk" */
	uint32_t pid, id, thread;
	int64_t ts_ns;
	struct json_in args;
};

/* Prepares reading V8 profiles. All pointers are borrowed. */
void trace_profiles_init(struct trace_profiles *t, const char *format, struct profile *p,
			 size_t budget, uint64_t *steps);
void trace_profiles_fini(struct trace_profiles *t);

/*
 * Reads an event. Returns 0 or -errno + message, as trace_profile_add() does. After -EINVAL the V8
 * profile has none of the event's samples, but may have some of its nodes, and the caller may go
 * on.
 */
_must_use_ int trace_profiles_take(struct trace_profiles *t, const struct trace_profile_event *e);

/* Returns the earliest start of all V8 profiles; @none if no start is known. */
int64_t trace_profiles_start(const struct trace_profiles *t, int64_t none);

/* Tells whether any V8 profile has samples. */
bool trace_profiles_any(const struct trace_profiles *t);

/*
 * Adds the samples of a V8 profile with @labels. Their values are counts and nanoseconds. Times are
 * relative to @base_ns.
 */
_must_use_ int trace_profile_add(struct trace_profiles *t, struct trace_profile *profile,
				 uint32_t labels, int64_t base_ns);

#endif
