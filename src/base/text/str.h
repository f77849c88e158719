/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing byte string, always NUL-terminated (the NUL isn't counted). A zero-initialised struct
 * is the empty string. The .s of an empty string may be NULL, so read a string with str_cstr(). A
 * failed allocation is remembered in .failed, so that a chain of appends is checked once, at its
 * end.
 */
#ifndef BASE_TEXT_STR_H
#define BASE_TEXT_STR_H

#include "base/cleanup.h"
#include "base/util.h"

struct str {
	char *s;
	size_t n, cap;
	bool failed;
};

void str_fini(struct str *b);
void str_clear(struct str *b); /* makes the string empty; keeps its memory, resets .failed */

void str_add(struct str *b, const char *s);
void str_add_n(struct str *b, const void *s, size_t n);
void str_add_c(struct str *b, char c);
void str_shrink(struct str *b); /* gives back memory that the string doesn't use */
void str_addf(struct str *b, const char *fmt, ...) _printf_(2, 3);

/* Appends @s as one word of a shell's command line, quoted if it needs quotes. */
void str_add_shell_word(struct str *b, const char *s);

const char *str_cstr(const struct str *b); /* never NULL: "" when empty */

/*
 * Hands the bytes over to the caller, who frees them, and empties @b; NULL if an append failed. An
 * empty string gives "".
 */
char *str_take(struct str *b);

#define _cleanup_str_ _cleanup_(str_fini)

#endif
