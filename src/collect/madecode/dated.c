/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For some stacks with code made at run time, the profile has two stacks: one with the names and
 * unwind rows of that code, and one without them, called the plain stack. The reason is that these
 * names and rows may hold for some samples of a stack and not for others (.dated in struct
 * code_source). See registered.c.
 */
#include "base/error.h"
#include "collect/madecode/made.h"

/*
 * How a value of .by_stack is made up, from the highest bit on: how unwinding ended (4 bits), the
 * version of the process's mappings (28 bits), the profile's id of the stack (32 bits). The first
 * and the last describe the stack without the names and unwind rows of code made at run time (the
 * plain stack).
 */
#define OUTCOME_SHIFT 60
#define VERSION_SHIFT 32
#define VERSION_MASK  ((1u << (OUTCOME_SHIFT - VERSION_SHIFT)) - 1)
_Static_assert(NATIVE_OUTCOME_MAX <= 16, ".by_stack has four bits for an outcome");

size_t dated_until(const struct collect *c, const struct raw_stack *raw)
{
	const struct raw_native *n = raw->native;
	const struct space *s = c->made->dated.rows && n ? space_at(c, n->version) : NULL;

	if (!c->made->dated.rows || !n || !n->n)
		return 0;
	if (!s) /* krait has forgotten the mappings with which the stack was unwound */
		return 1;
	for (size_t i = 0; i < n->n; i++) {
		const struct space_map *m = space_map_at(s, n->pc[n->n_kernel + i]);

		if (m && m->registered)
			return i + 1;
	}
	return 0;
}

bool dated_can_hold(const struct collect *c, const struct raw_stack *raw)
{
	const struct space *s = space_at(c, raw->native->version);

	return s && s->process == raw->process && !process_at(c, raw->process)->replaced;
}

int dated_note(struct collect *c, const struct raw_stack *raw, uint32_t plain,
	       enum native_outcome outcome, bool never)
{
	uint64_t version = never ? 0 : raw->native->version;

	if (version > VERSION_MASK)
		/*
		 * 28 bits are enough for 268 million readings of mappings; later ones get -ENOMEM
		 */
		return -ENOMEM;
	return map_put(&c->made->dated.by_stack, raw->id,
		       (uint64_t)outcome << OUTCOME_SHIFT | version << VERSION_SHIFT | plain);
}

/*
 * Returns @named, or the plain stack (without names of code made at run time). If dated_note() was
 * called with @never, the version noted for the stack is 0, which no mappings have, so all samples
 * get the plain stack. In a fork that still uses its parent's mappings, only the plain stack is
 * certain to be right.
 */
uint32_t dated_stack(struct collect *c, const struct waiting *w, uint32_t named, uint8_t *native)
{
	const uint64_t *at = map_get(&c->made->dated.by_stack, w->rec.stack);
	const struct space *s;

	if (!at)
		return named;
	if (w->flush == c->flushes && !c->last)
		return 0;
	s = space_at(c, (uint32_t)(*at >> VERSION_SHIFT) & VERSION_MASK);
	if (s && !process_at(c, w->process)->replaced && w->rec.time_ns < s->remade_ns)
		return named;
	*native = (uint8_t)(*at >> OUTCOME_SHIFT);
	return (uint32_t)*at;
}

void dated_forget(struct collect *c, uint64_t id)
{
	map_del(&c->made->dated.by_stack, id);
}

bool dated_rebase(struct collect *c, struct rebase *r)
{
	bool done = true;

	map_foreach(slot, &c->made->dated.by_stack) {
		uint32_t now = rebase_stack(r, (uint32_t)slot->value);

		slot->value = (slot->value & ~(uint64_t)UINT32_MAX) | now;
		done &= now != 0;
	}
	return done;
}
