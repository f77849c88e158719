/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads JSON text (RFC 8259) value by value, without a tree: the caller says what it expects. The
 * text is hostile: nothing is read beyond its end, and nothing recurses. An error message names the
 * byte where the text is wrong; the caller adds what it was reading.
 */
#ifndef BASE_TEXT_JSON_IN_H
#define BASE_TEXT_JSON_IN_H

#include "base/text/str.h"
#include "base/util.h"

struct json_in {
	const char *start, *at, *end;
	bool fresh; /* true: .at is right after a { or [, so no comma comes before the next item */
	/*
	 * Accept strings with unknown escapes and control characters, and take these literally. Set
	 * for files of other tools.
	 */
	bool lenient;
};

/*
 * Begins to read the @n bytes at @s, which stay the caller's and must be valid as long as @in is
 * used.
 */
void json_in_init(struct json_in *in, const char *s, size_t n);

/* All functions below return -EINVAL + message if the text isn't what the function expects. */

/* Steps into an object ('{') or a list ('['). */
_must_use_ int json_in_enter(struct json_in *in, char open);

/*
 * Reads the next key of an object into @key, which is overwritten. Returns 1, and the key's value
 * is to be read next; or 0 if the object has ended.
 */
_must_use_ int json_in_key(struct json_in *in, struct str *key);

/*
 * Tells whether the list has another item: returns 1, and the item is to be read next; or 0 if the
 * list has ended.
 */
_must_use_ int json_in_item(struct json_in *in);

/*
 * Reads a string into @out, which is overwritten. NUL and surrogates without their other half
 * become U+FFFD; bytes that aren't UTF-8 are kept. May also return -ENOMEM + message.
 */
_must_use_ int json_in_string(struct json_in *in, struct str *out);

/* Reads an integer in the range of int64_t, written without fraction and exponent. */
_must_use_ int json_in_integer(struct json_in *in, int64_t *ret);

/*
 * Reads any number and multiplies it by 10^@times. *ret: the product, rounded to an integer, which
 * must be in the range of int64_t.
 */
_must_use_ int json_in_scaled(struct json_in *in, int times, int64_t *ret);

/* Skips any value, also NaN, Infinity and -Infinity, which Python writes. */
_must_use_ int json_in_skip(struct json_in *in);

/* Checks that only blanks follow the value that was read. */
_must_use_ int json_in_end(struct json_in *in);

#endif
