/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours in the terminal, and when there are none. */
#ifndef CLI_COLOR_H
#define CLI_COLOR_H

#include <stdio.h>
#include "base/util.h"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum color { COLOR_OFF, COLOR_RED, COLOR_GREEN, COLOR_YELLOW };

/*
 * Is output to @f coloured? Auto: if it is a terminal that can and NO_COLOR (no-color.org) isn't
 * set to anything.
 */
bool color_wanted(enum color_mode mode, FILE *f);

/* The escape sequence, or "" if not @wanted. */
const char *color_code(bool wanted, enum color color);

#endif
