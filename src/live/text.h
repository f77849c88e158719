/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text for a terminal. Names come from target processes, so anything that a terminal would obey
 * (escape sequences, control characters, reversed direction) is replaced by '?'. Characters count
 * as many columns as they occupy.
 */
#ifndef LIVE_TEXT_H
#define LIVE_TEXT_H

#include "base/text/str.h"

/*
 * The columns that @s occupies. @s is UTF-8; without @utf8 each character beyond ASCII is one '?'.
 */
int text_width(const char *s, bool utf8);

/* Appends the beginning of @s, as much as fits into @width columns. Returns the columns used. */
int text_clip(struct str *out, const char *s, int width, bool utf8);

/*
 * Appends as much of @s as fits into @width columns. Returns the columns used. If @s doesn't fit,
 * its middle is left out, because the end may distinguish it from others.
 */
int text_fit(struct str *out, const char *s, int width, bool utf8);

/* As text_fit(), for "NAME (PLACE)": the beginning of the place is cut first, the name last. */
int text_fit_frame(struct str *out, const char *s, int width, bool utf8);

#endif
