/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and names as a reader meets them in pictures: escaped, cut to a width, with units. */
#ifndef PICTURE_MARKUP_H
#define PICTURE_MARKUP_H

#include <stdio.h>
#include "base/str.h"

/*
 * Next code point of a NUL-terminated string, *s moved past it; 0 at the end. Bytes that aren't
 * UTF-8 give U+FFFD.
 */
uint32_t markup_next(const char **s);

/* Columns in a fixed-width font: East Asian wide characters and emoji take two. */
size_t markup_columns(const char *s);

/* Bytes of the longest start of @s that takes at most @columns. */
size_t markup_fit(const char *s, size_t columns);

/* Appends @n bytes (at most the length) as XML text: valid in content and in quoted attributes. */
void markup_add_xml(struct str *b, const char *s, size_t n);

/* The same where Markdown is read: nothing of it is markup there either. */
void markup_add_md(struct str *b, const char *s, size_t n);
/* As code in Markdown; nothing if @n is 0. */
void markup_add_md_code(struct str *b, const char *s, size_t n);

/* Appends a quoted JSON string that is XML text as well ('<', '&' as \u escapes). */
void markup_add_json(struct str *b, const char *s);

/* "1,234"; "1.23 s", "45.6 ms" for nanoseconds; "1,234 bytes" for other units but count. */
void markup_add_count(struct str *b, int64_t n);
void markup_add_value(struct str *b, int64_t value, const char *unit);

/* "12.3 %"; below 0.1 two significant digits. */
void markup_add_percent(struct str *b, double part, double whole);

#endif
