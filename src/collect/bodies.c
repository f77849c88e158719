/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the modules whose bodies were met: looked for once a flush, those of a process together, as each look costs its
 * time. And source text of code without a file.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/internal.h"
#include "python/cached_text.h"

void bodies_met(struct collect *c, uint32_t process, const struct py_code *code,
		const struct rec_code *rec)
{
	if (vec_push(&c->bodies, (struct body){process, rec->layout,
					       code_key(code->addr, code->check), rec->globals}))
		c->no_memory = true;
}

/* Takes those of the last one's process out, as many as @ret has room for. */
static size_t take(struct collect *c, const struct process *p, struct py_body ret[PY_BODIES])
{
	const struct body last = c->bodies.v[c->bodies.n - 1];
	size_t kept = 0, n = 0;

	vec_foreach(b, &c->bodies) {
		const uint64_t *at = map_get(&p->code_index, b->code);

		if (b->process != last.process || b->layout != last.layout || n == PY_BODIES)
			c->bodies.v[kept++] = *b;
		else if (at) /* else it was given up */
			ret[n++] = (struct py_body){p->codes.v[*at - 1], b->globals};
	}
	c->bodies.n = kept;
	return n;
}

/* What linecache calls files: cells are renamed when their numbers are known. */
static void note_files(const struct collect *c, const struct py_body *of, size_t n,
		       char *files[static PY_BODIES])
{
	for (size_t i = 0; i < n; i++) {
		const char *file = of[i].code->file;

		files[i] =
			c->config.wants_text && py_text_may_be_cached(file) ? strdup(file) : NULL;
	}
}

static void find_text(struct collect *c, const struct process *p, const struct py_layout *layout,
		      const struct py_code *code, const char *file)
{
	_cleanup_str_ struct str text = {};

	if (p->state == PROC_PYTHON && !p->unwanted &&
	    c->config.wants_text(c->config.ctx, p->key.tgid, p->start_boot_ns, code->file) &&
	    !py_cached_text((pid_t)p->key.tgid, layout, &p->where, file, &text))
		c->config.met_text(c->config.ctx, p->key.tgid, code->file, &text);
}

static void find_texts(struct collect *c, const struct process *p, const struct py_layout *layout,
		       const struct py_body *of, size_t n, char *files[static PY_BODIES])
{
	for (size_t i = 0; i < n; i++) {
		if (files[i])
			find_text(c, p, layout, of[i].code, files[i]);
		free(files[i]);
	}
}

void bodies_find(struct collect *c)
{
	bodies_name_frozen(c);
	while (c->bodies.n) {
		const struct body last = c->bodies.v[c->bodies.n - 1];
		const struct process *p = &c->processes.v[last.process];
		const struct py_layout *layout = c->config.ops->layout(c->config.ctx, last.layout);
		uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
		struct py_body of[PY_BODIES];
		char *files[PY_BODIES];
		size_t n = take(c, p, of);

		if (n && layout && c->asked_ns <= ASKED_NS && !process_is_gone(p)) {
			note_files(c, of, n, files);
			(void)!py_code_find_modules(of, n, p->key.tgid, layout);
			find_texts(c, p, layout, of, n, files);
		}
		c->asked_ns += clock_ns(CLOCK_MONOTONIC) - began_ns;
	}
}
