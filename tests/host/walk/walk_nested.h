/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * At every read of a walk (the search for a thread's frames), a second walk interrupts it on the
 * same CPU. The second walk asks for the first one's slot of state, is refused, which is counted,
 * and gets another slot. The first walk's result must be the same as without the second walk.
 */
#ifndef TESTS_HOST_WALK_WALK_NESTED_H
#define TESTS_HOST_WALK_WALK_NESTED_H

#include "walk_host.h"

/* The result of a stack walk. */
struct nested_result {
	__u32 n, groups, native_n;
	__u8 outcome, native_outcome, thread, current;
	__u64 hash, native_hash, tstate;
	struct walk_out out;
	struct walk_addrs addrs;
	struct native_out native_out;
};

static uint64_t nested_begun; /* how many second stack walks have begun */

static inline void nested_take_result(struct nested_result *r, const struct walk *w,
				      const struct walk_out *out, const struct walk_addrs *addrs,
				      const struct native *native, const struct native_out *no)
{
	memset(r, 0, sizeof(*r));
	r->n = w->n;
	r->groups = w->groups;
	r->outcome = w->outcome;
	r->thread = w->thread;
	r->current = w->current;
	r->hash = w->hash;
	r->tstate = w->tstate;
	memcpy(r->out.frame, out->frame, w->n * sizeof(out->frame[0]));
	memcpy(r->addrs.frame, addrs->frame, w->n * sizeof(addrs->frame[0]));
	for (__u32 i = 0; i < w->groups; i++) {
		r->addrs.group[i].addr = addrs->group[i].addr;
		r->addrs.group[i].last = addrs->group[i].last;
	}
	r->native_n = native->n;
	r->native_hash = native->hash;
	r->native_outcome = native->outcome;
	memcpy(r->native_out.pc, no->pc, native->n * sizeof(no->pc[0]));
}

static inline void nested_take_first(struct nested_result *r)
{
	nested_take_result(r, host.w, host.out, host.addrs, host.native, host.native_out);
}

/*
 * the result of the first stack walk without a second one; the two variables after it hold the
 * state at its beginning
 */
static struct nested_result nested_alone;
static struct walk nested_before;
static struct native nested_before_native;

/*
 * Checks that the second stack walk finds the Python frames that the first one found when it ran
 * alone.
 */
static inline void nested_compare(const struct host_slot *s)
{
	static struct nested_result r;

	/*
	 * can't be compared: other reads fail than in the first stack walk, or the thread has no
	 * Python
	 */
	if (host.fail_nth || !host.layout.version)
		return;
	nested_take_result(&r, &s->w, &s->out, &s->addrs, &s->native, &s->native_out);
	host_must(r.n == nested_alone.n && r.outcome == nested_alone.outcome &&
			  !memcmp(&r.out, &nested_alone.out, sizeof(r.out)) &&
			  !memcmp(&r.addrs, &nested_alone.addrs, sizeof(r.addrs)),
		  "a second walk gave something else");
}

/* Overwrites all state of the second stack walk, because the first one must use none of it. */
static inline void nested_scribble(void)
{
	memset(walk_state(1), 0x5a, sizeof(struct walk));
	memset(walk_out(1), 0x5a, sizeof(struct walk_out));
	memset(walk_addrs(1), 0x5a, sizeof(struct walk_addrs));
	memset(native_state(1), 0x5a, sizeof(struct native));
	memset(native_out(1), 0x5a, sizeof(struct native_out));
	memset(walk_staging(1), 0x5a, sizeof(struct staging));
}

/*
 * Finds the Python and native frames of the same thread in a second stack walk, and sends the
 * stack.
 */
static inline void nested_walk_second(void)
{
	uint64_t lost = host.counters[COUNT_BUSY];
	struct host_slot *s = host.second;
	struct walk *w;

	host_must(!walk_take(0) && host.counters[COUNT_BUSY] == lost + 1,
		  "a second walk got the state of the first");
	nested_scribble();
	s->w = nested_before;
	memset(&s->native, 0, sizeof(s->native));
	w = walk_take(1);
	host_must(w == &s->w, "a slot that is free was refused");
	w->proc = host.w->proc;
	w->where = host.w->where;
	w->tp = host.w->tp;
	w->sp = host.w->sp;
	w->began_ns = host.clock_ns;
	walk_python(w, &host.layout);
	nested_compare(s);
	s->native.space = host.native->space;
	s->native.epoch = host.native->epoch;
	s->native.regs = host.native->regs;
	memcpy(s->native.leaf, host.native->leaf, sizeof(s->native.leaf));
	walk_native(&s->native, w);
	send_stack(w);
	walk_give_back(w);
	host_must(!w->users, "a slot wasn't given back");
	nested_scribble();
	nested_begun++;
}

/*
 * Runs the stack walk @walk twice: alone, and interrupted. At the end the state is that after the
 * interrupted walk.
 */
static inline void nested_check(void (*walk)(void))
{
	static struct nested_result interrupted;
	uint64_t begun = nested_begun, reads;

	nested_before = *host.w;
	nested_before_native = *host.native;
	walk();
	nested_take_first(&nested_alone);
	reads = host.reads;
	/*
	 * restores the state, because with what the first run left, the second one would need fewer
	 * reads
	 */
	*host.w = nested_before;
	*host.native = nested_before_native;
	host_must(walk_take(0) == host.w, "a slot that was given back was refused");
	host.at_read = nested_walk_second;
	walk();
	host.at_read = NULL;
	walk_give_back(host.w);
	nested_take_first(&interrupted);
	host_must(!memcmp(&nested_alone, &interrupted, sizeof(interrupted)),
		  "a second walk changed the first");
	host_must(!reads || nested_begun > begun, "no second walk began");
}

#endif
