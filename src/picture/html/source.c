/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes source text into the page; see source.h. */
#include "picture/html/source.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "format/common/embedded.h"
#include "format/common/options.h"
#include "format/common/unpack.h"
#include "picture/html/source_text.h"
#include "picture/markup.h"

enum {
	MAX_ALL = 8 << 20, /* the most bytes of source text in a page */
	MAX_LINE = 400,	   /* the most bytes of one line that are shown */
	MAX_LINES = 3000,  /* the most lines that are shown of a function whose end isn't known */
	AFTER = 2,	   /* how many lines are shown after the last sampled line of a function */
	/* the most bytes of JSON with source text that are taken over from another page */
	MAX_TAKEN = 8 * MAX_ALL,
};

/* Which lines of one sampled function are shown. */
struct part {
	uint32_t rank; /* position of .path among the sorted paths of all functions */
	int32_t start, first, last;
	const char *name, *path;
};

struct sources {
	struct functions *fs;
	const struct render_options *opt;
	void *arg; /* argument for opt->open_source */
	FILE *out;
	VEC(struct part) parts;
	/* text of the file that is being read; its memory is used for one file after the other */
	struct source_text text;
	struct str json;
	size_t left; /* how many bytes of text may still be written */
	bool any;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/*
 * Tells whether @path is Python source: a file, a notebook's cell, or code that a library made at
 * run time.
 */
static bool is_python(const char *path)
{
	if (*path == '<')
		return str_ends(path, ">");
	return *path == '/' &&
	       (str_ends(path, ".py") || str_ends(path, ".pyx") || render_after_kernel(path));
}

/*
 * Stores name and path of each function in @parts, by function key. .path stays NULL if no source
 * of the function is shown. 0 or -ENOMEM.
 */
static int name_parts(struct functions *fs, struct part *parts)
{
	for (uint32_t key = 0; key < fs->keys.n; key++) {
		struct function f;

		if (functions_get(fs, key, &f))
			return err_nomem();
		if (f.kind == KIND_PYTHON && is_python(f.path))
			parts[key] = (struct part){.start = f.start_line,
						   .first = f.start_line,
						   .last = f.start_line,
						   .name = f.name,
						   .path = f.path};
	}
	return 0;
}

/* Finds out which lines of each function are shown. */
static void find_lines(const struct functions *fs, struct part *parts)
{
	for (uint32_t id = 1; id <= profile_n_locations(fs->p); id++) {
		struct part *p = &parts[fs->keys.of[id]];
		int32_t line = profile_get_location(fs->p, id)->line;

		if (line <= 0)
			continue;
		p->first = p->first > 0 ? MIN(p->first, line) : line;
		p->last = MAX(p->last, MIN(line, INT32_MAX - AFTER) + AFTER);
	}
	for (uint32_t key = 0; key < fs->keys.n; key++)
		if (parts[key].last - parts[key].first > MAX_LINES)
			parts[key].first = parts[key].last - MAX_LINES;
}

static int find_parts(struct sources *s)
{
	_cleanup_(rank_fini) struct rank paths = {};
	_cleanup_free_ struct part *parts = calloc(s->fs->keys.n + 1, sizeof(*parts));
	size_t n = 0;

	if (!parts || name_parts(s->fs, parts))
		return err_nomem();
	find_lines(s->fs, parts);
	for (uint32_t key = 0; key < s->fs->keys.n; key++) {
		const struct part *p = &parts[key];

		if (p->path && p->first > 0 &&
		    (rank_add(&paths, p->path) || vec_push(&s->parts, *p)))
			return err_nomem();
	}
	if (rank_finish(&paths))
		return err_nomem();
	for (; n < s->parts.n; n++)
		s->parts.v[n].rank = paths.of[n];
	if (s->parts.n)
		qsort(s->parts.v, s->parts.n, sizeof(*s->parts.v), compare_parts);
	return 0;
}

static void put_text(struct sources *s, const char *line, size_t n)
{
	_cleanup_free_ char *copy = strndup(line, MIN(n, (size_t)MAX_LINE));
	char *rest = copy, *part;
	const char *tab = "";

	/* Tabs are kept, because columns depend on them. Other control characters are replaced. */
	if (!copy)
		(void)err_nomem();
	fputc('"', s->out);
	while ((part = copy ? strsep(&rest, "\t") : NULL)) {
		str_clear(&s->json);
		markup_add_json(&s->json, part);
		fputs(tab, s->out);
		if (s->json.n > 2)
			fwrite(s->json.s + 1, 1, s->json.n - 2, s->out);
		tab = "\\t";
	}
	fputc('"', s->out);
	s->left -= MIN(s->left, n);
}

/*
 * Writes those lines of a file that are shown, as runs of lines. Parts (the lines of one function
 * each) that overlap or touch become one run.
 */
static void put_runs(struct sources *s, const struct part *p, const struct part *end)
{
	int32_t done = 0;
	bool open = false;

	for (; p < end; p++) {
		for (int32_t i = MAX(p->first, done + 1); i <= p->last && s->left; i++) {
			size_t n;
			const char *line = source_text_line(&s->text, i, &n);

			if (!line)
				break;
			if (!open || i != done + 1)
				fprintf(s->out, "%s%d,[", open ? "]," : "", i);
			else
				fputc(',', s->out);
			put_text(s, line, n);
			open = true;
			done = i;
		}
	}
	fputs(open ? "]" : "", s->out);
}

/*
 * Reads a source file if it may be shown and is still the file that ran. Returns -ESTALE if the
 * file has changed, or another -errno if it can't be read or may not be shown.
 */
static int read_file(struct sources *s, const struct part *p, const struct part *end)
{
	int64_t since = profile_meta(s->fs->p)->time_ns;
	_cleanup_close_ int fd = s->opt->open_source(s->arg, p->path, &since);
	int r = fd < 0 ? fd : source_text_read(&s->text, fd, since);

	for (; !r && p < end; p++)
		if (!source_text_begins(&s->text, p->name, p->start))
			r = -ESTALE;
	return r;
}

static void put_file(struct sources *s, const struct part *p, const struct part *end)
{
	int r = read_file(s, p, end);

	if (r && r != -ESTALE && r != -EPERM)
		return;
	str_clear(&s->json);
	markup_add_json(&s->json, p->path);
	fprintf(s->out, "%s{\"path\":%s,\"changed\":%s,\"foreign\":%s,\"runs\":[",
		s->any ? "," : "", str_cstr(&s->json), r == -ESTALE ? "true" : "false",
		r == -EPERM ? "true" : "false");
	if (!r)
		put_runs(s, p, end);
	if (!r && s->opt->source_shown)
		s->opt->source_shown(s->arg, p->path);
	fputs("]}\n", s->out);
	s->any = true;
}

int source_put(struct functions *fs, const struct render_options *opt, void *arg, FILE *out)
{
	struct sources s = {.fs = fs, .opt = opt, .arg = arg, .out = out, .left = MAX_ALL};
	int r = find_parts(&s);

	fputc('[', out);
	for (size_t i = 0, k; !r && i < s.parts.n; i = k) {
		for (k = i; k < s.parts.n && s.parts.v[k].rank == s.parts.v[i].rank; k++)
			;
		put_file(&s, s.parts.v + i, s.parts.v + k);
	}
	fputc(']', out);
	vec_fini(&s.parts);
	source_text_fini(&s.text);
	str_fini(&s.json);
	return r;
}

static int unpack_all(const uint8_t *packed, size_t n, struct str *ret)
{
	struct unpack u = {};
	int r = unpack_open(&u, packed, n);

	r = r ? r : unpack_rest(&u, MAX_TAKEN, ret);
	unpack_close(&u);
	return r == -E2BIG ? err_set(r, "the source text has more than %d MiB", MAX_TAKEN >> 20)
			   : r;
}

int source_take(const char *data, size_t n, const char *tag, struct str *ret)
{
	const char *start = embedded_find(data, n, tag);
	_cleanup_free_ uint8_t *packed = NULL;
	size_t n_packed;
	int r = start ? embedded_decode(data, n, start, &packed, &n_packed) : 0;

	if (start && !r)
		r = unpack_all(packed, n_packed, ret);
	return r ? err_wrap(r, "can't read the source text in the page") : 0;
}
