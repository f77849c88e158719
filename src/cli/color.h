/* SPDX-License-Identifier: BSD-2-Clause */
/* The colours of text in a terminal, and when text has none. */
#ifndef CLI_COLOR_H
#define CLI_COLOR_H

#include <stdio.h>
#include "base/util.h"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum color { COLOR_OFF, COLOR_RED, COLOR_GREEN, COLOR_YELLOW };

/*
 * Tells whether output to @f has colours. In automatic mode it has colours if @f is a terminal with
 * colours, and NO_COLOR (no-color.org) isn't set.
 */
bool color_wanted(enum color_mode mode, FILE *f);

/* Returns the escape sequence that begins a colour; "" if @wanted is false. */
const char *color_code(bool wanted, enum color color);

#endif
