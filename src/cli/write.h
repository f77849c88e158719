/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing what a command made of profile files, and which format that is. */
#ifndef CLI_WRITE_H
#define CLI_WRITE_H

#include "format/common/options.h"
#include "format/format.h"

/*
 * The format for --format @name (or NULL) and -o @path ("-", NULL = standard output); NULL + message
 * if neither says one.
 */
const struct render_format *write_format(const char *name, const char *path);

/*
 * Has @fn write to @path ("-", NULL = standard output), everything as the user who called sudo if
 * somebody did. @fn: 0, or -errno + message. The exit code: EXIT_DONE, or EXIT_FAILED, its reason
 * told.
 */
_must_use_ int write_output(const char *path, int (*fn)(void *arg, FILE *out), void *arg);

/*
 * Writes @p to @out in that format. On a terminal '?' stands for what it would obey: formats hold
 * names as they are. 0 or -errno + message.
 */
_must_use_ int write_profile_to(FILE *out, struct profile *p, const struct render_format *format,
				const struct render_options *opt);

/*
 * Writes @p to @path in that format; as write_output().
 */
_must_use_ int write_file(struct profile *p, const char *path, const struct render_format *format,
			  const struct render_options *opt);

#endif
