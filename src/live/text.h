/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text for a terminal. Names come from target processes, so whatever in them a terminal would obey
 * is replaced by '?': escape sequences, control characters, characters that reverse the direction.
 * Widths are counted in columns: a character may take none, one or two.
 */
#ifndef LIVE_TEXT_H
#define LIVE_TEXT_H

#include "base/text/str.h"

/*
 * Returns how many columns @s takes. @s is UTF-8. Without @utf8, each character beyond ASCII is
 * shown as one '?'.
 */
int text_width(const char *s, bool utf8);

/*
 * Appends as much of the beginning of @s as fits into @width columns. Returns how many columns were
 * used.
 */
int text_clip(struct str *out, const char *s, int width, bool utf8);

/* Appends @line as one line, even if names in it contain newlines. */
void text_line(struct str *out, struct str *line);

/* Appends a number of nanoseconds as seconds: "0.32 s". */
void text_seconds(struct str *out, int64_t ns);

/*
 * Appends as much of @s as fits into @width columns. Returns how many columns were used. If @s
 * doesn't fit, its middle is left out, because names often differ at their end. If @width is less
 * than 12, the end is left out instead.
 */
int text_fit(struct str *out, const char *s, int width, bool utf8);

/*
 * Appends a frame, "NAME (PLACE)", as text_fit() appends a text. But a frame that is too long loses
 * the beginning of its place first, and parts of its name last.
 */
int text_fit_frame(struct str *out, const char *s, int width, bool utf8);

#endif
