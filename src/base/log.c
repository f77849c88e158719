/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages and the progress line on stderr; see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
	va_list ap;

	if (level > max_level)
		return;
	flockfile(stderr); /* a whole line, whichever thread says it */
	erase_progress();
	fprintf(stderr, "krait: %s", prefix[level]);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
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
