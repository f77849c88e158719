/* SPDX-License-Identifier: BSD-2-Clause */
/* All kinds of code that lies in no file, and the calls to each of them; see made.h. */
#include "collect/madecode/made.h"

#include <stdlib.h>

/* If so many samples wait (1 MiB), stacks don't wait any more for names of such code. */
#define WAITING_MAX 16384

static const struct code_source *const sources[] = {
	&jit_source, &trampoline_source, &registered_source, &executors_source, &guarded_source,
};

#define source_foreach(s)                                                                          \
	for (const struct code_source *const *s = sources; s < sources + ARRAY_SIZE(sources); s++)

bool made_init(struct collect *c)
{
	c->made = calloc(1, sizeof(*c->made));
	return c->made && jit_init(c) && registered_init(c) && trampolines_init(c);
}

void made_fini(struct collect *c)
{
	if (!c->made)
		return;
	jit_fini(c);
	registered_fini(c);
	trampolines_fini(c);
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

void made_name(struct collect *c, const struct raw_stack *raw, uint64_t pc, bool plain,
	       struct made_name *ret, bool *dated)
{
	*ret = (struct made_name){};
	source_foreach(s)
	{
		if (!(*s)->name || ((*s)->dated && plain) || !(*s)->name(c, raw, pc, ret))
			continue;
		*dated |= (*s)->dated;
		return;
	}
}

void made_refresh(struct collect *c, uint64_t until_ns)
{
	source_foreach(s) if ((*s)->refresh)(*s)->refresh(c, until_ns);
}

void made_given_up(struct collect *c, uint32_t table)
{
	source_foreach(s) if ((*s)->given_up)(*s)->given_up(c, table);
}

void made_close(struct collect *c, struct process *p)
{
	source_foreach(s) if ((*s)->close)(*s)->close(c, p);
}
