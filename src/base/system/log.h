/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for the user. The code that does the work sends them; the program decides whether and
 * where they are shown (the command line: src/cli/words.h). Without log_set_sink() nobody sees
 * them. With -q only errors and warnings are shown, by default also notes, with -v also details,
 * with -vv everything. The level and the sink are global: they are the same for all threads.
 */
#ifndef BASE_SYSTEM_LOG_H
#define BASE_SYSTEM_LOG_H

#include "base/util.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);

/*
 * Shows messages. Any thread may call these functions. @text is one line without characters that a
 * terminal would obey (base/text/visible.h).
 */
struct log_sink {
	void (*say)(enum log_level level, const char *text);
	/*
	 * Shows in one line what krait does now, in place of the last progress line. @text NULL:
	 * the last progress line is no longer true, because that work is done.
	 */
	void (*progress)(const char *text);
};

/* Sets where messages go. Call it before the first message. @sink lives as long as the program. */
void log_set_sink(const struct log_sink *sink);

/*
 * For a program that runs for months: from now on at most @most messages of each kind are shown in
 * @ns. The first message of the kind after that time says how many were left out. All messages that
 * one place in the program sends are of one kind.
 */
void log_limit(unsigned most, uint64_t ns);

/* Hands a line to the sink, if a sink is set and the level allows the line. */
void log_at(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_note(...)  log_at(LOG_NOTE, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/*
 * Hands a line about progress to the sink, if notes are shown; log_progress(NULL) ends that line.
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
