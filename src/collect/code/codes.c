/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the code objects of processes; see codes.h. */
#include "collect/code/codes.h"

#include <stdlib.h>

#include "collect/code/recent.h"
#include "collect/code/same.h"

struct codes {
	/* the code objects whose records came latest; NULL: no code object has come yet */
	struct recent_codes *recent;
	uint32_t round;	 /* number of the present round: how often codes_next_round() was called */
	uint64_t serial; /* the py_code.serial that was given to a code object last */
};

struct recent_codes {
	struct recent ids;
	struct recent_code {
		uint64_t key; /* code_key() of the code object */
		uint32_t process;
	} of[SENT_SETS][RECENT_KEPT];
};

bool codes_init(struct collect *c)
{
	return (c->codes = calloc(1, sizeof(struct codes)));
}

void codes_fini(struct collect *c)
{
	if (c->codes)
		free(c->codes->recent);
	free(c->codes);
}

/* Frees code object @i of process @p. The last code object in .codes takes the index @i. */
static void drop(struct collect *c, struct process *p, size_t i)
{
	struct py_code *code = p->codes.v[i], *last = p->codes.v[p->codes.n - 1];

	map_del(&p->code_index, code_key(code->addr, code->check));
	p->codes.n--;
	if (last != code) {
		p->codes.v[i] = last;
		(void)!map_put(&p->code_index, code_key(last->addr, last->check), i + 1);
	}
	same_free_code(c, code);
}

static uint64_t id_of(const struct process *p, const struct py_code *code)
{
	return sent_code_id(&p->key, code->addr, code->check);
}

/*
 * Notes that a record of this code object came. The code object of the same set (recent.h) that
 * came longest ago may be freed to make room.
 */
static void note_recent(struct collect *c, uint32_t process, uint64_t code, uint64_t check)
{
	uint64_t id = sent_code_id(&process_at(c, process)->key, code, check), gone, *at;
	struct codes *all = c->codes;
	struct recent_code *of, last;
	struct process *p;
	size_t i;

	if (!all->recent)
		all->recent = calloc(1, sizeof(*all->recent));
	if (!all->recent)
		return; /* if there is no memory for .recent, all code objects are kept */
	i = recent_to_front(&all->recent->ids, id, &gone);
	of = all->recent->of[sent_set_of(id) % SENT_SETS];
	last = of[i];
	memmove(of + 1, of, i * sizeof(*of));
	of[0] = (struct recent_code){code_key(code, check), process};
	if (!gone)
		return;
	p = process_at(c, last.process);
	at = map_get(&p->code_index, last.key);
	/*
	 * .recent may name a process that has ended, and another process may have its entry in the
	 * table now
	 */
	if (at && id_of(p, p->codes.v[*at - 1]) == gone)
		drop(c, p, *at - 1);
}

struct py_code *code_met(struct collect *c, uint32_t process, uint64_t code, uint64_t check)
{
	struct py_code *known;

	note_recent(c, process, code, check);
	known = code_of(process_at(c, process), code_key(code, check));
	if (known)
		known->round = c->codes->round;
	return known;
}

uint64_t codes_next_serial(struct collect *c)
{
	return ++c->codes->serial;
}

bool code_keep(struct collect *c, struct process *p, struct py_code *code)
{
	code->counted = 0;
	if (vec_push(&p->codes, code)) {
		c->no_memory = true;
		same_free_code(c, code);
		return false;
	}
	if (map_put(&p->code_index, code_key(code->addr, code->check), p->codes.n))
		c->no_memory = true;
	code->round = c->codes->round;
	code->serial = code->like ? code->like->serial : codes_next_serial(c);
	code->counted = py_code_bytes(code);
	c->kept.codes += code->counted;
	c->stats.codes++;
	return true;
}

/*
 * Called when the kernel programs have sent again all code objects that they saw since the last
 * call. A code object that wasn't sent again is in no stack that is still to come, so it is freed.
 */
void codes_next_round(struct collect *c)
{
	vec_foreach(i, &c->processes->live) {
		struct process *p = process_at(c, *i);

		for (size_t k = p->codes.n; k--;)
			if (p->codes.v[k]->round != c->codes->round)
				drop(c, p, k);
	}
	same_forget(c);
	c->codes->round++;
}

void codes_forget(struct collect *c, struct process *p)
{
	vec_foreach(code, &p->codes)
		same_free_code(c, *code);
	vec_fini(&p->codes);
	map_fini(&p->code_index);
}
