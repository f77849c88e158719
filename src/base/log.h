/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words for the user, on stderr. Levels: -q errors and warnings only, default notes, -v details,
 * -vv everything. The level is one of the two global variables of the program.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/util.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);

/*
 * Prints "krait: [warning: |error: ]text\n" if the level allows it; erases a progress line first.
 * What a terminal would obey (base/visible.h) becomes "?", here and in the progress line.
 */
void log_at(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_note(...)  log_at(LOG_NOTE, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/*
 * The progress line: replaces itself on a terminal, nothing elsewhere (also when TERM=dumb or -q).
 * log_progress(NULL) erases it.
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
