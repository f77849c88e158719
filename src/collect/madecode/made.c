/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All kinds of code that lies in no file, and the functions that ask each kind in turn; see made.h.
 */
#include "collect/madecode/made.h"

#include <stdlib.h>

/*
 * Once this many samples wait (1 MiB), stacks no longer wait for names of code that lies in no
 * file.
 */
#define WAITING_MAX 16384

static const struct code_source *const sources[] = {
	&jit_source, &trampoline_source, &registered_source, &executors_source, &guarded_source,
};

#define source_foreach(s)                                                                          \
	for (const struct code_source *const *s = sources; s < sources + ARRAY_SIZE(sources); s++)

bool made_init(struct collect *c)
{
	c->made = calloc(1, sizeof(*c->made));
	if (!c->made)
		return false;
	source_foreach(s) if ((*s)->init && !(*s)->init(c)) return false;
	return true;
}

void made_fini(struct collect *c)
{
	if (!c->made)
		return;
	source_foreach(s) if ((*s)->fini)(*s)->fini(c);
	map_fini(&c->made->dated.by_stack);
	free(TAKE_PTR(c->made));
}

static void met(struct collect *c, struct process *p, const struct proc *proc,
		const struct mapping *m, const char *path, bool is_file)
{
	source_foreach(s) if ((*s)->met)(*s)->met(c, p, proc, m, path, is_file);
}

static uint64_t until(const struct process *p, const struct mapping *m, uint64_t at)
{
	uint64_t end = m->end;

	source_foreach(s) if ((*s)->until) end = MIN(end, (*s)->until(p, m, at));
	return end;
}

static void table(struct collect *c, struct process *p, const struct mapping *m,
		  struct space_map *part)
{
	source_foreach(s) if ((*s)->table && !part->table)(*s)->table(c, p, m, part);
}

static const struct space_part *next(const struct process *p, uint64_t start, uint64_t end)
{
	const struct space_part *first = NULL;

	source_foreach(s)
	{
		const struct space_part *at = (*s)->next ? (*s)->next(p, start, end) : NULL;

		if (at && (!first || at->start < first->start))
			first = at;
	}
	return first;
}

const struct space_code made_code_of_spaces = {
	.met = met, .until = until, .table = table, .next = next};

bool made_ready(struct collect *c, const struct raw_stack *raw, uint64_t pc)
{
	if (c->n_waiting >= WAITING_MAX)
		return true;
	source_foreach(s) if ((*s)->ready && !(*s)->ready(c, raw, pc)) return false;
	return true;
}

/*
 * Is @made the name of code that CPython made to run Python functions? With -X perf, a trampoline
 * called "py::NAME:FILE" calls the evaluation loop for each Python function. 3.15's JIT compiler
 * registers code called "py::jit:...", which runs in place of the evaluation loop.
 */
static bool is_pythons(const struct collect *c, const struct process *p,
		       const struct made_name *made)
{
	const char *name = made->text ?: made->symbol;

	return name && str_starts(name, "py::") && several_has(c, p, PY_CAN_TRAMPOLINES);
}

void made_name(struct collect *c, const struct raw_stack *raw, uint64_t pc, bool plain,
	       struct made_name *ret, bool *dated)
{
	*ret = (struct made_name){};
	source_foreach(s)
	{
		if (!(*s)->name || ((*s)->dated && plain) || !(*s)->name(c, raw, pc, ret))
			continue;
		*dated |= (*s)->dated;
		ret->pythons = is_pythons(c, process_at(c, raw->process), ret);
		return;
	}
}

void made_want(struct collect *c, uint32_t version, uint64_t pc)
{
	source_foreach(s) if ((*s)->want)(*s)->want(c, version, pc);
}

void made_expect(struct collect *c, struct process *p)
{
	source_foreach(s) if ((*s)->expect)(*s)->expect(c, p);
}

void made_begin(struct collect *c)
{
	source_foreach(s) if ((*s)->begin)(*s)->begin(c);
}

bool made_wanted(const struct process *p)
{
	source_foreach(s) if ((*s)->wanted && (*s)->wanted(p)) return true;
	return false;
}

bool made_unread(const struct process *p)
{
	source_foreach(s) if ((*s)->unread && (*s)->unread(p)) return true;
	return false;
}

void made_flush(struct collect *c)
{
	source_foreach(s) if ((*s)->flush)(*s)->flush(c);
}

void made_refresh(struct collect *c, uint64_t until_ns)
{
	source_foreach(s) if ((*s)->refresh)(*s)->refresh(c, until_ns);
}

void made_given_up(struct collect *c, uint32_t table)
{
	source_foreach(s) if ((*s)->given_up)(*s)->given_up(c, table);
}

size_t made_bytes(const struct process *p)
{
	size_t n = 0;

	source_foreach(s) n += (*s)->bytes ? (*s)->bytes(p) : 0;
	return n;
}

size_t made_give_up(struct collect *c)
{
	const struct code_source *kind = NULL;
	struct process *of = NULL;
	size_t n;

	vec_foreach(i, &c->processes->live) {
		struct process *p = process_at(c, *i);

		source_foreach(s)
		{
			if (!(*s)->bytes || !(*s)->bytes(p) ||
			    (of && (*s)->read_at(p) >= kind->read_at(of)))
				continue;
			kind = *s;
			of = p;
		}
	}
	if (!of)
		return 0;
	n = kind->bytes(of);
	kind->give_up(c, of);
	return n;
}

void made_stats(const struct process *p, struct collect_stats *ret)
{
	source_foreach(s) if ((*s)->stats)(*s)->stats(p, ret);
}

void made_close(struct collect *c, struct process *p)
{
	source_foreach(s) if ((*s)->close)(*s)->close(c, p);
}
