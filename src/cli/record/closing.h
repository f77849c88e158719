/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The closing lines of a recording: what was counted and measured (record/figures/summary.h), in
 * words and as JSON.
 */
#ifndef CLI_RECORD_CLOSING_H
#define CLI_RECORD_CLOSING_H

#include "base/system/log.h"
#include "base/vec.h"
#include "host/files/output.h"
#include "record/figures/summary.h"

typedef unsigned long long ull;

struct closing_line {
	enum log_level level;
	bool kept; /* the recording keeps the line too, as a comment */
	/* if .kept: the comment's key in the recording; NULL: .level decides the key */
	const char *key;
	char *text;
};

/*
 * The closing lines, which are printed at the end of a recording. Initialise the struct with zeros.
 */
struct closing {
	const struct summary *m; /* the numbers that the lines are made from */
	VEC(struct closing_line) lines;
};

/* Composes the lines. @m is borrowed. */
void closing_compose(struct closing *c, const struct session *s, const struct summary *m);
void closing_fini(struct closing *c);

/* Prints the lines on stderr. The output's path isn't in them: it is printed last of all. */
void closing_print(const struct closing *c);

/*
 * For --summary-json: writes the numbers of the closing lines as JSON to an open output. @path:
 * that of the profile; NULL: no profile is written. 0 or -errno + message.
 */
_must_use_ int closing_write_json(const struct session *s, const struct summary *m,
				  const char *path, struct output *out);

#endif
