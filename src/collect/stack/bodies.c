/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the names of modules whose bodies (top-level code) were sampled, and source text of code
 * without a file. Each look at a process costs time. So all bodies of a process are looked for
 * together, once in each collect_flush().
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/system/log.h"
#include "collect/budget/asked.h"
#include "collect/stack/bodies.h"
#include "collect/stack/stack.h"
#include "python/heap/cached_text.h"

bool bodies_init(struct collect *c)
{
	return (c->stacks->bodies = calloc(1, sizeof(struct bodies)));
}

/*
 * Moves bodies (modules' top-level code) from the list of wanted bodies to @ret: those that have
 * the same process and layout (the form of Python's structs) as the last body in the list, as many
 * as @ret has room for. Returns how many.
 */
static size_t take(struct collect *c, const struct process *p, struct py_body ret[PY_BODIES])
{
	const struct body last = c->stacks->bodies->list.v[c->stacks->bodies->list.n - 1];
	size_t kept = 0, n = 0;

	vec_foreach(b, &c->stacks->bodies->list) {
		struct py_code *code = code_of(p, b->code);

		if (b->process != last.process || b->layout != last.layout || n == PY_BODIES)
			c->stacks->bodies->list.v[kept++] = *b;
		else if (code) /* NULL: the code object was freed */
			ret[n++] = (struct py_body){code, b->globals};
	}
	c->stacks->bodies->list.n = kept;
	return n;
}

static bool may_have_text(const struct collect *c, const char *file)
{
	return c->config.texts && file && py_text_may_be_cached(file);
}

void bodies_met(struct collect *c, uint32_t process, struct py_code *code,
		const struct rec_code *rec, size_t n)
{
	/*
	 * a code object that may have source text gets its module's name later, when its process is
	 * asked for the text
	 */
	if (!may_have_text(c, code->file) && py_code_take_module(code, rec, n))
		return;
	if (vec_push(&c->stacks->bodies->list,
		     (struct body){process, rec->layout, code_key(code->addr, code->check),
				   rec->globals}))
		c->no_memory = true;
}

static void has_no_text(struct collect *c, uint32_t tgid, const char *path)
{
	const struct str none = {};

	c->config.texts->met(c->config.texts->ctx, tgid, path, &none);
}

void bodies_left_out(struct collect *c, const struct process *p, const struct py_code *code)
{
	if (may_have_text(c, code->file))
		has_no_text(c, p->key.tgid, code->file);
}

static void text_fini(struct wanted_text *t)
{
	free(t->name);
	free(t->path);
}

/*
 * Keeps the names by which linecache knows the files. Files of notebook cells get other names once
 * the numbers of the cells are known.
 */
static void note_names(const struct collect *c, const struct py_body *of, size_t n,
		       char *names[static PY_BODIES])
{
	for (size_t i = 0; i < n; i++)
		names[i] = may_have_text(c, of[i].code->file) ? strdup(of[i].code->file) : NULL;
}

static void want_texts(struct collect *c, const struct body *last, const struct py_body *of,
		       size_t n, char *names[static PY_BODIES])
{
	const struct process *p = process_at(c, last->process);

	for (size_t i = 0; i < n; i++) {
		struct wanted_text t = {last->process, p->key.tgid, p->start_boot_ns, last->layout,
					names[i]};

		t.path = t.name ? strdup(of[i].code->file) : NULL;
		if (t.path && !vec_push(&c->stacks->bodies->texts, t))
			continue;
		c->no_memory |= t.name != NULL;
		text_fini(&t);
	}
}

/*
 * Returns the process that may have the text. NULL: the process isn't in the table any more, or
 * another process has its entry.
 */
static const struct process *owner_of_text(const struct collect *c, const struct wanted_text *t)
{
	const struct process *p = process_at(c, t->process);
	bool same = p->key.tgid == t->tgid && p->start_boot_ns == t->start_boot_ns;

	return same && p->state == PROC_PYTHON && !process_is_gone(p) ? p : NULL;
}

static void find_text(struct collect *c, const struct wanted_text *t)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, t->layout);
	const struct collect_texts *texts = c->config.texts;
	const struct process *p = owner_of_text(c, t);
	_cleanup_str_ struct str text = {};

	if (p && p->unwanted)
		return;
	if (!texts->wants(texts->ctx, t->tgid, t->start_boot_ns, t->name, t->path))
		return;
	if (p && layout && !py_cached_text((pid_t)t->tgid, layout, &p->where, t->name, &text))
		texts->met(texts->ctx, t->tgid, t->path, &text);
	else
		has_no_text(c, t->tgid, t->path);
}

/*
 * Asks processes for source texts, as long as asked_may(). Texts that are left are asked for in the
 * next collect_flush(). In the last collect_flush() they count as missing.
 */
static void find_texts(struct collect *c)
{
	size_t done = 0;

	for (; done < c->stacks->bodies->texts.n && (c->last || asked_may(c)); done++) {
		struct wanted_text *t = &c->stacks->bodies->texts.v[done];
		uint64_t began_ns = asked_begin();

		if (asked_may(c))
			find_text(c, t);
		else
			has_no_text(c, t->tgid, t->path);
		text_fini(t);
		asked_end(c, began_ns);
	}
	c->stacks->bodies->texts.n -= done;
	if (done && c->stacks->bodies->texts.n)
		memmove(c->stacks->bodies->texts.v, c->stacks->bodies->texts.v + done,
			c->stacks->bodies->texts.n * sizeof(*c->stacks->bodies->texts.v));
}

void bodies_find(struct collect *c)
{
	bodies_name_frozen(c);
	while (c->stacks->bodies->list.n) {
		const struct body last = c->stacks->bodies->list.v[c->stacks->bodies->list.n - 1];
		const struct process *p = process_at(c, last.process);
		const struct py_layout *layout = c->config.ops->layout(c->config.ctx, last.layout);
		uint64_t began_ns = asked_begin();
		struct py_body of[PY_BODIES];
		char *names[PY_BODIES];
		size_t n = take(c, p, of);

		note_names(c, of, n, names);
		log_debug("process %u: reading the module names of %zu code objects, the first of "
			  "which is from %s",
			  p->key.tgid, n, n ? of[0].code->file : "none");
		if (n && layout && asked_may(c) && !process_is_gone(p))
			(void)!py_code_find_modules(of, n, p->key.tgid, layout);
		want_texts(c, &last, of, n, names);
		asked_end(c, began_ns);
	}
	find_texts(c);
}

void bodies_fini(struct collect *c)
{
	if (!c->stacks->bodies)
		return;
	vec_foreach(t, &c->stacks->bodies->texts)
		text_fini(t);
	vec_fini(&c->stacks->bodies->texts);
	vec_fini(&c->stacks->bodies->list);
	free(c->stacks->bodies);
}
