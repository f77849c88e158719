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

/* In each set the latest first; 0: unused. */
struct sent_stacks {
	uint64_t id[SENT_SETS][KEPT];
};

struct sent_codes {
	uint64_t id[SENT_SETS][KEPT];
	struct sent_code {
		uint64_t key;
		uint32_t process;
	} of[SENT_SETS][KEPT];
};

/*
 * @id came, or was used: it is put in front of its set. Where it was, KEPT - 1 if it wasn't there; @gone: then what is
 * to be given up for it, 0 = nothing.
 */
static size_t to_front(uint64_t set[KEPT], uint64_t id, uint64_t *gone)
{
	size_t i = 0;

	while (i < KEPT - 1 && set[i] != id)
		i++;
	*gone = set[i] != id ? set[i] : 0;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = id;
	return i;
}

void sent_stack(struct collect *c, uint64_t id)
{
	uint64_t gone;

	if (!c->stacks_sent)
		c->stacks_sent = calloc(1, sizeof(*c->stacks_sent));
	if (!c->stacks_sent)
		return; /* all are kept then */
	to_front(c->stacks_sent->id[sent_set_of(id) % SENT_SETS], id, &gone);
	if (!gone || !map_del(&c->stacks, gone))
		return;
	map_del(&c->rowless, gone);
	map_del(&c->registered, gone);
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
	uint64_t id = sent_code_id(&c->processes.v[process].key, code, check), gone, *at;
	struct sent_code *of, last;
	struct process *p;
	size_t i;

	if (!c->codes_sent)
		c->codes_sent = calloc(1, sizeof(*c->codes_sent));
	if (!c->codes_sent)
		return;
	i = to_front(c->codes_sent->id[sent_set_of(id) % SENT_SETS], id, &gone);
	of = c->codes_sent->of[sent_set_of(id) % SENT_SETS];
	last = of[i];
	memmove(of + 1, of, i * sizeof(*of));
	of[0] = (struct sent_code){code_key(code, check), process};
	if (!gone)
		return;
	p = &c->processes.v[last.process];
	at = map_get(&p->code_index, last.key);
	/* The process may have ended, and its place be another's. */
	if (at && id_of(p, p->codes.v[*at - 1]) == gone)
		sent_drop_code(c, p, *at - 1);
}

void sent_fini(struct collect *c)
{
	free(c->stacks_sent);
	free(c->codes_sent);
}
