/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of one source file, by lines, if it still is the file that ran. Who may see it is the
 * caller's word (render_options.open_source); here its size is bounded, and its age looked at.
 */
#ifndef PICTURE_HTML_SOURCE_TEXT_H
#define PICTURE_HTML_SOURCE_TEXT_H

#include "base/str.h"
#include "base/vec.h"

struct source_text {
	struct str text;
	VEC(size_t) lines; /* where each begins */
};

/*
 * Reads the regular file @fd into @t, which may hold another's. 0; -ESTALE: its contents, its name
 * or its place changed after @since_ns (of the wall clock); -EFBIG, -ENOMEM, -errno. No message.
 */
_must_use_ int source_text_read(struct source_text *t, int fd, int64_t since_ns);
void source_text_fini(struct source_text *t);

/* Line @line (from 1) without its newline, @n bytes; NULL if there is none. */
const char *source_text_line(const struct source_text *t, int32_t line, size_t *n);

/* Whether line @start, where function @name begins, looks like that: its name, a decorator, a lambda. */
bool source_text_begins(const struct source_text *t, const char *name, int32_t start);

#endif
