/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the block of source text that picture/html/source.c writes; see page_text.h. */
#include "picture/html/page_text.h"

#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json_in.h"

enum { MOST_LINES = 1 << 22 };

static int add_line(struct page_text *t, int64_t line, const struct str *text)
{
	struct page_line l = {.line = (int32_t)line, .at = t->text.n};

	if (!text->n || line <= 0 || line > INT32_MAX)
		return 0;
	if (t->lines.n == MOST_LINES)
		return err_set(-E2BIG, "more than %d lines", MOST_LINES);
	str_add_n(&t->text, text->s, text->n);
	str_add_c(&t->text, '\0');
	return t->text.failed || vec_push(&t->lines, l) ? err_set(-ENOMEM, "out of memory") : 0;
}

/* Reads the lines of a file: [first line, ["text", ...], first line, ["text", ...], ...]. */
static int read_runs(struct page_text *t, struct json_in *in, struct str *text)
{
	int64_t line = 0;
	int r = json_in_enter(in, '[');

	while (!r && (r = json_in_item(in)) == 1) {
		r = json_in_integer(in, &line);
		r = r ? r : json_in_item(in);
		r = r == 1 ? json_in_enter(in, '[') : r ? r : err_set(-EINVAL, "lines are missing");
		while (!r && (r = json_in_item(in)) == 1) {
			r = json_in_string(in, text);
			r = r ? r : add_line(t, line, text);
			line += line < INT32_MAX;
		}
	}
	return r;
}

static int read_flag(struct json_in *in, bool *ret)
{
	int r = json_in_skip(in);

	*ret = !r && in->at - in->start >= 4 && !memcmp(in->at - 4, "true", 4);
	return r;
}

static int read_file(struct page_text *t, struct json_in *in, struct str *key)
{
	struct page_file f = {.from = t->lines.n};
	int r = json_in_enter(in, '{');

	while (!r && (r = json_in_key(in, key)) == 1) {
		if (streq(str_cstr(key), "path")) {
			r = json_in_string(in, key);
			free(f.path);
			f.path = r ? NULL : strdup(str_cstr(key));
			r = r ? r : f.path ? 0 : err_set(-ENOMEM, "out of memory");
		} else if (streq(str_cstr(key), "changed")) {
			r = read_flag(in, &f.changed);
		} else if (streq(str_cstr(key), "foreign")) {
			r = read_flag(in, &f.foreign);
		} else if (streq(str_cstr(key), "runs")) {
			r = read_runs(t, in, key);
		} else {
			r = json_in_skip(in);
		}
	}
	f.to = t->lines.n;
	if (!r && f.path && !vec_push(&t->files, f))
		return 0;
	free(f.path);
	return r ? r : f.path ? err_set(-ENOMEM, "out of memory") : 0;
}

int page_text_read(struct page_text *t, const struct str *json)
{
	_cleanup_str_ struct str key = {};
	struct json_in in;
	int r;

	*t = (struct page_text){};
	if (!json->n)
		return 0;
	json_in_init(&in, json->s, json->n);
	r = json_in_enter(&in, '[');
	while (!r && (r = json_in_item(&in)) == 1)
		r = read_file(t, &in, &key);
	r = r ? r : json_in_end(&in);
	return r ? err_wrap(r, "can't read the source text in the page") : 0;
}

void page_text_fini(struct page_text *t)
{
	vec_foreach(f, &t->files)
		free(f->path);
	vec_fini(&t->files);
	vec_fini(&t->lines);
	str_fini(&t->text);
}

const struct page_file *page_text_file(const struct page_text *t, const char *path)
{
	vec_foreach(f, &t->files)
		if (streq(f->path, path))
			return f;
	return NULL;
}

const char *page_text_line(const struct page_text *t, const struct page_file *file, int32_t line)
{
	for (size_t i = file->from; i < file->to; i++)
		if (t->lines.v[i].line == line)
			return t->text.s + t->lines.v[i].at;
	return NULL;
}
