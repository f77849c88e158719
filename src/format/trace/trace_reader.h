/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What trace_in.c stores of a file of trace events, so that trace_walk.c can make a profile of it.
 */
#ifndef FORMAT_TRACE_TRACE_READER_H
#define FORMAT_TRACE_TRACE_READER_H

#include "base/map.h"
#include "base/vec.h"
#include "format/trace/trace_profiles.h"
#include "format/trace/trace_samples.h"

#define FORMAT	  "trace"
#define NO_MEMORY VIEWER_NO_MEMORY
#define US	  3 /* 10^US is what the file's microseconds are multiplied by, to get ns */
/* by how many ns slices may overlap and still count as nested, because tools round times */
#define CLIP_NS 1000
#define DEEPER	"slices are nested far deeper"

struct slice {
	int64_t start, end;
	/* offset in the file of the end of the event that ends the slice */
	uint64_t at;
	uint32_t thread, location;
	uint32_t outer; /* node of the stack whose innermost frame is this slice */
};

/* A mark: an event that begins or ends a slice. */
struct mark {
	int64_t ts;
	uint64_t at;
	uint32_t thread, name;
	uint32_t location; /* id of the location; 0: the event is the end of a slice */
};

struct thread {
	/* the thread's process id, thread id and name, as strings of the profile; 0: not known */
	uint32_t pid, tid, name;
	uint32_t n_profiles; /* in how many V8 profiles the thread has samples */
};

/* Reasons why something in the file was left out. */
enum left_out { NO_PARTNER, NO_TIME, NO_LENGTH, NO_EVENT, NO_PHASE, NO_CHUNK, LEFT_OUTS };

struct reader {
	struct profile *p;
	size_t budget;
	uint64_t steps;
	bool of_krait;
	VEC(struct thread) threads;
	struct map thread_at;	 /* from pid << 32 | tid to the index of the thread */
	struct map process_name; /* from a pid to the string with the process's name */
	VEC(struct slice) slices;
	VEC(struct mark) marks;
	/* indexes of the open slices, or of the events (marks) that began them, outermost first */
	VEC(uint32_t) open;
	/*
	 * by stack id: 1 + number of the last thread for which the stack's frames were subtracted
	 * from .steps, the work that may still be done
	 */
	VEC(uint32_t) counted;
	uint64_t left_out[LEFT_OUTS];
	uint64_t cut; /* how many slices lasted longer than their caller and were therefore cut */
	struct trace_profiles profiles;
	struct trace_samples samples;
	unsigned slice_value; /* index in the profile of the value that is the length of slices */
	struct str key;
};

/*
 * Returns the thread with these ids, which are strings of the profile. Adds the thread if it is
 * new. NULL: out of memory. (In trace_in.c.)
 */
struct thread *trace_thread_by(struct reader *r, uint32_t pid, uint32_t tid);

/*
 * Makes the profile from everything that was read. @err: 0, or the error of reading; after an error
 * it only sets the value types. 0 or -errno + message.
 */
_must_use_ int trace_make(struct reader *r, int err);

#endif
