/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V8's profiles in a trace. An event "Profile" says which thread is profiled and when its profile
 * begins. Each event "ProfileChunk" adds nodes and samples; another thread may write these events.
 */
#ifndef FORMAT_TRACE_TRACE_PROFILES_H
#define FORMAT_TRACE_TRACE_PROFILES_H

#include "format/v8/v8_nodes.h"

/* A sample of a V8 profile, which lasts until the next one. */
struct trace_tick {
	uint32_t node; /* index of the sample's node in trace_profile.nodes */
	int64_t at_ns; /* time since the profile's start */
};

struct trace_profile {
	uint32_t id; /* V8's id of this profile, as a string of the struct profile */
	/*
	 * number that the caller has for the thread; without a "Profile" event, for that of the
	 * first "ProfileChunk"
	 */
	uint32_t thread;
	bool begun;		  /* .start_ns is set */
	int64_t start_ns, end_ns; /* when the V8 profile began and ended; .end_ns 0: not known */
	int64_t at_ns;		  /* time of the last sample, counted from .start_ns */
	struct v8_nodes nodes;
	VEC(struct trace_tick) ticks;
	struct json_in last; /* "args" of the profile's last event; messages name their byte */
};

struct trace_profiles {
	const char *format;
	struct profile *p;
	size_t budget;
	uint64_t *steps;
	VEC(struct trace_profile *) list;
	struct map at; /* pid << 32 | id (strings) -> index of the V8 profile */
	/* number of samples whose node isn't in the file, and of nodes whose caller isn't */
	uint64_t n_unknown, n_orphans;
	struct str key;
};

struct trace_profile_event {
	bool begins; /* the event is a "Profile"; false: a "ProfileChunk" */
	uint32_t pid, id, thread;
	int64_t ts_ns;
	struct json_in args;
};

/* Prepares reading. All pointers are borrowed. */
void trace_profiles_init(struct trace_profiles *t, const char *format, struct profile *p,
			 size_t budget, uint64_t *steps);
void trace_profiles_fini(struct trace_profiles *t);

/*
 * Reads an event. This and the functions below return 0 or -errno + message. After -EINVAL the
 * profile has no samples of this event, but may have nodes of it. Then the caller may go on, if
 * memory allows.
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
