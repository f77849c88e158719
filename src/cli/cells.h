/* SPDX-License-Identifier: BSD-2-Clause */
/* Text in columns of a terminal, whatever it holds: names come from files and may be anything. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include <stdio.h>
#include "base/str.h"

/* Makes wcwidth() know Unicode; once, before the others. Without such a locale widths are guesses. */
void cells_init(void);

/* Columns of the terminal at @f: COLUMNS, the terminal's own word, else 80; 40 at least. 1,000 where it is none. */
int cells_terminal_width(FILE *f);
/* Its rows: LINES, the terminal's own word, else 24. 0 where it is none. */
unsigned cells_terminal_height(FILE *f);

/* Columns that the first @n bytes of @s take, as they are printed. */
int cells_width(const char *s, size_t n);

/*
 * Appends @s in at most @columns columns, with "…" where it is cut (at its beginning with
 * @keep_end); controls become "?"; filled up with blanks if @fill. Returns the columns it takes.
 */
int cells_add(struct str *b, const char *s, int columns, bool keep_end, bool fill);

#endif
