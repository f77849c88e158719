/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which reading of a process's registered code holds for some code; see registered.c. */
#include "collect/madecode/made.h"

const struct reading *reading_of(const struct process *p, const struct space_map *m, uint64_t pc)
{
	const struct registered *reg = &p->made->registered;

	for (size_t i = 0; i < ARRAY_SIZE(reg->readings); i++) {
		const struct reading *r = &reg->readings[i];
		size_t k = count_upto(r->code.v, r->code.n, end, pc);

		if (r->jit && r->from_ns >= m->since_ns && r->to_ns < m->remade_ns &&
		    k < r->code.n && r->code.v[k].start <= pc)
			return r;
	}
	return NULL;
}

const struct space_map *reading_map(struct collect *c, const struct raw_stack *raw, uint64_t pc,
				    const struct space **s)
{
	struct process *p = process_at(c, raw->process);
	const struct space_map *m;

	*s = c->config.sees_mapped && !p->replaced ? space_at(c, raw->native->version) : NULL;
	m = *s ? space_map_at(*s, pc) : NULL;
	return m && m->lasting ? m : NULL;
}

const struct reading *reading_of_stack(struct collect *c, const struct raw_stack *raw, uint64_t pc)
{
	const struct space *s;
	const struct space_map *m = reading_map(c, raw, pc, &s);

	return m && s->process == raw->process && (raw->flush < c->flushes || c->last)
		       ? reading_of(process_at(c, raw->process), m, pc)
		       : NULL;
}
