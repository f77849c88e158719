/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats that are written. A folder for each, one row for each in format.c: extension, name, writer.
 * All of it works on a struct profile alone and needs no rights.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include <stdio.h>

#include "format/common/options.h"
#include "profile/profile.h"

struct render_format {
	const char *name;	   /* "folded" */
	const char *extensions[4]; /* ".folded", ".txt"; NULL-terminated */
	const char *loses;	   /* for --help and the man page; "nothing" */
	int (*write)(struct profile *p, FILE *out, const struct render_options *opt);
	bool no_by;	  /* has no place for what --by asks for */
	bool needs_times; /* can't show samples without a time, nor values that aren't time */
};

extern const struct render_format render_formats[];
extern const size_t render_n_formats;

/* By --format name, or by the longest matching extension of a file name; NULL + message if none. */
const struct render_format *render_by_name(const char *name);
const struct render_format *render_by_file(const char *path);
const struct render_format *render_known_file(const char *path); /* the same without a message */

/* 0, or -EINVAL + message if the format has no place for what @by asks for; NULL is fine. */
_must_use_ int render_check_by(const struct render_format *format, const char *by);

#endif
