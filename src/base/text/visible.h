/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which characters may be shown to people. Names come from target processes and files, and a
 * terminal obeys some characters instead of showing them. The only list of those characters is
 * here. In text that goes to a terminal, '?' replaces each of them.
 */
#ifndef BASE_TEXT_VISIBLE_H
#define BASE_TEXT_VISIBLE_H

#include <stdio.h>
#include "base/text/str.h"

/*
 * Tells whether character @c can be shown as it is. These can't: controls (C0, DEL, C1), marks that
 * change the direction of the text around them, line separators, and characters without width and
 * shape. The joiners U+200C and U+200D can be shown, because some scripts and emoji aren't written
 * without them.
 */
bool visible(uint32_t c);

/*
 * Returns the next character of @s and moves @s past it. At the end of @s it returns 0 and doesn't
 * move. *@shown: the character is UTF-8 and visible(). A byte that isn't UTF-8 is a character by
 * itself.
 */
uint32_t visible_next(const char **s, bool *shown);

/* Replaces by '?', in @s itself, what can't be shown (visible()). The text gets no longer. */
void visible_in_place(char *s);

/*
 * Returns a stream that writes to @to, with '?' in place of what can't be shown. Newlines and tabs
 * are kept. fclose() of the stream doesn't close @to. NULL if there is no memory.
 */
FILE *visible_stream(FILE *to);

#endif
