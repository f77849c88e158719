/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of options, one function for each kind. It takes the field to fill and the text as typed,
 * and returns 0, or -EINVAL + a sentence that shows a right value. On failure the field keeps its
 * value.
 */
#ifndef CLI_OPTIONS_VALUES_H
#define CLI_OPTIONS_VALUES_H

#include "base/util.h"
#include "cli/options/options.h"

int value_flag(void *field, const char *text);	  /* bool: true; @text is NULL */
int value_no_flag(void *field, const char *text); /* bool: false; @text is NULL */
int value_more(void *field, const char *text);	  /* int: one more each time; @text is NULL */
int value_string(void *field, const char *text);  /* const char *: @text, not empty */
/* VEC(const char *): appends @text, not empty */
int value_strings(void *field, const char *text);
int value_pid(void *field, const char *text);	    /* VEC(pid_t): 1 to 2^31-1, each once */
int value_time(void *field, const char *text);	    /* uint64_t ns: 0, 10, 1.5s, 500ms, 2m */
int value_duration(void *field, const char *text);  /* as value_time(), > 0: how long to sample */
int value_frequency(void *field, const char *text); /* uint32_t Hz: 1 to 1,000,000; 10k */
int value_times(void *field, const char *text);	    /* uint64_t: a number of times, from 1 on */
int value_count(void *field, const char *text);	    /* uint64_t: 1 to 2^62; k M G */
int value_label(void *field, const char *text);	    /* VEC(struct profile_label_text): KEY=VALUE */
int value_memory(void *field, const char *text);    /* uint64_t bytes: 8M to 4G; K M G */
int value_native(void *field, const char *text);    /* enum native_mode */
int value_color(void *field, const char *text);	    /* enum color_mode */
int value_times_exact(void *field, const char *text); /* enum profile_times; @text is NULL */
int value_times_none(void *field, const char *text);

/* The row for commands that print in colour. @at: offset of an enum color_mode. */
#define VALUE_COLOR_ROW(at)                                                                        \
	{                                                                                          \
		.name = "color", .arg = "WHEN", .set = value_color, .field = (at),                 \
		.initial = "auto, and never where NO_COLOR is set",                                \
		.complete = "auto always never",                                                   \
		.help = "colours in the terminal: auto, always, never"                             \
	}

/* The row for commands that print more than their result. @at: offset of a bool. */
#define VALUE_QUIET_ROW(at, heading)                                                               \
	{                                                                                          \
		.group = (heading), .name = "quiet", .letter = 'q', .set = value_flag,             \
		.field = (at), .help = "only warnings and errors"                                  \
	}

/* The row for commands that write a file. @at: offset of a const char *. */
#define VALUE_OUTPUT_ROW(at, otherwise, words)                                                     \
	{                                                                                          \
		.group = "Output", .name = "output", .letter = 'o', .arg = "FILE",                 \
		.set = value_string, .field = (at), .initial = (otherwise),                        \
		.complete = COMPLETE_FILE, .help = (words)                                         \
	}

#endif
