/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text for a terminal. Names come from target processes. So anything in them that a terminal would
 * obey (escape sequences, control characters, reversed direction) is replaced by '?'. Characters
 * count as many columns as they occupy.
 */
#ifndef LIVE_TEXT_H
#define LIVE_TEXT_H

#include "base/text/str.h"

/*
 * Returns how many columns @s occupies. @s is UTF-8. Without @utf8 each character beyond ASCII is
 * shown as one '?'.
 */
int text_width(const char *s, bool utf8);

/* Appends the beginning of @s, as much as fits into @width columns. Returns the columns used. */
int text_clip(struct str *out, const char *s, int width, bool utf8);

/* Appends @line, which may have names with newlines in it, as one line. */
void text_line(struct str *out, struct str *line);

/* Appends nanoseconds in seconds: "0.32 s". */
void text_seconds(struct str *out, int64_t ns);

/*
 * Appends as much of @s as fits into @width columns. Returns the columns used. If @s doesn't fit,
 * its middle is left out, because names often differ at the end; in less than 12 columns, its end
 * is left out.
 */
int text_fit(struct str *out, const char *s, int width, bool utf8);

/*
 * Appends a frame, "NAME (PLACE)", as text_fit() appends a text. But if it is too long, the
 * beginning of the place is cut first, the name last.
 */
int text_fit_frame(struct str *out, const char *s, int width, bool utf8);

#endif
