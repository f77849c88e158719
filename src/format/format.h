/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the formats that krait writes. Each has a folder, and a row in format.c with its
 * extensions, name and writer. Writing needs only a struct profile, and no privileges.
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
	 * what the format can't hold of a recording, in words for --help and the man page;
	 * "nothing" if it holds everything
	 */
	const char *loses;
	int (*write)(struct profile *p, FILE *out, const struct render_options *opt);
	bool no_by; /* the format can't show the groups that --by asks for */
	/* the format can show neither samples without a time nor values that aren't times */
	bool needs_times;
};

extern const struct render_format render_formats[];
extern const size_t render_n_formats;

/*
 * render_by_name() finds a format by the name that --format gives, render_by_file() by the end of a
 * file's name; of several extensions that match, the longest counts. NULL + message if there is no
 * such format.
 */
const struct render_format *render_by_name(const char *name);
const struct render_format *render_by_file(const char *path);
/* does what render_by_file() does, but sets no message */
const struct render_format *render_known_file(const char *path);

/*
 * Checks that the format can show groups by @by, which may be NULL for no groups. Returns 0, or
 * -EINVAL + message.
 */
_must_use_ int render_check_by(const struct render_format *format, const char *by);

#endif
