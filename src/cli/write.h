/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes what a command made of profile files, and chooses the format. */
#ifndef CLI_WRITE_H
#define CLI_WRITE_H

#include "format/common/options.h"
#include "format/format.h"

/*
 * The format for --format @name (or NULL) and -o @path ("-" or NULL: standard output). NULL +
 * message if neither gives one.
 */
const struct render_format *write_format(const char *name, const char *path);

/*
 * Calls @fn to write to @path ("-" or NULL: standard output), as the user who called sudo, if sudo
 * was used. @fn returns 0, or -errno + message. Returns EXIT_DONE, or EXIT_FAILED after printing
 * the reason.
 */
_must_use_ int write_output(const char *path, int (*fn)(void *arg, FILE *out), void *arg);

/*
 * Writes @p to @out in @format. On a terminal, '?' replaces characters that it would obey, because
 * formats contain names unchanged. 0 or -errno + message.
 */
_must_use_ int write_profile_to(FILE *out, struct profile *p, const struct render_format *format,
				const struct render_options *opt);

/* Writes @p to @path in @format. Returns what write_output() returns. */
_must_use_ int write_file(struct profile *p, const char *path, const struct render_format *format,
			  const struct render_options *opt);

#endif
