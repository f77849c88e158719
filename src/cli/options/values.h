/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that check and store the values of options, one for each kind of value. They get the
 * field to set, and the text that the user typed. They return 0, or -EINVAL + a sentence that shows
 * a right value; then the field keeps its old value.
 */
#ifndef CLI_OPTIONS_VALUES_H
#define CLI_OPTIONS_VALUES_H

#include "base/util.h"
#include "cli/options/options.h"

int value_flag(void *field, const char *text);	  /* sets a bool to true; @text is NULL */
int value_no_flag(void *field, const char *text); /* sets a bool to false; @text is NULL */
int value_more(void *field, const char *text);	  /* adds 1 to an int each time; @text is NULL */
/* sets a const char * to @text, which may not be empty */
int value_string(void *field, const char *text);
/* appends @text, which may not be empty, to a VEC(const char *) */
int value_strings(void *field, const char *text);
/* appends a process id from 1 to 2^31-1 to a VEC(pid_t), unless it is there already */
int value_pid(void *field, const char *text);
/* sets a uint64_t to a time such as 0, 10, 1.5s, 500ms or 2m, in ns */
int value_time(void *field, const char *text);
/* sets a uint64_t to a time in ns, as value_time() does, but refuses 0 */
int value_duration(void *field, const char *text);
/* sets a uint32_t to a rate in Hz from 1 to 1,000,000, which may end in k */
int value_frequency(void *field, const char *text);
/* sets a uint32_t to a percentage from 0.1 to 100, in millionths */
int value_budget(void *field, const char *text);
/* sets a uint64_t to how many times something is done, at least 1 */
int value_times(void *field, const char *text);
/* sets a uint64_t to a number from 1 to 2^62, which may end in k, M or G */
int value_count(void *field, const char *text);
/* appends KEY=VALUE to a VEC(struct profile_label_text) */
int value_label(void *field, const char *text);
/* appends MODULE.FUNCTION to a VEC(const char *) */
int value_function(void *field, const char *text);
/* sets a uint64_t to a number of bytes from 8M to 4G, which may end in K, M or G */
int value_memory(void *field, const char *text);
int value_native(void *field, const char *text); /* sets an enum native_mode: leaf, full or none */
/* sets an enum color_mode: auto, always or never */
int value_color(void *field, const char *text);
/* sets an enum profile_times so that times are exact; @text is NULL */
int value_times_exact(void *field, const char *text);
int value_times_none(void *field, const char *text);

/*
 * Tells whether the function adds the value to its field instead of replacing it. If so, the option
 * may be repeated.
 */
bool value_adds(option_set_fn set);

/*
 * Reads an integer that may end in k, M or G, which are powers of @unit (1000 or 1024). 0; -EINVAL
 * or -ERANGE without a message.
 */
_must_use_ int value_scaled(const char *text, unsigned int unit, uint64_t max, uint64_t *ret);

/* The row of --color, for commands that print colours. @at: offset of an enum color_mode. */
#define VALUE_COLOR_ROW(at)                                                                        \
	{                                                                                          \
		.name = "color", .arg = "WHEN", .set = value_color, .field = (at),                 \
		.initial = "auto, and never where NO_COLOR is set",                                \
		.complete = "auto always never",                                                   \
		.help = "colours in the terminal: auto, always, never"                             \
	}

/* The row of --quiet, for commands that print more than their result. @at: offset of a bool. */
#define VALUE_QUIET_ROW(at, heading)                                                               \
	{                                                                                          \
		.group = (heading), .name = "quiet", .letter = 'q', .set = value_flag,             \
		.field = (at), .help = "only warnings and errors"                                  \
	}

/* The row of --output, for commands that write a file. @at: offset of a const char *. */
#define VALUE_OUTPUT_ROW(at, otherwise, words)                                                     \
	{                                                                                          \
		.group = "Output", .name = "output", .letter = 'o', .arg = "FILE",                 \
		.set = value_string, .field = (at), .initial = (otherwise),                        \
		.complete = COMPLETE_FILE, .help = (words)                                         \
	}

#endif
