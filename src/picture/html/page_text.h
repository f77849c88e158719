/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of source text that a page of krait's holds, for other views of it: a report of the page shows
 * what the page does, whatever has become of the files.
 */
#ifndef PICTURE_HTML_PAGE_TEXT_H
#define PICTURE_HTML_PAGE_TEXT_H

#include "base/str.h"
#include "base/vec.h"

/* A file that the page names. */
struct page_file {
	char *path;
	bool changed;	 /* when the page was written: it has no text of it */
	bool foreign;	 /* nor of this one: --source was not given */
	size_t from, to; /* of page_text.lines */
};

struct page_line {
	int32_t line; /* from 1 */
	size_t at;    /* where its text begins in page_text.text */
};

struct page_text {
	VEC(struct page_file) files;
	VEC(struct page_line) lines; /* those that aren't empty */
	struct str text;	     /* each with a NUL behind it */
};

/* @json: as source_take() gives it. Hostile. 0; -EINVAL, -E2BIG + message; -ENOMEM. fini in any case. */
_must_use_ int page_text_read(struct page_text *t, const struct str *json);
void page_text_fini(struct page_text *t);

/* What the page says of the file @path; NULL: nothing. */
const struct page_file *page_text_file(const struct page_text *t, const char *path);

/* Line @line of @file without its newline; NULL: the page hasn't got it, or it is empty. */
const char *page_text_line(const struct page_text *t, const struct page_file *file, int32_t line);

#endif
