/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats numbers and names as readers see them in pictures: with units, escaped, cut to a width.
 */
#ifndef PICTURE_MARKUP_H
#define PICTURE_MARKUP_H

#include <stdio.h>
#include "base/text/str.h"

/*
 * Returns the next code point of a NUL-terminated string and moves *s past it; 0 at the end. Bytes
 * that aren't UTF-8 give U+FFFD.
 */
uint32_t markup_next(const char **s);

/*
 * Returns how many columns @s takes in a fixed-width font. East Asian wide characters and emoji
 * take two.
 */
size_t markup_columns(const char *s);

/*
 * Returns the length in bytes of the longest beginning of @s that takes at most @columns columns.
 */
size_t markup_fit(const char *s, size_t columns);

/*
 * Appends @n bytes (at most the length of @s) as XML text, which is valid in content and in quoted
 * attributes.
 */
void markup_add_xml(struct str *b, const char *s, size_t n);

/*
 * Appends @n bytes as text for HTML within Markdown. Nothing in the text becomes markup of either
 * language.
 */
void markup_add_md(struct str *b, const char *s, size_t n);
/* Appends @n bytes as code in Markdown; appends nothing if @n is 0. */
void markup_add_md_code(struct str *b, const char *s, size_t n);

/* Appends a quoted JSON string that is valid XML text too ('<' and '&' are \u escapes). */
void markup_add_json(struct str *b, const char *s);

/*
 * markup_add_count() appends "1,234". markup_add_value() appends "1.23 s" or "45.6 ms" for
 * nanoseconds, "1,234" for counts, and "1,234 bytes" for other units.
 */
void markup_add_count(struct str *b, int64_t n);
void markup_add_value(struct str *b, int64_t value, const char *unit);

/* Appends a percentage like "12.3 %"; a percentage below 0.1 % has two significant digits. */
void markup_add_percent(struct str *b, double part, double whole);

#endif
