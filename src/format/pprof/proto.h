/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the writer and the reader share: parts of the protocol buffers encoding, and of
 * google/pprof's proto/profile.proto. Field numbers are those of profile.proto as of 2024
 * (Line.column = 3, Profile.doc_url = 15).
 */
#ifndef FORMAT_PPROF_PROTO_H
#define FORMAT_PPROF_PROTO_H

#include <stdlib.h>
#include "base/nomem.h"
#include "base/util.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_DROP_FRAMES = 7,
	PROFILE_KEEP_FRAMES = 8,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_NUM_UNIT = 4 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LOCATION_IS_FOLDED = 5,
};
/*
 * LINE_END_COLUMN and LINE_END_LINE are krait's own fields. Their numbers are so high that
 * profile.proto won't use them soon. Readers skip unknown fields, as protocol buffers require.
 */
enum line_field {
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
	LINE_COLUMN = 3,
	LINE_END_COLUMN = 100,
	LINE_END_LINE = 101,
};
enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
	FUNCTION_RAN_BEFORE = 100, /* krait's own field, which pprof doesn't have */
	FUNCTION_MADE_IN = 101,	   /* krait's own field, which pprof doesn't have */
};

/* Key and unit of the numeric label that holds the time of a sample. */
#define PPROF_TIME_KEY	"time"
#define PPROF_TIME_UNIT "nanoseconds"

/*
 * A protocol buffers message that grows. If an allocation fails, .failed is set, and later
 * additions are dropped.
 */
struct pb {
	uint8_t *v;
	size_t n, cap;
	bool failed;
};

/* Makes room for @n more bytes. False: out of memory. */
static inline bool pb_reserve(struct pb *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	uint8_t *v;

	if (b->n + n <= b->cap)
		return true;
	while (cap < b->n + n)
		cap *= 2;
	v = realloc(b->v, cap);
	if (!v) {
		(void)err_nomem();
		b->failed = true;
		return false;
	}
	b->v = v;
	b->cap = cap;
	return true;
}

static inline void pb_varint(struct pb *b, uint64_t v)
{
	if (!pb_reserve(b, 10))
		return;
	for (; v >= 0x80; v >>= 7)
		b->v[b->n++] = (uint8_t)(v | 0x80);
	b->v[b->n++] = (uint8_t)v;
}

static inline size_t pb_varint_size(uint64_t v)
{
	return (size_t)(63 - __builtin_clzll(v | 1)) / 7 + 1;
}

static inline void pb_tag(struct pb *b, unsigned field, enum pb_wire wire)
{
	pb_varint(b, field << 3 | wire);
}

/* Writes an integer field, unless it is 0, which is the default. */
static inline void pb_uint(struct pb *b, unsigned field, uint64_t v)
{
	if (!v)
		return;
	pb_tag(b, field, PB_VARINT);
	pb_varint(b, v);
}

static inline void pb_bytes(struct pb *b, unsigned field, const void *s, size_t n)
{
	pb_tag(b, field, PB_BYTES);
	pb_varint(b, n);
	if (!pb_reserve(b, n))
		return;
	if (n)
		memcpy(b->v + b->n, s, n);
	b->n += n;
}

#endif
