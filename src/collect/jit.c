/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that a process made at run time, named by its perf map or jitdump. Both are opened while it runs
 * and stay open: what was named last is read when it has ended.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/internal.h"
#include "symbol/perf_map.h"

#define OPEN_APART_NS	 NSEC_PER_SEC
#define REFRESH_APART_NS (50 * NSEC_PER_MSEC) /* what was appended costs time, see perf_map.h */

void jit_open(struct collect *c, struct process *p, const struct proc *proc)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), *exec_ns = map_get(&c->execs, p->key.tgid);
	int r;

	if (p->jit || p->jit_refused || (p->jit_ns && now - p->jit_ns < OPEN_APART_NS))
		return;
	p->jit_ns = now;
	r = perf_map_open(proc, exec_ns ? *exec_ns : 0, &p->jit);
	if (r && r != -ENOENT) {
		log_info("process %u: no names of code made at run time: %s", p->key.tgid,
			 err_msg());
		p->jit_refused = true;
	}
	if (r)
		p->jit = NULL;
}

/* It may have made the file since. */
static void open_late(struct collect *c, struct process *p)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;

	if (!p->ended && !p->jit_refused && !proc_open(&proc, p->key.tgid))
		jit_open(c, p, &proc);
}

/* What it appended since, and what is said of the code at @pc then. */
static const char *look_again(struct process *p, uint64_t pc, uint64_t *start)
{
	p->jit_ns = clock_ns(CLOCK_MONOTONIC);
	if (perf_map_refresh(p->jit))
		log_debug("process %u: %s", p->key.tgid, err_msg());
	return perf_map_find(p->jit, pc, start);
}

const char *jit_name(struct collect *c, struct process *p, uint64_t pc, uint64_t *start)
{
	const char *name;

	if (!p->jit)
		open_late(c, p);
	if (!p->jit)
		return NULL;
	name = clock_ns(CLOCK_MONOTONIC) - p->jit_ns < REFRESH_APART_NS
		       ? perf_map_find(p->jit, pc, start)
		       : NULL;
	return name ? name : look_again(p, pc, start); /* a stack is named once */
}

uint32_t jit_location(struct collect *c, const char *name, const char *symbol, uint64_t start)
{
	struct profile_mapping mapping = {.name = profile_string(c->profile, "[jit]"),
					  .kind = KIND_JIT};
	struct profile_function fn = {.name = profile_string(c->profile, name),
				      .system_name =
					      symbol ? profile_string(c->profile, symbol) : 0};

	return profile_location(
		c->profile,
		&(struct profile_location){.mapping = profile_mapping(c->profile, &mapping),
					   .function = profile_function(c->profile, &fn),
					   .address = start});
}

void jit_close(struct process *p)
{
	perf_map_free(p->jit);
	p->jit = NULL;
}
