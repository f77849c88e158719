/* SPDX-License-Identifier: BSD-2-Clause */
/* Source text for the page; see source.h. */
#include "render/source.h"

#include "base/cleanup.h"
#include "render/markup.h"
#include "render/source_text.h"

enum {
	MAX_ALL = 8 << 20, /* bytes of text in a page */
	MAX_LINE = 400,	   /* bytes of a line that are shown */
	MAX_LINES = 3000,  /* of a function, where its end isn't known */
	AFTER = 2,	   /* lines after the last that was seen */
};

/* A function that was seen in a file. */
struct part {
	uint32_t rank; /* of its path */
	int32_t start, first, last;
	const char *name, *path;
};

struct sources {
	struct html *h;
	FILE *out;
	VEC(struct part) parts;
	struct source_text text; /* of one file after the other */
	struct str json;
	size_t left; /* bytes that may still be written */
	bool any;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Lines of function @key that are shown. */
static struct part part_of(const struct html *h, uint32_t key, const struct function *f)
{
	const struct html_tree *t = &h->tree;
	struct part p = {.start = f->start_line,
			 .first = f->start_line,
			 .last = f->start_line,
			 .name = f->name,
			 .path = f->path};

	for (uint32_t i = t->first_spot.v[key]; i < t->first_spot.v[key + 1]; i++) {
		int32_t line = t->spots.v[i].line;

		if (line <= 0)
			continue;
		p.first = p.first > 0 ? MIN(p.first, line) : line;
		p.last = MAX(p.last, MIN(line, INT32_MAX - AFTER) + AFTER);
	}
	if (p.last - p.first > MAX_LINES)
		p.first = p.last - MAX_LINES;
	return p;
}

static bool is_python(const char *path)
{
	return *path == '/' && (str_ends(path, ".py") || str_ends(path, ".pyx"));
}

static int find_parts(struct sources *s)
{
	_cleanup_(rank_fini) struct rank paths = {};
	size_t n = 0;

	for (uint32_t key = 0; key < s->h->functions.keys.n; key++) {
		struct function f;
		struct part p;

		if (functions_get(&s->h->functions, key, &f))
			return -ENOMEM;
		if (f.kind != KIND_PYTHON || !is_python(f.path))
			continue;
		p = part_of(s->h, key, &f);
		if (p.first <= 0)
			continue;
		if (rank_add(&paths, f.path) || vec_push(&s->parts, p))
			return -ENOMEM;
	}
	if (rank_finish(&paths))
		return -ENOMEM;
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

	/* Tabs are dear to columns, and no other control character is. */
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

/* The lines of parts that touch are one run. Returns the end of the last. */
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

/* Whether the file is what ran: -ESTALE if not, other errors if it may not be shown. */
static int read_file(struct sources *s, const struct part *p, const struct part *end)
{
	int64_t since = profile_meta(s->h->p)->time_ns;
	_cleanup_close_ int fd = s->h->opt->open_source(s->h->opt->source_arg, p->path, &since);
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
	fputs("]}\n", s->out);
	s->any = true;
}

int source_put(struct html *h, FILE *out)
{
	struct sources s = {.h = h, .out = out, .left = MAX_ALL};
	int r = h->opt->open_source ? find_parts(&s) : 0;

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
