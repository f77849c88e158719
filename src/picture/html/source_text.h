/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of one source file, by lines, if it is still the file that ran. The caller decides
 * whether the file may be shown (render_options.open_source). The functions declared here bound the
 * file's size and check its age.
 */
#ifndef PICTURE_HTML_SOURCE_TEXT_H
#define PICTURE_HTML_SOURCE_TEXT_H

#include "base/text/str.h"
#include "base/vec.h"

struct source_text {
	struct str text;
	VEC(size_t) lines; /* offset of each line of the file in .text */
};

/*
 * Reads the regular file @fd into @t, over the text of an earlier file. 0; -ESTALE: the file's
 * contents, name or place changed after @since_ns (wall clock); or -EFBIG, -ENOMEM, -errno. No
 * message.
 */
_must_use_ int source_text_read(struct source_text *t, int fd, int64_t since_ns);
void source_text_fini(struct source_text *t);

/* Returns line @line (from 1) without its newline, and its length in *@n; NULL: no such line. */
const char *source_text_line(const struct source_text *t, int32_t line, size_t *n);

/*
 * Tell whether function @name may begin in a line: the line has the function's name or a decorator,
 * or the function has no name, like a lambda. source_line_begins() looks at a line of @n bytes;
 * source_text_begins() looks at line @start of @t.
 */
bool source_line_begins(const char *line, size_t n, const char *name);
bool source_text_begins(const struct source_text *t, const char *name, int32_t start);

#endif
