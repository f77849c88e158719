/* SPDX-License-Identifier: BSD-2-Clause */
/* The source text of a recording that is read from a file: by what rules it is shown, and which was. */
#ifndef CLI_SOURCE_RECORDED_H
#define CLI_SOURCE_RECORDED_H

#include "base/vec.h"
#include "host/source_open.h"
#include "profile/profile.h"

/*
 * A recording in a file, whose source text is asked for. The file can come from anywhere, and nothing in
 * it proves that it was recorded here: a page made of it has source text with SOURCE_ALL alone.
 */
struct source_recorded {
	struct source_rules rules;
	struct profile *p;
	int64_t since_ns;	 /* when it ran */
	VEC(const char *) shown; /* files of which lines went into a page; strings of @p */
};

/* What a page of the recording may have: render_options.open_source, or NULL. */
#define SOURCE_OF_PAGE(s) ((s)->rules.mode == SOURCE_ALL ? source_open_recorded : NULL)

/* render_options.source_shown. @recorded: struct source_recorded *. */
void source_shown(void *recorded, const char *path);

/* Tells of which files lines went into @output (NULL: standard output), and forgets them. */
void source_say_shown(struct source_recorded *s, const char *output);

/* When it ran: if the profile doesn't say, it is as old as its file, @path ("-": nobody knows). */
int64_t source_ran(struct profile *p, const char *path);

/* A function's text is what ran if it didn't change after this. */
int64_t source_since(const struct source_recorded *s, uint32_t function);

/* render_options.open_source. @recorded: struct source_recorded *. */
_must_use_ int source_open_recorded(void *recorded, const char *path, int64_t *since_ns);

#endif
