/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives the colours of text in the terminal; see color.h. */
#include "cli/color.h"

#include <stdlib.h>
#include <unistd.h>

bool color_wanted(enum color_mode mode, FILE *f)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (mode != COLOR_AUTO)
		return mode == COLOR_ALWAYS;
	return isatty(fileno(f)) && term && !streq(term, "dumb") && !(no_color && *no_color);
}

const char *color_code(bool wanted, enum color color)
{
	static const char *const codes[] = {
		[COLOR_OFF] = "\033[0m",
		[COLOR_RED] = "\033[31m",
		[COLOR_GREEN] = "\033[32m",
		[COLOR_YELLOW] = "\033[33m",
	};

	return wanted ? codes[color] : "";
}
