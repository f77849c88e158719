/* SPDX-License-Identifier: BSD-2-Clause */
/* The budgets for upkeep: work that krait does again and again for a process; see upkeep.h. */
#include "collect/budget/upkeep.h"

#include <stdio.h>

#include "base/system/clock.h"
#include "collect/process/process.h"
#include "proc/read/reader.h"

/*
 * Limits of CPU time. A program that loads hundreds of libraries takes 0.3 s. As long as a process
 * keeps within of_small, its upkeep isn't put off, however much time other processes took.
 */
static const struct budget_limit of_small = {100 * NSEC_PER_MSEC, 200};
static const struct budget_limit of_process = {300 * NSEC_PER_MSEC, 100};
static const struct budget_limit of_all = {2 * NSEC_PER_SEC, 25};

uint64_t upkeep_due_ns(const struct collect *c, const struct process *p)
{
	uint64_t most = MAX(budget_due_ns(&p->upkeep, of_process),
			    budget_due_ns(&c->processes->upkeep, of_all));

	return MIN(budget_due_ns(&p->upkeep, of_small), most);
}

bool upkeep_may(struct collect *c, struct process *p, uint64_t now_ns)
{
	if (now_ns >= upkeep_due_ns(c, p))
		return true;
	if (p->upkeep_waits)
		return false;
	p->upkeep_waits = true;
	c->stats.put_off.times++;
	if (!p->upkeep_named && !c->stats.put_off.processes++)
		snprintf(c->stats.put_off.first, sizeof(c->stats.put_off.first), "%u (%s)",
			 p->key.tgid, p->name ? p->name : p->comm);
	p->upkeep_named = true;
	return false;
}

/*
 * After the thread's CPU time was read, all time that passes counts as CPU time for this long.
 * Reading the CPU time takes the kernel 0.5 to 1 us, and a new process would need eight readings.
 */
#define CPU_GUESS_NS (NSEC_PER_MSEC / 10)

/*
 * Returns the CPU time of this thread. If the thread had to wait since the last reading, the result
 * is up to CPU_GUESS_NS too large.
 */
static uint64_t thread_cpu_ns(void)
{
	static _Thread_local struct {
		uint64_t read_ns, at_ns; /* the CPU time that was read last, and when it was read */
		uint64_t told_ns;	 /* the largest time that thread_cpu_ns() has returned */
	} last;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), passed_ns = now - last.at_ns;

	if (!last.at_ns || passed_ns > CPU_GUESS_NS) {
		last.read_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		last.at_ns = now;
		passed_ns = 0;
	}
	last.told_ns = MAX(last.told_ns, last.read_ns + passed_ns);
	return last.told_ns;
}

uint64_t upkeep_begin(void)
{
	return thread_cpu_ns() + reader_cpu_ns();
}

uint64_t upkeep_end(struct collect *c, struct process *p, uint64_t began_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), took_ns = upkeep_begin() - began_ns;

	budget_spend(&p->upkeep, now_ns, took_ns);
	budget_spend(&c->processes->upkeep, now_ns, took_ns);
	p->upkeep_waits = false;
	return took_ns;
}
