/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks that wait for the names of their frames, and stacks that have these names. A waiting stack
 * pins (keeps from being freed) its process and the mappings that it was sampled with, because the
 * names of its frames come from the process and its mappings.
 */
#include <stdlib.h>

#include "base/error.h"
#include "collect/budget/crowd.h"
#include "collect/code/recent.h"
#include "collect/stack/bodies.h"
#include "collect/stack/stack.h"

/*
 * How a value of .named is made up: the low 32 bits are the profile's stack id; the bits above say
 * how unwinding its native part ended.
 */
/* value for a stack that waits in .raw; no stack of the profile has this id */
#define UNNAMED	     0
#define NATIVE_SHIFT 32

bool stacks_init(struct collect *c)
{
	c->stacks = calloc(1, sizeof(*c->stacks));
	return c->stacks && known_init(c) && bodies_init(c);
}

void raw_stack_fini(struct raw_stack *raw)
{
	free(raw->frames);
	free(raw->native);
}

void stacks_fini(struct collect *c)
{
	struct stacks *s = c->stacks;

	if (!s)
		return;
	vec_foreach(raw, &s->raw)
		raw_stack_fini(raw);
	vec_fini(&s->raw);
	map_fini(&s->named);
	map_fini(&s->rowless);
	bodies_fini(c);
	free(s->recent);
	free(s->known);
	free(s);
	c->stacks = NULL;
}

/*
 * Notes that stack @id came or was used. To make room, the id of the same set (recent.h) that was
 * used longest ago may be forgotten.
 */
static void note_recent(struct collect *c, uint64_t id)
{
	struct stacks *s = c->stacks;
	uint64_t gone;

	if (!s->recent)
		s->recent = calloc(1, sizeof(*s->recent));
	if (!s->recent)
		return; /* if there is no memory for .recent, all stacks are kept */
	recent_to_front(s->recent, id, &gone);
	if (!gone || !map_del(&s->named, gone))
		return;
	map_del(&s->rowless, gone);
	dated_forget(c, gone);
}

bool stack_is_there(struct collect *c, uint64_t id)
{
	const uint64_t *known = map_get(&c->stacks->named, id);

	if (known && *known != UNNAMED)
		note_recent(c, id);
	return known;
}

uint32_t stack_of_sample(struct collect *c, const struct waiting *w, uint8_t *native)
{
	const uint64_t *at = map_get(&c->stacks->named, w->rec.stack);
	uint32_t stack;

	if (!at || *at == UNNAMED)
		return 0;
	*native = (uint8_t)(*at >> NATIVE_SHIFT);
	stack = dated_stack(c, w, (uint32_t)*at, native);
	if (stack)
		note_recent(c, w->rec.stack);
	return stack;
}

int stack_add(struct collect *c, const struct raw_stack *raw)
{
	if (map_put(&c->stacks->named, raw->id, UNNAMED))
		return -ENOMEM;
	if (vec_push(&c->stacks->raw, *raw)) {
		map_del(&c->stacks->named, raw->id);
		return -ENOMEM;
	}
	process_at(c, raw->process)->users++;
	if (raw->native)
		space_pin(c, raw->native->version);
	return 0;
}

/*
 * Pins the process of @raw, so that it isn't forgotten while @raw waits for names; with @pins
 * false, unpins it.
 */
static void pin_process(struct process *p, struct raw_stack *raw, bool pins)
{
	p->pins += (uint32_t)pins - (uint32_t)raw->pins;
	raw->pins = pins;
}

static void unpin(struct collect *c, struct raw_stack *raw)
{
	struct process *p = process_at(c, raw->process);

	pin_process(p, raw, false);
	p->users--;
	if (raw->native)
		space_unpin(c, raw->native->version);
}

static int keep_stack(struct collect *c, struct raw_stack *raw, uint64_t id)
{
	if (map_put(&c->stacks->named, raw->id, id))
		return err_set(-ENOMEM, "out of memory for stacks");
	note_recent(c, raw->id);
	unpin(c, raw);
	raw_stack_fini(raw);
	c->stats.stacks++;
	return 0;
}

/*
 * Can @raw be named now? If its process has ended, the stack still waits for names of files, which
 * workers read. The stack doesn't wait for code objects, because all code objects of an ended
 * process have come.
 */
static bool is_ready(struct collect *c, struct raw_stack *raw)
{
	struct process *p = process_at(c, raw->process);
	bool code = stack_has_code(p, raw), names;

	if (!code && (!p->ended || p->forgotten))
		return false;
	names = merge_ready(c, raw);
	pin_process(p, raw, !names);
	return code && names;
}

/*
 * Names a stack. Returns a value of .named; 0: the stack isn't complete yet. If memory is full, the
 * stack becomes one frame that says so (a mark).
 */
static uint64_t name_stack(struct collect *c, struct raw_stack *raw, bool last)
{
	enum native_outcome native = NATIVE_NONE;
	uint32_t mark;
	uint64_t id;

	if (!collect_is_full(c)) {
		id = last || is_ready(c, raw) ? stack_name(c, raw, &native) : 0;
		return id ? id | (uint64_t)native << NATIVE_SHIFT : 0;
	}
	mark = stack_mark(c, MARK_FULL, NULL);
	return profile_stack(c->profile, &mark, 1);
}

/*
 * In the last collect_flush(), asks config.wait whether the user still waits, because looking up
 * lines takes time. If the user doesn't wait any longer, no lines are looked up for the stacks that
 * are left.
 */
static void ask_to_go_on(struct collect *c, size_t done)
{
	if (!c->hurried && c->config.wait &&
	    !c->config.wait(c->config.ctx, "lines of native code", (unsigned)done))
		c->hurried = true;
}

int stacks_name(struct collect *c, bool last)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < c->stacks->raw.n; i++) {
		struct raw_stack raw = c->stacks->raw.v[i];
		uint64_t id;

		if (last)
			ask_to_go_on(c, i);
		crowd_turn(c, process_at(c, raw.process));
		id = r ? 0 : name_stack(c, &raw, last);
		if (id)
			r = keep_stack(c, &raw, id);
		if (id && !r)
			continue;
		if (r)
			pin_process(process_at(c, raw.process), &raw, true);
		c->stacks->raw.v[kept++] = raw;
	}
	c->stacks->raw.n = kept;
	return r;
}

void stacks_ask_for_names(struct collect *c)
{
	vec_foreach(raw, &c->stacks->raw)
		(void)merge_ready(c, raw);
}

bool stacks_rebase(struct collect *c, struct rebase *r)
{
	bool done = true;

	known_forget(c);
	map_foreach(slot, &c->stacks->named) {
		uint32_t now = slot->value == UNNAMED ? 0 : rebase_stack(r, (uint32_t)slot->value);

		if (slot->value == UNNAMED)
			continue;
		slot->value = (slot->value & ~(uint64_t)UINT32_MAX) | now;
		done &= now != 0;
	}
	return done;
}

void stack_wants_rows(struct collect *c, const struct raw_native *native)
{
	uint64_t vaddr, pc = native->pc[native->n_kernel + native->n - 1];
	struct native_file *f = space_find(c, native->version, NO_PROCESS, pc, &vaddr);

	if (!f) {
		made_want(c, native->version, pc);
		return;
	}
	(void)!map_put(&c->stacks->rowless, native->id, f->index);
	native_rows_want(c, f);
}

void stack_wants_rows_again(struct collect *c, uint64_t id)
{
	const uint64_t *file = map_get(&c->stacks->rowless, id);

	if (file)
		native_rows_want(c, native_file_at(c, (uint32_t)*file));
}
