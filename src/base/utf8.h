/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names come from target processes and files and may hold anything; formats want UTF-8. Invalid
 * bytes become U+FFFD, one for each maximal part of a sequence (Unicode 15, section 3.9, as Python
 * and browsers do); so does NUL, which C strings can't hold.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

/* Length of the valid, NUL-free start of @s; n if all of it is. */
size_t utf8_valid(const char *s, size_t n);

/* Length of the one valid character that @s begins with, 0 if there is none. */
size_t utf8_valid_one(const char *s, size_t n);

/* The number of bytes at @s, where utf8_valid() stopped, that one U+FFFD stands for; @n > 0. */
size_t utf8_invalid(const char *s, size_t n);

/* Appends @s to @out with everything invalid replaced. */
void utf8_clean(struct str *out, const char *s, size_t n);

#endif
