/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names come from target processes and files and may hold anything, but formats want UTF-8. Invalid
 * bytes become U+FFFD, one for each maximal part of a sequence (Unicode 15, section 3.9, as Python
 * and browsers do). NUL becomes U+FFFD too, because C strings can't hold it.
 */
#ifndef BASE_TEXT_UTF8_H
#define BASE_TEXT_UTF8_H

#include "base/text/str.h"

/*
 * Returns how many bytes at the beginning of the @n bytes at @s are valid UTF-8 without NUL; @n if
 * all are.
 */
size_t utf8_valid(const char *s, size_t n);

/*
 * Returns how many bytes the valid character at the beginning of @s has; 0 if @s doesn't begin with
 * one.
 */
size_t utf8_valid_one(const char *s, size_t n);

/*
 * For @s where utf8_valid() stopped: returns how many bytes at the beginning of @s are replaced by
 * one U+FFFD. @n isn't 0.
 */
size_t utf8_invalid(const char *s, size_t n);

/* Appends the @n bytes at @s to @out, with U+FFFD in place of invalid UTF-8 and of NUL. */
void utf8_clean(struct str *out, const char *s, size_t n);

#endif
