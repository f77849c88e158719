/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads JSON text (RFC 8259) value by value, without a tree: the caller says what it expects. The
 * text is hostile: nothing is read beyond its end, and nothing recurses. An error message names the
 * byte where the text is wrong; the caller adds what it was reading.
 */
#ifndef BASE_JSON_IN_H
#define BASE_JSON_IN_H

#include "base/text/str.h"
#include "base/util.h"

struct json_in {
	const char *start, *at, *end;
	bool fresh; /* .at is right after a { or [, so no comma comes before the next item */
	/*
	 * Accept strings with unknown escapes and control characters, which stand for themselves.
	 * Set for files of other tools.
	 */
	bool lenient;
};

/* @s stays the caller's, and stays valid as long as @in is used. */
void json_in_init(struct json_in *in, const char *s, size_t n);

/* All functions below return -EINVAL + message if the text isn't what they expect. */

/* Steps into an object ('{') or a list ('['). */
_must_use_ int json_in_enter(struct json_in *in, char open);

/* Reads the next key of an object; its value follows. 1, or 0 after the }. @key is overwritten. */
_must_use_ int json_in_key(struct json_in *in, struct str *key);

/* Tells whether another item of the list follows: 1, or 0 after the closing ]. */
_must_use_ int json_in_item(struct json_in *in);

/*
 * Reads a string into @out, which is overwritten. NUL and surrogates without their other half
 * become U+FFFD; bytes that aren't UTF-8 are kept. Also -ENOMEM + message.
 */
_must_use_ int json_in_string(struct json_in *in, struct str *out);

/* Reads an integer in the range of int64_t, written without fraction and exponent. */
_must_use_ int json_in_integer(struct json_in *in, int64_t *ret);

/*
 * Reads any number and multiplies it by 10^@times, rounded to an integer in the range of int64_t.
 */
_must_use_ int json_in_scaled(struct json_in *in, int times, int64_t *ret);

/* Skips any value. NaN, Infinity and -Infinity too, because Python writes them. */
_must_use_ int json_in_skip(struct json_in *in);

/* Checks that only blanks follow the value that was read. */
_must_use_ int json_in_end(struct json_in *in);

#endif
