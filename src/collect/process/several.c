/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes with several interpreters: where the interpreters are, and when krait looks again
 * whether more of them are initialised.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/nomem.h"
#include "collect/process/process.h"
#include "python/layout/tables.h"

/*
 * How long krait waits before it looks again; the time doubles after each look. An interpreter that
 * is only loaded, for example by ctypes, may never be initialised.
 */
#define APART_NS      NSEC_PER_SEC
#define APART_MOST_NS (64 * NSEC_PER_SEC)

bool several_same(const struct proc_several *a, const struct proc_several *b)
{
	return a ? b && !memcmp(a, b, sizeof(*a)) : !b;
}

void several_forget(struct collect *c, struct process *p)
{
	const struct process *newest = process_newest(c, p->key.tgid);

	if (p->several && (!newest || newest == p))
		(void)!c->config.ops->set_several(c->config.ctx,
						  &(struct proc_several){.tgid = p->key.tgid});
	free(p->several);
	p->several = NULL;
}

int several_set(struct collect *c, struct process *p, const struct proc_several *all)
{
	int r;

	several_forget(c, p);
	if (all->n < 2)
		return 0;
	p->several = malloc(sizeof(*p->several));
	if (!p->several)
		return err_nomem();
	*p->several = *all;
	r = c->config.ops->set_several(c->config.ctx, all);
	if (r) {
		free(p->several);
		p->several = NULL;
	}
	return r;
}

bool several_has(const struct collect *c, const struct process *p, enum py_capability can)
{
	bool has = py_can(p->version) >> can & 1;

	for (uint32_t i = 1; !has && p->several && i < p->several->n; i++) {
		const struct py_layout *l =
			c->config.ops->layout(c->config.ctx, p->several->where[i].layout);

		has = l && l->can >> can & 1;
	}
	return has;
}

void several_wait(struct process *p)
{
	p->later = (struct later_look){clock_ns(CLOCK_MONOTONIC) + APART_NS, APART_NS};
}

void several_looked(struct process *p, bool waits, bool idle)
{
	struct later_look *l = &p->later;

	if (!waits)
		*l = (struct later_look){};
	else if (idle || !l->apart_ns)
		several_wait(p);
	else
		*l = (struct later_look){clock_ns(CLOCK_MONOTONIC) + l->apart_ns,
					 MIN(2 * l->apart_ns, APART_MOST_NS)};
}

bool several_is_due(const struct process *p, uint64_t now)
{
	return p->later.apart_ns && now >= p->later.due_ns;
}
