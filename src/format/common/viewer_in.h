/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the readers of viewers' formats share: JSON, packed or not, hostile. Every message begins with
 * the format's name and the field.
 */
#ifndef FORMAT_COMMON_VIEWER_IN_H
#define FORMAT_COMMON_VIEWER_IN_H

#include "base/json_in.h"
#include "profile/profile.h"

#define VIEWER_MAX_DEPTH 65536 /* frames of a stack */
#define VIEWER_NO_MEMORY err_set(-ENOMEM, "out of memory for reading the profile")

/* The memory that a file of @n bytes may need: as of pprof, far above what real files do. */
#define VIEWER_BUDGET(n) ((256ull << 20) + 64 * (n))

/*
 * Small files can't make krait walk for hours: the frames of all stacks together, each counted once
 * a thread, that a file of @n bytes and @unpacked of text may have. Reading counts them without a walk, but
 * whatever is shown of them walks over each, some 30 ns a frame. Real files have a few frames a byte, and what is
 * packed some tens; V8's own stack has room for some 11,000 nested calls, which even a small file may have once.
 */
#define VIEWER_STEPS(n, unpacked)                                                                  \
	((64ull << 20) + MIN(64 * (uint64_t)(n), 16 * (uint64_t)(unpacked)))

/* Of a file that begins with @head: is its first character @first, and is @word in it? */
bool viewer_in_begins(const uint8_t *head, size_t n, char first);
bool viewer_in_has(const uint8_t *head, size_t n, const char *word);

/* -EINVAL + "FORMAT: FIELD: byte N: WHAT". */
int viewer_in_bad(const char *format, const struct json_in *in, const char *field,
		  const char *what);

/* Adds what was being read to a message of base/json_in.h; what isn't below 0 comes back as it is. */
int viewer_in_wrap(const char *format, int r, const char *field);

/* A string, or "" for what is none. */
_must_use_ int viewer_in_text(const char *format, struct json_in *in, const char *field,
			      struct str *ret);

/* The same of a number, too. */
_must_use_ int viewer_in_id(const char *format, struct json_in *in, const char *field,
			    struct str *ret);

/* A line or column; null and what isn't in 1..2^31-1 is 0. */
_must_use_ int viewer_in_line(const char *format, struct json_in *in, const char *field,
			      int32_t *ret);

/*
 * Any number times 10^@times, also as text ("100"); false in *known for what is none or doesn't fit, and 0 in *ret. Below 0
 * only for what is no JSON.
 */
_must_use_ int viewer_in_scaled(const char *format, struct json_in *in, const char *field,
				int times, int64_t *ret, bool *known);

/* How the counts of a file are kept: with fractions if one has some, unless one is too large for that. */
struct viewer_counts {
	bool micro, rounded; /* they are PROFILE_MICROCOUNT; fractions are rounded away */
	bool has_fraction, has_large;
};

/* A count as viewer_in_scaled() reads it. What the file has tells, behind it all, whether to read it anew. */
_must_use_ int viewer_in_count(const char *format, struct json_in *in, const char *field,
			       struct viewer_counts *c, int64_t *ret, bool *known);
bool viewer_in_counts_again(struct viewer_counts *c);

/* Says that @n things of a file are left out or mended (@how of comments.h); none: nothing. 0 or -ENOMEM + message. */
_must_use_ int viewer_in_note(struct profile *p, const char *how, uint64_t n, const char *thing,
			      const char *what);

/* -EINVAL + message if @p and @bytes beside it have become more than @budget. */
_must_use_ int viewer_in_check_memory(const char *format, const struct json_in *in,
				      const char *field, const struct profile *p, size_t bytes,
				      size_t budget);

/* @l of @p, whose function begins at @line; as it was where that is 0 or it has no function. */
void viewer_in_set_start(struct profile *p, struct profile_location *l, int32_t line);

/*
 * The text of a file: itself if it is plain, else in @unpacked, of @budget bytes at most. 0 or -errno +
 * message.
 */
_must_use_ int viewer_in_open(const char *format, const uint8_t *data, size_t n, size_t budget,
			      struct str *unpacked, struct json_in *ret);

#endif
