/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes in the events that perf reports: mappings, names and ends of threads, execs; see collect.h.
 */
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "collect/budget/crowd.h"
#include "collect/budget/upkeep.h"
#include "collect/internal.h"
#include "collect/named.h"
#include "collect/space/told.h"
#include "collect/thread/on.h"
#include "collect/thread/thread.h"

/* Limit of the CPU time for looking into unknown files of unknown processes. */
static const struct budget_limit of_strangers = {300 * NSEC_PER_MSEC, 100};

static bool holds_interpreter(struct collect *c, uint32_t tgid, const struct mapping *m,
			      const char *path)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	uint64_t began_ns = upkeep_begin();
	struct image_file *f;
	bool is = !proc_open(&proc, tgid) && !image_of(c, &proc, m, path, &f) && f->is_python;

	budget_spend_only(&c->intake->strangers, of_strangers, clock_ns(CLOCK_MONOTONIC),
			  upkeep_begin() - began_ns);
	return is;
}

static bool is_interpreter(struct collect *c, uint32_t tgid, const struct mapping *m,
			   const char *path)
{
	const struct image_file *known = image_known(c, m);

	if (known)
		return known->is_python && !known->is_known_program;
	if (budget_is_left(&c->intake->strangers, of_strangers, clock_ns(CLOCK_MONOTONIC)))
		return holds_interpreter(c, tgid, m, path);
	c->stats.strangers_refused++;
	/*
	 * The budget for unknown processes is spent, so the file isn't looked into, and its name
	 * decides whether it counts as an interpreter. If the process is examined because of the
	 * name, its user's budget is charged.
	 */
	return image_is_library(path);
}

static void examine_mapped(struct collect *c, struct process *p)
{
	crowd_turn(c, p);
	(void)!process_examine(c, process_index(c, p), NULL);
	crowd_turn(c, NULL);
}

/*
 * Called when a process has mapped a file executable. Most files are known to hold no interpreter.
 * If the file holds an interpreter, the kernel program may be ignoring the process because of its
 * executable, and the collector may not know the process. In that case the kernel program is told
 * to ask about the process again.
 */
void collect_mapped(struct collect *c, const struct collect_mapping *m)
{
	struct process *p = process_newest(c, m->tgid);
	struct mapping map = {.start = m->addr,
			      .end = m->addr + m->len,
			      .offset = m->offset,
			      .dev = m->dev,
			      .ino = m->ino,
			      .prot = PROT_EXEC | PROT_READ};

	if (!m->gone)
		told_mapped(c, m->tgid, &map, m->path, m->time_ns);
	if (p && has_stacks(p)) {
		c->news = true;
		space_wanted(p, SPACE_GROWN);
		space_made_executable(c, p, map.start, map.end, m->time_ns);
	}
	if (p && p->state == PROC_PYTHON && image_is_library(m->path))
		several_wait(p);
	if (m->gone || !m->ino || (p && p->state == PROC_PYTHON) ||
	    !is_interpreter(c, m->tgid, &map, m->path))
		return;
	if (p && p->state == PROC_PENDING)
		examine_mapped(c, p);
	else
		c->config.ops->ask_again(c->config.ctx, m->tgid);
}

void collect_look_again(struct collect *c)
{
	told_forget(c);
	for (size_t i = 0; i < c->processes->live.n; i++) {
		struct process *p = process_live(c, i);

		if (!process_has_ended(p) && p->state != PROC_PYTHON &&
		    p->state != PROC_UNSUPPORTED)
			c->config.ops->ask_again(c->config.ctx, p->key.tgid);
		space_made_executable(c, p, 0, UINT64_MAX, 0);
		if (made_wanted(p))
			space_wanted(p, SPACE_GROWN);
	}
}

void collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm)
{
	struct process *p = process_newest(c, tgid);

	if (tid == tgid)
		on_command(c, tgid, comm);
	if (!p)
		return;
	if (tid == tgid) {
		thread_copy_comm(p->comm, comm);
		p->facts_due_ns = 0;
	}
	c->news = true;
	thread_comm(c, p, tid, comm);
}

void collect_named(struct collect *c, uint32_t tgid, const char *comm)
{
	on_command(c, tgid, comm);
}

uint32_t collect_child_of(int32_t call, const uint64_t *arg, uint8_t flags)
{
	return on_child(call, arg, flags);
}

void collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	if (tid == tgid)
		told_ended(c, tgid);
	thread_exited(c, tgid, tid, time_ns);
	process_exited(c, tgid, tid, time_ns);
}

void collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns)
{
	told_execed(c, tgid, time_ns);
	process_execed(c, tgid, time_ns);
}
