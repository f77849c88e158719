/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands log messages to the sink; see log.h. */
#include "base/system/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text/visible.h"

#define MAX_TEXT 8192 /* the most bytes of one message: two long paths fit */

static enum log_level max_level = LOG_NOTE;
/* the sink that shows messages; NULL: messages are dropped */
static const struct log_sink *shown_by;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_level(void)
{
	return max_level;
}

void log_set_sink(const struct log_sink *sink)
{
	shown_by = sink;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char text[MAX_TEXT];
	va_list ap;

	if (level > max_level || !shown_by)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* parts of the text, such as file names, may be chosen by a target */
	visible_in_place(text);
	shown_by->say(level, text);
}

void log_progress(const char *fmt, ...)
{
	char text[MAX_TEXT];
	va_list ap;

	if (max_level < LOG_NOTE || !shown_by)
		return;
	if (!fmt) {
		shown_by->progress(NULL);
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	visible_in_place(text);
	shown_by->progress(text);
}
