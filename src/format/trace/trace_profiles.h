/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V8's profiles in a trace. An event "Profile" says which thread is profiled and when that begins.
 * Each event "ProfileChunk", which another thread may write, adds nodes and samples.
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
	 * The caller's number of the thread; that of the first chunk if there is no "Profile"
	 * event.
	 */
	uint32_t thread;
	bool begun;		  /* .start_ns is set */
	int64_t start_ns, end_ns; /* when the V8 profile began and ended; .end_ns 0: not known */
	int64_t at_ns;		  /* time of the last sample, counted from .start_ns */
	struct v8_nodes nodes;
	VEC(struct trace_tick) ticks;
	struct json_in last; /* where in the file the last chunk of this profile is, for messages */
};

struct trace_profiles {
	const char *format;
	struct profile *p;
	size_t budget;
	uint64_t *steps;
	VEC(struct trace_profile *) list;
	struct map at; /* pid << 32 | id (strings) -> index of the V8 profile */
	/* how many samples lack their node, and how many nodes their caller */
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
 * Reads an event. 0 or -errno + message, as all below. After -EINVAL the profile has at most nodes
 * of this event, not its samples, and the caller may continue, if memory allows.
 */
_must_use_ int trace_profiles_take(struct trace_profiles *t, const struct trace_profile_event *e);

/* Returns the earliest start of all V8 profiles; @none if no start is known. */
int64_t trace_profiles_start(const struct trace_profiles *t, int64_t none);

/* Tells whether any V8 profile has samples. */
bool trace_profiles_any(const struct trace_profiles *t);

/*
 * Adds a profile's samples with @labels, as counts and nanoseconds. Times are relative to @base_ns.
 */
_must_use_ int trace_profile_add(struct trace_profiles *t, struct trace_profile *profile,
				 uint32_t labels, int64_t base_ns);

#endif
