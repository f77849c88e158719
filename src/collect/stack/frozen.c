/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names the bodies (top-level code) of imported frozen modules after their files, such as "<frozen
 * os>". This needs no read of the process's memory.
 */
#include <stdlib.h>

#include "collect/budget/asked.h"
#include "collect/stack/bodies.h"
#include "collect/stack/stack.h"

#define FROZEN "<frozen "
/* how many of the latest stacks are searched for the caller of a body (top-level code) */
#define STACKS_MOST 64
/*
 * the most frames that are looked at in one collect_flush() to find the callers of all bodies
 * (modules' top-level code); this takes 1 to 5 ms
 */
#define FRAMES_MOST (1 << 18)

/*
 * Returns the function that called frame @i of @raw; NULL: not known. Looks at no more than *left
 * frames.
 */
static const struct py_code *caller_of(const struct process *p, const struct raw_stack *raw,
				       size_t i, size_t *left)
{
	while (++i < raw->n && *left) {
		const struct wire_frame *f = &raw->frames[i];
		const struct py_code *code = code_of(p, code_key(f->code, f->check));

		--*left;
		if (!code || !code->internal)
			return code;
	}
	return NULL;
}

/*
 * Is @code FrozenImporter.exec_module()? This function imports a module by running the frozen code
 * that has the module's name.
 */
static bool is_frozen_importer(const struct py_code *code)
{
	return code && code->name && code->file &&
	       streq(code->name, "FrozenImporter.exec_module") &&
	       streq(code->file, "<frozen importlib._bootstrap>");
}

/*
 * Did the importer of frozen modules call the body (a module's top-level code), in some stack that
 * waits for names? Looks at no more than *left frames.
 */
static bool is_imported_frozen(const struct collect *c, const struct body *b, size_t *left)
{
	const struct process *p = process_at(c, b->process);
	size_t first = c->stacks->raw.n - MIN(c->stacks->raw.n, (size_t)STACKS_MOST);

	for (size_t k = c->stacks->raw.n; k-- > first && *left;) {
		const struct raw_stack *raw = &c->stacks->raw.v[k];

		if (raw->process != b->process)
			continue;
		for (size_t i = 0; i < raw->n && *left; i++, --*left)
			if (code_key(raw->frames[i].code, raw->frames[i].check) == b->code)
				return is_frozen_importer(caller_of(p, raw, i, left));
	}
	return false;
}

/*
 * Names a body (a module's top-level code) after its file, and returns true if it could: if the
 * importer of frozen modules runs the body of file "<frozen os>", the module's name is os. Names
 * with two underscores in front are left out: CPython's tests have frozen modules under two such
 * names.
 */
static bool is_named_by_file(const struct collect *c, const struct body *b, size_t *left)
{
	const struct process *p = process_at(c, b->process);
	struct py_code *code = code_of(p, b->code);

	if (!code || !code->file || code->module || !str_starts(code->file, FROZEN) ||
	    str_starts(code->file, FROZEN "__") || !str_ends(code->file, ">") ||
	    !is_imported_frozen(c, b, left))
		return false;
	code->module = strndup(code->file + strlen(FROZEN),
			       strlen(code->file) - strlen(FROZEN) - strlen(">"));
	return code->module;
}

void bodies_name_frozen(struct collect *c)
{
	size_t kept = 0, left = FRAMES_MOST;
	uint64_t began_ns;

	if (!c->stacks->bodies->list.n)
		return;
	began_ns = asked_begin();
	for (size_t i = 0; i < c->stacks->bodies->list.n; i++)
		if (!is_named_by_file(c, &c->stacks->bodies->list.v[i], &left))
			c->stacks->bodies->list.v[kept++] = c->stacks->bodies->list.v[i];
	c->stacks->bodies->list.n = kept;
	asked_end(c, began_ns);
}
