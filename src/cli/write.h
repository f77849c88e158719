/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the profile that a command has made, and chooses its format. */
#ifndef CLI_WRITE_H
#define CLI_WRITE_H

#include "format/common/options.h"
#include "format/format.h"

/*
 * Returns the format for --format @name (or NULL) and -o @path ("-" or NULL: standard output). NULL
 * + message if neither tells the format.
 */
const struct render_format *write_format(const char *name, const char *path);

/*
 * Calls @fn to write to @path ("-" or NULL: standard output), with the rights of the user who
 * called sudo, if there is one. @fn returns 0, or -errno + message. Returns EXIT_DONE, or
 * EXIT_FAILED after printing the reason.
 */
_must_use_ int write_output(const char *path, int (*fn)(void *arg, FILE *out), void *arg);

/*
 * Writes @p to @out in @format. If @out is a terminal, '?' replaces characters that it would obey,
 * because formats contain names unchanged. 0 or -errno + message.
 */
_must_use_ int write_profile_to(FILE *out, struct profile *p, const struct render_format *format,
				const struct render_options *opt);

/* Writes @p to @path in @format. Returns EXIT_DONE or EXIT_FAILED, as write_output() does. */
_must_use_ int write_file(struct profile *p, const char *path, const struct render_format *format,
			  const struct render_options *opt);

#endif
