/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is shown to people: names come from target processes and files, and a terminal obeys some
 * characters instead of showing them. This is the one list of them. Whatever goes to a terminal has
 * '?' in their place.
 */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include <stdio.h>
#include "base/str.h"

/*
 * Whether character @c can be shown as it is. Not: controls (C0, DEL, C1), marks that change the
 * direction of the text around them, line separators, and what takes no room and has no shape. The
 * joiners U+200C and U+200D can: some scripts and emoji aren't written without them.
 */
bool visible(uint32_t c);

/*
 * The next character of @s, which is moved past it; 0 at the end, where it isn't. *@shown: it is UTF-8
 * and visible(). A byte that isn't UTF-8 is a character of its own.
 */
uint32_t visible_next(const char **s, bool *shown);

/* Replaces in @s itself what can't be shown; the text gets no longer. */
void visible_in_place(char *s);

/*
 * A stream that writes to @to and replaces what can't be shown, newlines and tabs aside. fclose()
 * doesn't close @to. NULL if there is no memory.
 */
FILE *visible_stream(FILE *to);

#endif
