/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options that decide which source files may be shown. host/files/source_open.h explains them.
 */
#ifndef CLI_OPTIONS_SOURCE_OPTIONS_H
#define CLI_OPTIONS_SOURCE_OPTIONS_H

#include "cli/options/options.h"
#include "cli/options/values.h"
#include "host/files/source_open.h"

/* The values of --source (.all) and --no-source (.none). */
struct source_options {
	bool all, none;
};

#define SOURCE_ROW(at, member) .field = (at) + offsetof(struct source_options, member)
/*
 * The rows of --source and --no-source. @where: which outputs have source text, such as "html: ".
 * @own: whose files are shown by default.
 */
#define SOURCE_ROWS(at, where, own)                                                                \
	{.name = "source",                                                                         \
	 .set = value_flag,                                                                        \
	 SOURCE_ROW(at, all),                                                                      \
	 .help = where "source text of every .py and .pyx file that you may read; " own},          \
	{                                                                                          \
		.name = "no-source", .set = value_flag, SOURCE_ROW(at, none),                      \
		.help = where "no source text"                                                     \
	}

/* Returns the mode that the options choose; -EINVAL + message if they exclude each other. */
_must_use_ int source_options_mode(const struct source_options *o, enum source_mode *ret);

#endif
