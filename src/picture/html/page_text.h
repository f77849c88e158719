/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the source text that a page holds. A report made from the page shows that text, even if the
 * files have changed since.
 */
#ifndef PICTURE_HTML_PAGE_TEXT_H
#define PICTURE_HTML_PAGE_TEXT_H

#include "base/text/str.h"
#include "base/vec.h"

/* A source file that the page knows: it has lines of the file, or says why it has none. */
struct page_file {
	char *path;
	/* the file had changed when the page was written, so the page has no text of it */
	bool changed;
	/*
	 * the page has no text of the file, because krait shows that file only on request
	 * (--source)
	 */
	bool foreign;
	size_t from, to; /* the file's lines: page_text.lines[from .. to) */
};

struct page_line {
	int32_t line; /* number of the line in the file, from 1 */
	size_t at;    /* offset of the line's text in page_text.text */
};

struct page_text {
	VEC(struct page_file) files;
	VEC(struct page_line) lines; /* all lines of the files, except empty ones */
	struct str text;	     /* texts of the lines, each followed by a NUL */
};

/*
 * Reads @json, which source_take() returned and which is hostile. 0; -EINVAL or -E2BIG + message;
 * -ENOMEM. Call page_text_fini() in any case.
 */
_must_use_ int page_text_read(struct page_text *t, const struct str *json);
void page_text_fini(struct page_text *t);

/* Returns what the page knows of file @path; NULL: nothing. */
const struct page_file *page_text_file(const struct page_text *t, const char *path);

/*
 * Returns the text of line @line of @file, without its newline. NULL: the page doesn't have the
 * line, or the line is empty.
 */
const char *page_text_line(const struct page_text *t, const struct page_file *file, int32_t line);

#endif
