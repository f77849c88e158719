/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the modules whose bodies were met: looked for once a flush, those of a process together, as each look costs its time. */
#include "base/clock.h"
#include "collect/internal.h"

void bodies_met(struct collect *c, uint32_t process, const struct py_code *code,
		const struct rec_code *rec)
{
	if (vec_push(&c->bodies, (struct body){process, rec->layout,
					       code_key(code->addr, code->check), rec->globals}))
		c->no_memory = true;
}

/* Takes those of the last one's process out, as many as @ret has room for. */
static size_t take(struct collect *c, const struct process *p, struct py_body ret[PY_BODIES])
{
	const struct body last = c->bodies.v[c->bodies.n - 1];
	size_t kept = 0, n = 0;

	vec_foreach(b, &c->bodies) {
		const uint64_t *at = map_get(&p->code_index, b->code);

		if (b->process != last.process || b->layout != last.layout || n == PY_BODIES)
			c->bodies.v[kept++] = *b;
		else if (at) /* else it was given up */
			ret[n++] = (struct py_body){p->codes.v[*at - 1], b->globals};
	}
	c->bodies.n = kept;
	return n;
}

void bodies_find(struct collect *c)
{
	while (c->bodies.n) {
		const struct body last = c->bodies.v[c->bodies.n - 1];
		const struct process *p = &c->processes.v[last.process];
		const struct py_layout *layout = c->config.ops->layout(c->config.ctx, last.layout);
		uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
		struct py_body of[PY_BODIES];
		size_t n = take(c, p, of);

		if (n && layout && c->asked_ns <= ASKED_NS && !process_is_gone(p))
			(void)!py_code_find_modules(of, n, p->key.tgid, layout);
		c->asked_ns += clock_ns(CLOCK_MONOTONIC) - began_ns;
	}
}
