/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words for the user. A room has them where it does its work; whether and where they are shown is
 * decided by the program: the command line's is src/cli/words.h. Without log_set_sink() nobody hears
 * them. Levels: -q errors and warnings only, default notes, -v details, -vv everything. The level, with
 * who shows it, is one of the two global variables of the program.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/util.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);

/* Shows what is said, in any thread. @text is one line, without what a terminal would obey (base/visible.h). */
struct log_sink {
	void (*say)(enum log_level level, const char *text);
	/* What goes on now; takes the place of the line before. NULL: it is over. */
	void (*progress)(const char *text);
};

/* Before anything is said. @sink lives as long as the program. */
void log_set_sink(const struct log_sink *sink);

/* Hands a line to the sink, if there is one and the level allows it. */
void log_at(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_note(...)  log_at(LOG_NOTE, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/* The same with its progress line, from the level of notes on; log_progress(NULL) ends it. */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
