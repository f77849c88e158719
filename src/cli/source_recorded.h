/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source text for a recording that was read from a file: rules that decide whether it is shown, and
 * a list of the files that were shown.
 */
#ifndef CLI_SOURCE_RECORDED_H
#define CLI_SOURCE_RECORDED_H

#include "base/vec.h"
#include "host/files/source_open.h"
#include "profile/profile.h"

/*
 * A recording in a file. The file can come from anywhere, and nothing in it proves that it was
 * recorded here. So a page that is made from it gets source text only with SOURCE_ALL.
 */
struct source_recorded {
	struct source_rules rules;
	struct profile *p;
	int64_t since_ns; /* when the recording was made, wall clock time */
	/* files whose lines are in the page that was written, as strings of profile .p */
	VEC(const char *) shown;
};

/*
 * The value of render_options.open_source for a page that is made from the recording; NULL: the
 * page gets no source text.
 */
#define SOURCE_OF_PAGE(s) ((s)->rules.mode == SOURCE_ALL ? source_open_recorded : NULL)

/*
 * The function for render_options.source_shown: notes in .shown that lines of file @path are shown.
 * @recorded: a struct source_recorded *.
 */
void source_shown(void *recorded, const char *path);

/* Prints which files have lines in @output (NULL: standard output), and empties .shown. */
void source_say_shown(struct source_recorded *s, const char *output);

/*
 * Returns when recording @p was made, wall clock time. If the profile doesn't say, returns when its
 * file @path was last changed; for "-", a time in the far future.
 */
int64_t source_ran(struct profile *p, const char *path);

/* Returns a moment: if the function's file wasn't changed later, its text is the code that ran. */
int64_t source_since(const struct source_recorded *s, uint32_t function);

/*
 * The function for render_options.open_source: opens source file @path if it may be shown.
 * @recorded: a struct source_recorded *.
 */
_must_use_ int source_open_recorded(void *recorded, const char *path, int64_t *since_ns);

#endif
