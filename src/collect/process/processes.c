/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of processes: how it begins and ends, and how processes are forgotten; see process.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/system/clock.h"
#include "collect/process/process.h"

/*
 * For how many rounds (collect.rounds) a process is kept after its end was read. perf reports the
 * end in the middle of do_exit(), and the process's last records are written after that.
 */
#define ROUNDS_AFTER_END 3
/*
 * If waits are recorded, the old entry of a process that has exec'ed is kept for this many rounds.
 * perf reports the exec in the middle of execve(), but the kernel programs send the threads' last
 * records (struct rec_account) at the end of execve().
 */
#define ROUNDS_AFTER_EXEC 16
/* records of a process may still come for this long after krait has forgotten the process */
#define FORGOTTEN_NS (10 * NSEC_PER_SEC)

/* Frees what a process's entry points to. After that the entry in the table can be reused. */
static void process_fini(struct collect *c, struct process *p)
{
	if (!p->made)
		return;
	c->processes->close(c, p);
	free(p->name);
	free(p->cgroup);
	free(p->container);
	free(p->directory);
	free(p->entry);
	service_fini(&p->service);
	free(p->launched);
	free(p->several);
	free(p->made);
	*p = (struct process){};
}

static void forget(struct collect *c, uint32_t i)
{
	struct process *p = process_at(c, i);
	struct forgotten f = {i, clock_ns(CLOCK_MONOTONIC)};

	c->processes->close(c, p);
	several_forget(c, p);
	p->forgotten = true;
	(void)!vec_push(&c->processes->forgotten, f);
}

/*
 * Reuses the entries of processes that were forgotten so long ago that no more records of them
 * come. An entry stays if a sample or stack still refers to it.
 */
static void reuse_forgotten(struct collect *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t kept = 0, n = 0;

	if (!c->processes->forgotten.n ||
	    now < c->processes->forgotten.v[0].at_ns + 2 * FORGOTTEN_NS)
		return;
	while (n < c->processes->forgotten.n &&
	       now >= c->processes->forgotten.v[n].at_ns + FORGOTTEN_NS) {
		struct forgotten f = c->processes->forgotten.v[n++];
		struct process *p = process_at(c, f.process);

		if (p->users || vec_push(&c->processes->free, f.process)) {
			f.at_ns = now;
			c->processes->forgotten.v[kept++] = f;
			continue;
		}
		process_drop_index(&c->processes->by_key, process_key_hash(&p->key), f.process);
		process_drop_index(&c->processes->by_tgid, p->key.tgid, f.process);
		process_fini(c, p);
	}
	memmove(c->processes->forgotten.v + kept, c->processes->forgotten.v + n,
		(c->processes->forgotten.n - n) * sizeof(*c->processes->forgotten.v));
	c->processes->forgotten.n -= n - kept;
}

/*
 * Once .ended exceeds ROUNDS_AFTER_END (ROUNDS_AFTER_EXEC after an exec, if waits are recorded), no
 * ring has records of the process any more.
 */
void process_forget_ended(struct collect *c)
{
	size_t kept = 0;

	if (c->processes->round == c->rounds)
		return;
	c->processes->round = c->rounds;
	for (size_t i = 0; i < c->processes->live.n; i++) {
		struct process *p = process_live(c, i);
		bool execed = c->config.waits && p->replaced;

		if (p->ended && p->ended++ > (execed ? ROUNDS_AFTER_EXEC : ROUNDS_AFTER_END)) {
			p->headless = !p->replaced && process_has_threads(p);
			if (!p->headless && !p->pins) {
				forget(c, c->processes->live.v[i]);
				continue;
			}
			p->ended = 1;
		}
		c->processes->live.v[kept++] = c->processes->live.v[i];
	}
	c->processes->live.n = kept;
	reuse_forgotten(c);
}

bool processes_init(struct collect *c, size_t made_bytes,
		    void (*close)(struct collect *c, struct process *p))
{
	c->processes = calloc(1, sizeof(*c->processes));
	if (!c->processes)
		return false;
	c->processes->made_bytes = made_bytes;
	c->processes->close = close;
	return known_place_init(c);
}

void processes_fini(struct collect *c)
{
	struct processes *all = c->processes;

	vec_foreach(p, &all->all)
		process_fini(c, p);
	vec_fini(&all->all);
	vec_fini(&all->live);
	vec_fini(&all->forgotten);
	vec_fini(&all->free);
	map_fini(&all->by_key);
	map_fini(&all->by_tgid);
	map_fini(&all->execs);
	known_place_fini(c);
	free(all);
	c->processes = NULL;
}
