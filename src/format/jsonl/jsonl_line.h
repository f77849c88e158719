/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One of krait's JSON lines, parsed into its members but not interpreted yet. The line is hostile.
 */
#ifndef FORMAT_JSONL_JSONL_LINE_H
#define FORMAT_JSONL_JSONL_LINE_H

#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "format/common/lines.h"
#include "profile/profile.h"

#define JSONL_MAX_COMMENTS COMMENTS_MAX

enum jsonl_text {
	JSONL_TYPE,
	JSONL_NAME,
	JSONL_BUILD_ID,
	JSONL_SYSTEM_NAME,
	JSONL_MADE_IN,
	JSONL_FILE,
	JSONL_TEXTS
};

/* Members that are addresses, which the file has as strings like "0x12ab". */
enum jsonl_address { JSONL_START, JSONL_LIMIT, JSONL_OFFSET, JSONL_ADDRESS, JSONL_ADDRESSES };

enum jsonl_number {
	JSONL_VERSION,
	JSONL_DEFAULT_SAMPLE_TYPE,
	JSONL_PERIOD,
	JSONL_TIME_NANOS,
	JSONL_DURATION_NANOS,
	JSONL_ID,
	JSONL_MAPPING,
	JSONL_START_LINE,
	JSONL_RAN_BEFORE,
	JSONL_LINE,
	JSONL_COLUMN,
	JSONL_END_LINE,
	JSONL_END_COLUMN,
	JSONL_INLINED_INTO,
	JSONL_STACK,
	JSONL_LABELS_ID,
	JSONL_TIME,
	JSONL_NUMBERS
};

struct jsonl_label {
	struct str key, value;
};

struct jsonl_type {
	struct str type, unit;
};

/* The members of a line. Members that the line doesn't have are empty or 0. */
struct jsonl_line {
	uint64_t number;
	struct str texts[JSONL_TEXTS];
	int64_t numbers[JSONL_NUMBERS];
	uint64_t addresses[JSONL_ADDRESSES];
	bool has_name, has_time;
	VEC(int64_t) list; /* numbers in the member "frames" or "values" */
	VEC(struct jsonl_label) labels;
	/* how many elements of .labels have memory, which later lines use again */
	size_t labels_made;
	struct jsonl_type types[PROFILE_MAX_VALUES], period_type;
	unsigned n_types;
	size_t n_comments;
	/*
	 * the first .n_comments elements are the line's comments; the elements after them are
	 * strings whose memory later lines use again
	 */
	VEC(struct str) comments;
	struct str key; /* the key that is being read */
};

/*
 * Parses @line into @l, which must be zero before its first use. 0, -EINVAL or -ENOMEM + message.
 */
_must_use_ int jsonl_line_read(struct jsonl_line *l, const struct line *line);
void jsonl_line_fini(struct jsonl_line *l);

/* Returns value type @t, with strings that live as long as @p. */
struct profile_value_type jsonl_value_type(struct profile *p, const struct jsonl_type *t);

#endif
