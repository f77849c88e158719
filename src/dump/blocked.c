/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the kernel program's records of blocked threads (bpf/events/tasks.bpf.c): why each thread
 * is blocked, and since when.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "dump/internal.h"

static void take(void *ctx, const struct rec_task *rec)
{
	struct dump *d = ctx;

	/*
	 * The record describes krait's own thread, which has just slept and come back onto its CPU.
	 * So the record's off_ns is the present time of the scheduler's clock.
	 */
	if ((pid_t)rec->tid == (pid_t)syscall(SYS_gettid) && rec->off_ns && !d->clock_offset_ns)
		d->clock_offset_ns = d->read_ns - rec->off_ns;
	if (d->config.is_own && !d->config.is_own(rec->uid, rec->gid))
		/*
		 * may_see() allowed the thread's process, but since then the process may have
		 * exec'ed and run as another user
		 */
		return;
	if (!vec_push(&d->blocked, *rec))
		(void)!map_put(&d->by_tid, rec->tid, d->blocked.n);
}

void dump_read_blocked(struct dump *d)
{
	if (!d->tasks)
		return;
	d->blocked.n = 0;
	map_clear(&d->by_tid);
	if (!d->clock_offset_ns)
		nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
	d->read_ns = clock_ns(CLOCK_MONOTONIC);
	if (tasks_read(d->tasks, take, d))
		log_debug("%s", err_msg());
}

const struct rec_task *dump_blocked(const struct dump *d, pid_t tid, const struct task_look *look)
{
	const uint64_t *i = map_get(&d->by_tid, (uint64_t)tid);
	const struct rec_task *rec = i ? &d->blocked.v[*i - 1] : NULL;

	return rec && rec->switches == look->switches && !rec->on_cpu ? rec : NULL;
}

uint64_t dump_since_ns(const struct dump *d, uint64_t sched_ns)
{
	int64_t ns = (int64_t)(clock_ns(CLOCK_MONOTONIC) - (sched_ns + d->clock_offset_ns));

	/*
	 * The clock of another CPU may be slightly ahead of this CPU's clock, so @sched_ns may seem
	 * to be in the future. A negative time counts as 1 ns.
	 */
	return sched_ns && d->clock_offset_ns ? (uint64_t)MAX(ns, (int64_t)1) : 0;
}

void dump_blocked_call(const struct rec_task *rec, struct task_place *ret)
{
#if defined(__x86_64__)
	/*
	 * by number of the system call's argument: the argument's index in .regs (registers di si
	 * dx r10 r8 r9)
	 */
	static const uint8_t at[] = {14, 13, 12, 7, 9, 8};

	ret->call = rec->has_regs && (long)rec->regs[15] >= 0 ? (long)rec->regs[15] : TASK_NO_CALL;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		ret->arg[i] = rec->regs[at[i]];
	ret->sp = rec->regs[19];
	ret->pc = rec->regs[16];
#endif
}
