/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text for a terminal. Names come from target processes: what a terminal would obey (escape
 * sequences, controls, reversed directions) becomes '?'; characters take the columns they take.
 */
#ifndef LIVE_TEXT_H
#define LIVE_TEXT_H

#include "base/str.h"

/* Columns that @s takes. @s is UTF-8; without @utf8 each character beyond ASCII is one '?'. */
int text_width(const char *s, bool utf8);

/* Appends the beginning of @s, as much as fits into @width columns; how many it took. */
int text_clip(struct str *out, const char *s, int width, bool utf8);

/*
 * Appends as much of @s as fits into @width columns; how many it took. Of a name that doesn't fit
 * the middle is left out: its end may tell it from others.
 */
int text_fit(struct str *out, const char *s, int width, bool utf8);

/* The same of "NAME (PLACE)": the beginning of the place goes first, the name last. */
int text_fit_frame(struct str *out, const char *s, int width, bool utf8);

#endif
