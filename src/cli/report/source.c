/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the source line that a row of the report shows. The file's name comes from a profile, which
 * anybody may have made. So source_open.h decides which files are opened, and source_text.h whether
 * a file is the one that ran. If the profile is a page, the lines come from the page: they are what
 * ran, and no other file is opened.
 */
#include <errno.h>
#include "base/cleanup.h"
#include "cli/report/report.h"
#include "picture/html/source_text.h"

static int read_text(const struct report_facts *f, const struct source_rules *rules,
		     uint32_t function, struct source_text *t)
{
	const struct profile_function *fn = profile_get_function(f->p, function);
	_cleanup_close_ int fd = source_open(rules, profile_get_string(f->p, fn->file));
	int r = fd < 0 ? fd : source_text_read(t, fd, source_since(&f->source, function));

	if (!r && !source_text_begins(t, profile_get_string(f->p, fn->name), fn->start_line))
		r = -ESTALE;
	return r;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\f' || c == '\r';
}

/*
 * Finds the bytes of the line's expression in the part of the source line that is shown. The line
 * has @n bytes; the first @indent aren't shown.
 */
static void mark(struct report_source_line *ret, const struct profile_location *l, size_t n,
		 size_t indent)
{
	size_t from = (size_t)l->column - 1, to = (size_t)l->end_column - 1;

	if (l->end_line > l->line)
		to = n;
	if (!l->end_column || from < indent || to > n || from >= to || (from == indent && to == n))
		return;
	ret->from = from - indent;
	ret->to = to - indent;
}

static void take(struct report_source_line *ret, const struct profile_location *l, const char *line,
		 size_t n)
{
	size_t indent = 0;

	while (n && is_blank(line[n - 1]))
		n--;
	while (indent < n && is_blank(line[indent]))
		indent++;
	/* Blanks replace NULs, which would end the text, and tabs, which have no fixed width. */
	for (size_t i = indent; i < n; i++)
		str_add_c(&ret->text, line[i] && line[i] != '\t' ? line[i] : ' ');
	if (!ret->text.failed)
		mark(ret, l, n, indent);
}

/*
 * Tells why the line is hidden, if --source would show it: its file isn't the caller's own, or is
 * private. Returns SOURCE_SHOWN if even --source wouldn't show the line, for example because the
 * file was changed since it ran.
 */
static enum source_hidden is_hidden(const struct report_facts *f, const struct cost_line *l,
				    uint32_t function)
{
	const char *path = profile_get_string(f->p, profile_get_function(f->p, function)->file);
	struct source_rules all = f->source.rules;
	struct source_text t = {};
	size_t n = 0;
	bool hidden;

	all.mode = SOURCE_ALL;
	hidden = !read_text(f, &all, function, &t) && source_text_line(&t, l->line, &n) && n;
	source_text_fini(&t);
	if (!hidden)
		return SOURCE_SHOWN;
	return source_is_own(&all, path) ? SOURCE_PRIVATE : SOURCE_FOREIGN;
}

/*
 * Takes the line from the page. Returns false if the profile isn't a page, or if the page lacks the
 * file's text, perhaps because the page was made without --source (.foreign).
 */
static bool find_in_page(const struct report_facts *f, const struct cost_line *l,
			 struct report_source_line *ret)
{
	const struct profile_location *at = profile_get_location(f->p, l->location);
	const struct page_file *file = NULL;
	const char *line;

	if (at->function)
		file = page_text_file(
			&f->page,
			profile_get_string(f->p, profile_get_function(f->p, at->function)->file));
	if (!file || file->foreign)
		return false;
	ret->changed = file->changed;
	line = page_text_line(&f->page, file, l->line);
	if (line)
		take(ret, at, line, strlen(line));
	return true;
}

void report_source_find(const struct report_facts *f, const struct cost_line *l,
			struct report_source_line *ret)
{
	const struct profile_location *at = profile_get_location(f->p, l->location);
	struct source_text t = {};
	const char *line = NULL;
	size_t n = 0;
	int r = -ENOENT;

	*ret = (struct report_source_line){};
	if (find_in_page(f, l, ret))
		return;
	if (at->function)
		r = read_text(f, &f->source.rules, at->function, &t);
	ret->changed = r == -ESTALE;
	if (f->source.rules.mode == SOURCE_OWN && (r == -EPERM || r == -EACCES))
		ret->hidden = is_hidden(f, l, at->function);
	if (!r)
		line = source_text_line(&t, l->line, &n);
	if (line)
		take(ret, at, line, n);
	source_text_fini(&t);
}

void report_source_line_fini(struct report_source_line *l)
{
	str_fini(&l->text);
}
