/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source text of a recording that is read from a file: the rules by which it is shown, and
 * which files were shown.
 */
#ifndef CLI_SOURCE_RECORDED_H
#define CLI_SOURCE_RECORDED_H

#include "base/vec.h"
#include "host/files/source_open.h"
#include "profile/profile.h"

/*
 * A recording in a file. The file can come from anywhere, and nothing in it proves that it was
 * recorded here. So a page made of it gets source text only with SOURCE_ALL.
 */
struct source_recorded {
	struct source_rules rules;
	struct profile *p;
	int64_t since_ns; /* when the recording ran, wall clock time */
	/* files whose lines went into a page, as strings of the profile .p */
	VEC(const char *) shown;
};

/*
 * The function for render_options.open_source if a page is made of the recording; NULL: no source
 * text.
 */
#define SOURCE_OF_PAGE(s) ((s)->rules.mode == SOURCE_ALL ? source_open_recorded : NULL)

/* The function for render_options.source_shown. @recorded: struct source_recorded *. */
void source_shown(void *recorded, const char *path);

/* Prints which files have lines in @output (NULL: standard output). Then empties .shown. */
void source_say_shown(struct source_recorded *s, const char *output);

/*
 * Returns when the recording @p ran, wall clock. If the profile doesn't say, returns when its file
 * @path was last changed, or for "-" a time in the far future.
 */
int64_t source_ran(struct profile *p, const char *path);

/*
 * Returns a time. If the function's file wasn't changed after that time, the file's text is the
 * code that ran.
 */
int64_t source_since(const struct source_recorded *s, uint32_t function);

/* The function for render_options.open_source. @recorded: struct source_recorded *. */
_must_use_ int source_open_recorded(void *recorded, const char *path, int64_t *since_ns);

#endif
