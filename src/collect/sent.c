/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks and code objects come without end from a program that makes code all the time. Of each set the
 * kernel program has forgotten what SENT_WAYS newer ones followed and sends it again: what more than
 * twice as many followed is given up here.
 */
#include <stdlib.h>

#include "collect/internal.h"
#include "sent.h"

#define KEPT (2 * SENT_WAYS)

struct sent_entry {
	uint64_t id; /* 0: unused */
	uint64_t code_key;
	uint32_t process; /* whose code object it is */
};

struct sent_list {
	struct sent_entry entry[SENT_SETS][KEPT]; /* the latest first */
};

/* Notes that @e came, or was used; what is to be given up for it, .id 0: nothing. */
static struct sent_entry note(struct sent_list **list, const struct sent_entry *e)
{
	struct sent_entry *set, gone = {};
	size_t i = 0;

	if (!*list)
		*list = calloc(1, sizeof(**list));
	if (!*list)
		return gone; /* all are kept then */
	set = (*list)->entry[sent_set_of(e->id) % SENT_SETS];
	while (i < KEPT - 1 && set[i].id != e->id)
		i++;
	if (set[i].id != e->id)
		gone = set[i];
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = *e;
	return gone;
}

void sent_stack(struct collect *c, uint64_t id)
{
	struct sent_entry gone = note(&c->stacks_sent, &(struct sent_entry){.id = id});

	if (!gone.id || !map_del(&c->stacks, gone.id))
		return;
	map_del(&c->rowless, gone.id);
	map_del(&c->registered, gone.id);
}

void sent_free_code(struct collect *c, struct py_code *code)
{
	c->code_bytes -= py_code_bytes(code);
	py_code_free(code);
}

/* The last one takes its place. */
void sent_drop_code(struct collect *c, struct process *p, size_t i)
{
	struct py_code *code = p->codes.v[i], *last = p->codes.v[p->codes.n - 1];

	map_del(&p->code_index, code_key(code->addr, code->check));
	p->codes.n--;
	if (last != code) {
		p->codes.v[i] = last;
		(void)!map_put(&p->code_index, code_key(last->addr, last->check), i + 1);
	}
	sent_free_code(c, code);
}

static uint64_t id_of(const struct process *p, const struct py_code *code)
{
	return sent_code_id(&p->key, code->addr, code->check);
}

void sent_code(struct collect *c, uint32_t process, uint64_t code, uint64_t check)
{
	struct sent_entry e = {.id = sent_code_id(&c->processes.v[process].key, code, check),
			       .code_key = code_key(code, check),
			       .process = process};
	struct sent_entry gone = note(&c->codes_sent, &e);
	struct process *p;
	uint64_t *at;

	if (!gone.id)
		return;
	p = &c->processes.v[gone.process];
	at = map_get(&p->code_index, gone.code_key);
	/* The process may have ended, and its place be another's. */
	if (at && id_of(p, p->codes.v[*at - 1]) == gone.id)
		sent_drop_code(c, p, *at - 1);
}

void sent_fini(struct collect *c)
{
	free(c->stacks_sent);
	free(c->codes_sent);
}
