/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the process's interpreter among the files that it maps; see image.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/interp/image.h"
#include "collect/interp/loaded.h"
#include "proc/files/files.h"
#include "python/heap/peek.h"

#define MAX_CANDIDATES 8 /* the most files with an interpreter that are considered in one process */

/* Whether a file's interpreter is initialised in the process. A greater value is more certain. */
enum use { USE_NONE, USE_UNKNOWN, USE_INITIALISED };

struct candidate {
	struct image_at is;
	enum use use;
	/* if there are several candidates: when the file was loaded, as loaded_order() says */
	uint32_t order;
	bool is_program; /* this file is the process's executable */
};

struct search {
	struct collect *c;
	const struct proc *proc;
	const struct maps *maps;
	struct candidate found[MAX_CANDIDATES];
	size_t n;
	int denied;
	char *why;
};

static bool is_load(const struct image_file *f, const struct mapping *m)
{
	return m->offset == (f->text_offset & ~4095ull);
}

/*
 * Returns the mapping with which the loader loaded the file of @m. The process may have mapped
 * parts of the file again: libffi (3.4+, src/tramp.c) maps pages of its own code for its closures,
 * and libffi may be linked into libpython. dlmopen() loads a whole file again.
 */
static const struct mapping *loaded_at(const struct maps *maps, const struct mapping *m,
				       const struct image_file *f)
{
	if (is_load(f, m))
		return m;
	vec_foreach(at, &maps->list)
		if (at->ino == m->ino && at->dev == m->dev && at->prot & PROT_EXEC &&
		    is_load(f, at))
			return at;
	return m;
}

uint64_t image_bias(const struct image_at *one)
{
	const struct image_file *f = one->file;

	return f->exec_fixed ? 0 : one->at->start - (f->text_start & ~4095ull);
}

static void add(struct search *s, struct image_file *f, const struct mapping *m)
{
	struct image_at new = {f, loaded_at(s->maps, m, f)};

	for (size_t i = 0; i < s->n; i++)
		if (s->found[i].is.file == f && s->found[i].is.at == new.at)
			return;
	if (s->n < MAX_CANDIDATES)
		s->found[s->n++] = (struct candidate){.is = new};
}

bool image_is_library(const char *path)
{
	const char *base = path_base(path);

	return str_starts(base, "libpython") || str_starts(base, "libpypy");
}

/*
 * Collects files that have an interpreter. @others false: looks at files with "python" in their
 * name; once such a file has an interpreter, looks only at libraries, because the names of
 * extension modules also have "python" in them (cpython-312). @others true: looks at all other
 * files.
 */
static void look(struct search *s, bool others)
{
	vec_foreach(m, &s->maps->list) {
		const char *path = maps_path(s->maps, m);
		struct image_file *f;
		int r;

		if (!m->ino || !(m->prot & PROT_EXEC) || image_named_python(path) == others ||
		    (s->n && !others && !image_is_library(path)))
			continue;
		r = image_of(s->c, s->proc, m, path, &f);
		if (!r && f->is_python)
			add(s, f, m);
		if (!others && !s->denied && (r == -EPERM || r == -EACCES)) {
			s->denied = r;
			s->why = strdup(err_msg());
		}
	}
}

/*
 * Is the interpreter of candidate @one initialised? From Py_Initialize() to Py_Finalize() its list
 * of interpreter states isn't empty.
 */
static enum use use_of(const struct search *s, const struct candidate *one)
{
	uint64_t at = one->is.file->image.where.interp_head, interp;

	if (!at || peek(s->proc->tgid, at + image_bias(&one->is), &interp, sizeof(interp)))
		return USE_UNKNOWN;
	return interp ? USE_INITIALISED : USE_NONE;
}

static bool is_understood(const struct candidate *one)
{
	return !one->is.file->image.unsupported[0];
}

/*
 * Was @a loaded before @b? If the loader's list doesn't tell, the program counts as first, and of
 * two other files the file at higher addresses counts as first.
 */
static bool is_earlier(const struct candidate *a, const struct candidate *b)
{
	if (a->order != b->order)
		return a->order < b->order;
	if (a->is_program != b->is_program)
		return a->is_program;
	return a->is.at->start > b->is.at->start;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->use != b->use)
		return a->use > b->use;
	if (is_understood(a) != is_understood(b))
		return is_understood(a);
	return is_earlier(a, b);
}

static void sort(struct search *s)
{
	for (size_t i = 1; i < s->n; i++)
		for (size_t k = i; k && is_better(&s->found[k], &s->found[k - 1]); k--) {
			struct candidate one = s->found[k];

			s->found[k] = s->found[k - 1];
			s->found[k - 1] = one;
		}
}

/* Finds out which interpreters of the process are initialised. Returns how many are. */
static size_t judge(struct search *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		s->found[i].use = use_of(s, &s->found[i]);
		n += s->found[i].use == USE_INITIALISED;
	}
	return n;
}

static void find_order(struct search *s)
{
	uint64_t bias[MAX_CANDIDATES];
	uint32_t order[MAX_CANDIDATES];

	for (size_t i = 0; i < s->n; i++)
		bias[i] = image_bias(&s->found[i].is);
	loaded_order(s->proc, bias, s->n, order);
	for (size_t i = 0; i < s->n; i++) {
		const struct mapping *m = s->found[i].is.at;

		s->found[i].order = order[i];
		s->found[i].is_program =
			file_is_exe(s->proc->dirfd, maps_path(s->maps, m), m->deleted);
	}
}

static void add_other(const struct candidate *one, struct image_found *ret)
{
	if (is_understood(one) && ret->n_others < ARRAY_SIZE(ret->others))
		ret->others[ret->n_others++] = one->is;
	else
		ret->left_out = one->is;
}

static void choose(struct search *s, size_t initialised, struct image_found *ret)
{
	if (s->n > 1)
		find_order(s);
	sort(s);
	*ret = (struct image_found){.first = s->found[0].is,
				    .idle = s->n > 1 && !initialised,
				    .waits = s->n > 1 && initialised < s->n};
	for (size_t i = 1; i < initialised; i++)
		add_other(&s->found[i], ret);
}

int image_find(struct collect *c, const struct proc *proc, const struct maps *maps,
	       struct image_found *ret)
{
	struct search s = {.c = c, .proc = proc, .maps = maps};
	_cleanup_free_ char *why = NULL;
	size_t initialised;

	look(&s, false);
	why = s.why;
	initialised = judge(&s);
	if (!s.n || (!initialised && s.found[0].use == USE_NONE)) {
		look(&s, true);
		initialised = judge(&s);
	}
	if (s.n) {
		choose(&s, initialised, ret);
		return 1;
	}
	return s.denied ? err_set(s.denied, "%s", why ? why : "") : 0;
}

void image_left_out(struct collect *c, uint32_t tgid, const struct maps *maps,
		    const struct image_at *one)
{
	struct collect_other *o = &c->stats.other;
	uint32_t version = one->file ? one->file->image.hex_version : 0;

	if (!one->file || map_get(&c->images->others, tgid) || map_put(&c->images->others, tgid, 1))
		return;
	*o = (struct collect_other){.processes = o->processes + 1, .tgid = tgid};
	snprintf(o->name, sizeof(o->name), "CPython %u.%u", version >> 24, version >> 16 & 0xff);
	snprintf(o->file, sizeof(o->file), "%s", maps_path(maps, one->at));
}
