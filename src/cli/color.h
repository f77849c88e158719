/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours in the terminal, and when they are off. */
#ifndef CLI_COLOR_H
#define CLI_COLOR_H

#include <stdio.h>
#include "base/util.h"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum color { COLOR_OFF, COLOR_RED, COLOR_GREEN, COLOR_YELLOW };

/*
 * Is output to @f coloured? In auto mode: if @f is a terminal with colours, and NO_COLOR
 * (no-color.org) isn't set.
 */
bool color_wanted(enum color_mode mode, FILE *f);

/* Returns the escape sequence of a colour; "" if not @wanted. */
const char *color_code(bool wanted, enum color color);

#endif
