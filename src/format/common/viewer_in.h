/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that the readers of viewers' formats share. A file in such a format is JSON, compressed
 * or not, and hostile. Every message begins with the format's name and the field.
 */
#ifndef FORMAT_COMMON_VIEWER_IN_H
#define FORMAT_COMMON_VIEWER_IN_H

#include "base/text/json_in.h"
#include "profile/profile.h"

#define VIEWER_MAX_DEPTH 65536 /* the most frames that a stack may have */
#define VIEWER_NO_MEMORY err_set(-ENOMEM, "out of memory for reading the profile")

/*
 * The most bytes of memory that reading a file of @n bytes may take, by the same formula as for
 * pprof (pprof_read.c). Real files need far less.
 */
#define VIEWER_BUDGET(n) ((256ull << 20) + 64 * (n))

/*
 * The most frames that the stacks of a file may have in all. The file has @n bytes, and @unpacked
 * bytes once it is decompressed. Each stack is counted once for each thread. Without this limit a
 * small file could keep krait busy for hours, because all views look at each of these frames, at
 * some 30 ns a frame. Real files have a few frames for each byte, or some tens if compressed. The
 * constant part allows for one deep stack even in a small file: V8's own stack has room for some
 * 11,000 nested calls.
 */
#define VIEWER_STEPS(n, unpacked)                                                                  \
	((64ull << 20) + MIN(64 * (uint64_t)(n), 16 * (uint64_t)(unpacked)))

/*
 * viewer_in_begins() tells whether the first character of @head, the beginning of a file, is
 * @first. viewer_in_has() tells whether @head contains @word.
 */
bool viewer_in_begins(const uint8_t *head, size_t n, char first);
bool viewer_in_has(const uint8_t *head, size_t n, const char *word);

/*
 * Sets the message "FORMAT: FIELD: byte N: WHAT", where N is the byte at which @in is, and returns
 * -EINVAL.
 */
int viewer_in_bad(const char *format, const struct json_in *in, const char *field,
		  const char *what);

/* If @r is an error of base/text/json_in.h, adds format and field to its message. Returns @r. */
int viewer_in_wrap(const char *format, int r, const char *field);

/* Reads a string. A value that isn't a string gives "". */
_must_use_ int viewer_in_text(const char *format, struct json_in *in, const char *field,
			      struct str *ret);

/* Reads a string or a number, and gives it as text. */
_must_use_ int viewer_in_id(const char *format, struct json_in *in, const char *field,
			    struct str *ret);

/* Reads a line or column number; gives 0 if it is null or not in 1..2^31-1. */
_must_use_ int viewer_in_line(const char *format, struct json_in *in, const char *field,
			      int32_t *ret);

/*
 * Reads a number, which may be in a string ("100"), and multiplies it by 10^@times. If the value is
 * no number or doesn't fit, *known is false and *ret is 0. Returns an error only for invalid JSON.
 */
_must_use_ int viewer_in_scaled(const char *format, struct json_in *in, const char *field,
				int times, int64_t *ret, bool *known);

/*
 * The unit in which the counts of a file are kept. If any count has a fraction, all are kept as
 * millionths. If a count is too large for that, all counts are rounded to whole numbers.
 */
struct viewer_counts {
	/*
	 * .micro: counts are kept as PROFILE_MICROCOUNT; .rounded: counts are rounded to whole
	 * numbers
	 */
	bool micro, rounded;
	bool has_fraction, has_large;
};

/*
 * viewer_in_count() reads a count, and returns what viewer_in_scaled() returns. After the whole
 * file was read, viewer_in_counts_again() tells whether the file must be read again, with its
 * counts kept in another unit.
 */
_must_use_ int viewer_in_count(const char *format, struct json_in *in, const char *field,
			       struct viewer_counts *c, int64_t *ret, bool *known);
bool viewer_in_counts_again(struct viewer_counts *c);

/*
 * Adds a comment which says that @n things of the file were left out or mended, unless @n is 0.
 * @how says which of the two, as a key of comments.h. 0 or -ENOMEM + message.
 */
_must_use_ int viewer_in_note(struct profile *p, const char *how, uint64_t n, const char *thing,
			      const char *what);

/*
 * Checks that @p and @bytes of other data together take no more than @budget bytes. Returns 0, or
 * -EINVAL + message.
 */
_must_use_ int viewer_in_check_memory(const char *format, const struct json_in *in,
				      const char *field, const struct profile *p, size_t bytes,
				      size_t budget);

/*
 * Sets in which line the function of @l begins. Changes nothing if @line is 0 or @l has no
 * function.
 */
void viewer_in_set_start(struct profile *p, struct profile_location *l, int32_t line);

/*
 * Gives access to the JSON text of a file. If the file is compressed, its text is put into
 * @unpacked, at most @budget bytes. Returns 0 or -errno + message.
 */
_must_use_ int viewer_in_open(const char *format, const uint8_t *data, size_t n, size_t budget,
			      struct str *unpacked, struct json_in *ret);

#endif
