/* SPDX-License-Identifier: BSD-2-Clause */
/* Text in columns of a terminal. Names come from files, so the text may be anything. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include <stdio.h>
#include "base/text/str.h"

/*
 * Makes wcwidth() know Unicode. To be called once, before the functions below. If there is no
 * locale with Unicode, widths are guesses.
 */
void cells_init(void);

/*
 * The width of the terminal at @f: from COLUMNS, else from the terminal itself, else 80; at least
 * 40. If @f is no terminal: 1,000.
 */
int cells_terminal_width(FILE *f);
/*
 * The height of the terminal at @f: from LINES, else from the terminal itself, else 24. If @f is no
 * terminal: 0.
 */
unsigned cells_terminal_height(FILE *f);

/* Returns how many columns the first @n bytes of @s take when printed. */
int cells_width(const char *s, size_t n);

/*
 * Appends @s in at most @columns columns. If @s is too long, "…" stands for its end, or with
 * @keep_end for its beginning. Control characters become "?". With @fill, blanks fill the rest.
 * Returns the number of columns used.
 */
int cells_add(struct str *b, const char *s, int columns, bool keep_end, bool fill);

#endif
