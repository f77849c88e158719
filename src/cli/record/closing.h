/* SPDX-License-Identifier: BSD-2-Clause */
/* The closing lines of a recording: its figures (record/figures/summary.h) in words and as JSON. */
#ifndef CLI_RECORD_CLOSING_H
#define CLI_RECORD_CLOSING_H

#include "base/system/log.h"
#include "base/vec.h"
#include "host/files/output.h"
#include "record/figures/summary.h"

typedef unsigned long long ull;

struct closing_line {
	enum log_level level;
	bool kept; /* true: the recording also keeps the line as a comment */
	/*
	 * with .kept: the comment's key in the recording; NULL: the key is chosen by .level
	 */
	const char *key;
	char *text;
};

/* The closing lines. Zero-initialise. */
struct closing {
	const struct summary *m; /* the figures that the lines report */
	VEC(struct closing_line) lines;
};

/* Composes the lines; borrows @m. */
void closing_compose(struct closing *c, const struct session *s, const struct summary *m);
void closing_fini(struct closing *c);

/*
 * Prints the lines on stderr. They don't contain the output's path, which is printed last of all.
 */
void closing_print(const struct closing *c);

/*
 * --summary-json: writes the figures as JSON to an open output. @path is the profile's; NULL: no
 * profile is written. 0 or -errno + message.
 */
_must_use_ int closing_write_json(const struct session *s, const struct summary *m,
				  const char *path, struct output *out);

#endif
