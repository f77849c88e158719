/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages and the progress line on stderr; see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

#define MAX_TEXT 8192 /* of a message: two paths and words */

static enum log_level max_level = LOG_NOTE;
static bool progress_shown;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_level(void)
{
	return max_level;
}

static void erase_progress(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	progress_shown = false;
}

/*
 * File names and the like are the target's to choose, and a terminal obeys controls (C0, DEL, C1 as UTF-8 or as one
 * byte). In place: "out of memory" has to be said too.
 */
static void hide_controls(char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; (i += utf8_valid(text + i, n - i)) < n;)
		text[i] = '?';
	for (char *s = text; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
		else if (*s == '\xc2' && (unsigned char)s[1] < 0xa0)
			s[0] = s[1] = '?';
	}
}

void log_at(enum log_level level, const char *fmt, ...)
{
	static const char *const prefix[] = {"error: ", "warning: ", "", "", ""};
	char text[MAX_TEXT];
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	hide_controls(text);
	flockfile(stderr); /* a whole line, whichever thread says it */
	erase_progress();
	fprintf(stderr, "krait: %s%s\n", prefix[level], text);
	funlockfile(stderr);
}

static bool progress_wanted(void)
{
	const char *term = getenv("TERM");

	return max_level >= LOG_NOTE && isatty(STDERR_FILENO) && !(term && streq(term, "dumb"));
}

void log_progress(const char *fmt, ...)
{
	va_list ap;

	if (!progress_wanted())
		return;
	flockfile(stderr);
	erase_progress();
	if (fmt) {
		va_start(ap, fmt);
		vfprintf(stderr, fmt, ap);
		va_end(ap);
		fflush(stderr);
		progress_shown = true;
	}
	funlockfile(stderr);
}
