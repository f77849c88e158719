/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON text (RFC 8259), read value by value, without a tree: who reads says what it expects. Text is
 * hostile: nothing is read beyond it, nothing recurses, and what is wrong is said with the byte where
 * it is. Whoever calls adds what was being read.
 */
#ifndef BASE_JSON_IN_H
#define BASE_JSON_IN_H

#include "base/str.h"
#include "base/util.h"

struct json_in {
	const char *start, *at, *end;
	bool fresh; /* just behind a { or [ */
	/*
	 * Strings may have unknown escapes and control characters, which stand for themselves. Set for files
	 * of other tools.
	 */
	bool lenient;
};

/* @s stays the caller's. */
void json_in_init(struct json_in *in, const char *s, size_t n);

/* All of these: -EINVAL + message for other text than they expect. */

/* A { or [. */
_must_use_ int json_in_enter(struct json_in *in, char open);

/* The next key of an object, its value is what comes then: 1, 0 behind the }. @key is overwritten. */
_must_use_ int json_in_key(struct json_in *in, struct str *key);

/* Whether another item of an array comes: 1, 0 behind the ]. */
_must_use_ int json_in_item(struct json_in *in);

/*
 * A string; NUL and surrogates without their other half become U+FFFD, bytes that aren't UTF-8
 * stay as they are. -ENOMEM + message too. @out is overwritten.
 */
_must_use_ int json_in_string(struct json_in *in, struct str *out);

/* A number without fraction and exponent, in the range of int64_t. */
_must_use_ int json_in_integer(struct json_in *in, int64_t *ret);

/* Any number times 10^@times, rounded to a whole one in the range of int64_t. */
_must_use_ int json_in_scaled(struct json_in *in, int times, int64_t *ret);

/* Any value; NaN, Infinity and -Infinity too, which Python writes. */
_must_use_ int json_in_skip(struct json_in *in);

/* Nothing but blanks is left. */
_must_use_ int json_in_end(struct json_in *in);

#endif
