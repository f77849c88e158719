/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats that krait writes: a folder for each, and a row in format.c with extension, name and
 * writer. Writing needs only a struct profile, and no privileges.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include <stdio.h>

#include "format/common/options.h"
#include "profile/profile.h"

struct render_format {
	const char *name; /* name of the format: "folded" */
	/* extensions of the format's files: ".folded", ".txt"; NULL-terminated */
	const char *extensions[4];
	/*
	 * what of a recording the format can't hold, in words for --help and the man page; or
	 * "nothing"
	 */
	const char *loses;
	int (*write)(struct profile *p, FILE *out, const struct render_options *opt);
	bool no_by; /* the format can't show what --by groups by */
	/* the format can't show samples without a time, nor values that aren't times */
	bool needs_times;
};

extern const struct render_format render_formats[];
extern const size_t render_n_formats;

/*
 * Find a format by its --format name, or by the end of a file's name; of several extensions that
 * match, the longest one counts. NULL + message if there is no such format.
 */
const struct render_format *render_by_name(const char *name);
const struct render_format *render_by_file(const char *path);
/* as render_by_file(), but without a message */
const struct render_format *render_known_file(const char *path);

/*
 * Tells whether the format can show groups by @by, which may be NULL for none. Returns 0, or
 * -EINVAL + message.
 */
_must_use_ int render_check_by(const struct render_format *format, const char *by);

#endif
