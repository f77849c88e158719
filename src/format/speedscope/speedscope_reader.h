/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares what the source files that read a speedscope file share; see speedscope_in.c. */
#ifndef FORMAT_SPEEDSCOPE_SPEEDSCOPE_READER_H
#define FORMAT_SPEEDSCOPE_SPEEDSCOPE_READER_H

#include "base/text/json_in.h"
#include "base/vec.h"
#include "format/common/viewer_in.h"
#include "profile/profile.h"

#define SS_FORMAT "speedscope"

/* Reasons why something in the file was left out or changed. */
enum ss_reason {
	NO_FRAME,
	NO_WEIGHT,
	NO_END,
	NO_EVENT,
	NO_PROFILE,
	NO_VALUE,
	INSIDE,
	BACK,
	NO_UNIT,
	SS_REASONS
};

/*
 * A frame that is open at this point of the file. .node is the node, in the profile's tree, of the
 * stack up to this frame, or 0 if no sample has used that stack yet.
 */
struct ss_open_frame {
	uint32_t location, node;
	uint32_t index; /* 1 + index of the frame in the file's table; only set for events */
};

struct ss_reader {
	struct profile *p;
	size_t budget;
	uint64_t steps;
	/*
	 * where the lists "frames" and "profiles" are in the file; .at is NULL if the file lacks
	 * the list
	 */
	struct json_in frames, profiles;
	VEC(uint32_t) locations; /* by index in the file's table of frames: id of the location */
	VEC(struct ss_open_frame) stack; /* frames that are open (on the stack), root first */
	/* by index of a frame in the table: how often the frame is on the stack */
	VEC(uint32_t) n_open;
	struct viewer_counts counts;
	/* by reason (enum ss_reason): how often something was left out or changed */
	uint64_t odd[SS_REASONS];
	/* true: krait wrote the file, so the first value is the default value */
	bool has_types;
	struct str key, name, file;
};

/* A profile of the file. Its samples or events are read when all its members are known. */
struct ss_part {
	struct json_in samples, weights, events;
	struct str type, name, unit;
	/*
	 * .value_type and .value_unit: members that only krait writes, the type and the unit of the
	 * value
	 */
	struct str value_type, value_unit;
	int power;	/* amounts in the file times 10^power are amounts in the profile */
	unsigned value; /* index of the value in the profile */
	bool is_count, is_austin;
	uint32_t labels;
};

static inline int ss_bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(SS_FORMAT, in, field, what);
}

static inline int ss_in_field(int r, const char *field)
{
	return viewer_in_wrap(SS_FORMAT, r, field);
}

_must_use_ static inline int ss_read_text(struct json_in *in, const char *field, struct str *ret)
{
	return viewer_in_text(SS_FORMAT, in, field, ret);
}

_must_use_ static inline int ss_check_memory(const struct ss_reader *r, const struct json_in *in)
{
	return viewer_in_check_memory(SS_FORMAT, in, "profiles", r->p, 0, r->budget);
}

/*
 * Counts a thing that was left out or changed for the reason @why. Returns 0, for `return
 * ss_odd()`.
 */
static inline int ss_odd(struct ss_reader *r, enum ss_reason why)
{
	r->odd[why]++;
	return 0;
}

/* speedscope_names.c */

/*
 * Reads the unit of @part. Sets .value, the index of the profile's value for that unit, and how
 * amounts are converted to it. There is one value for all units of time, one for bytes, and one for
 * counts. But if krait wrote the part, members that only krait writes decide which value it is.
 * .value is PROFILE_MAX_VALUES if there is no room for the value.
 */
void ss_take_unit(struct ss_reader *r, struct ss_part *part);

/*
 * Sets .labels from the name of @part. To be called after ss_take_unit(). @alone: @part is the
 * file's only profile, so its name may be a program's instead of a thread's. 0 or -ENOMEM +
 * message.
 */
_must_use_ int ss_take_name(struct ss_reader *r, struct ss_part *part, bool alone);

/*
 * Read the samples of @part (speedscope_samples.c); to be called after ss_take_unit() and
 * ss_take_name(). ss_read_sampled() reads the lists of samples and weights. If one list is longer
 * than the other, its rest is left out and counted. ss_read_evented() reads events that open and
 * close frames. The frames that are open between two events become a sample. 0 or -errno + message.
 */
_must_use_ int ss_read_sampled(struct ss_reader *r, struct ss_part *part);
_must_use_ int ss_read_evented(struct ss_reader *r, struct ss_part *part);

#endif
