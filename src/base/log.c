/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages and the progress line on stderr; see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/visible.h"

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
	visible_in_place(text); /* file names and the like are the target's to choose */
	flockfile(stderr);	/* a whole line, whichever thread says it */
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
	char text[MAX_TEXT];
	va_list ap;

	if (!progress_wanted())
		return;
	flockfile(stderr);
	erase_progress();
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		visible_in_place(text);
		fputs(text, stderr);
		fflush(stderr);
		progress_shown = true;
	}
	funlockfile(stderr);
}
