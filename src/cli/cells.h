/* SPDX-License-Identifier: BSD-2-Clause */
/* Text in columns of a terminal. Names come from files, so the text may be any bytes. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include <stdio.h>
#include "base/text/str.h"

/*
 * Makes wcwidth() know Unicode. Call it once, before the functions below. On a machine without a
 * Unicode locale, widths are guesses.
 */
void cells_init(void);

/*
 * Returns the width of the terminal at @f: by the variable COLUMNS, else from the terminal, else
 * 80; at least 40. Returns 1,000 if @f is no terminal.
 */
int cells_terminal_width(FILE *f);
/*
 * Returns the height of the terminal at @f: by the variable LINES, else from the terminal, else 24.
 * Returns 0 if @f is no terminal.
 */
unsigned cells_terminal_height(FILE *f);

/* Returns how many columns the first @n bytes of @s take on a terminal. */
int cells_width(const char *s, size_t n);

/*
 * Appends @s in at most @columns columns. If @s is too long, "…" replaces its end or, with
 * @keep_end, its beginning. Control characters become "?". With @fill, blanks fill the remaining
 * columns. Returns how many columns were used.
 */
int cells_add(struct str *b, const char *s, int columns, bool keep_end, bool fill);

#endif
