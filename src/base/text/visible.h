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
 * Can character @c be shown as it is? Not so for: controls (C0, DEL, C1), marks that change the
 * direction of the text around them, line separators, and characters without width and shape. The
 * joiners U+200C and U+200D can be shown: some scripts and emoji aren't written without them.
 */
bool visible(uint32_t c);

/*
 * Returns the next character of @s and moves @s past it. At the end it returns 0, and @s stays.
 * *@shown: the character is UTF-8 and visible(). A byte that isn't UTF-8 is a character of its own.
 */
uint32_t visible_next(const char **s, bool *shown);

/* Puts '?' in place of what can't be shown (visible()), in @s itself; the text gets no longer. */
void visible_in_place(char *s);

/*
 * Returns a stream that writes to @to, with '?' in place of what can't be shown. Newlines and tabs
 * are kept. fclose() of the stream doesn't close @to. NULL if there is no memory.
 */
FILE *visible_stream(FILE *to);

#endif
