/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads beside the main one, for work that would keep the main thread from emptying the kernel's
 * ring buffers in time: one thread for urgent jobs, one for all other jobs. Each thread runs its
 * jobs one after another. Whatever a job may touch belongs to the job's thread until the job is
 * taken back. A thread starts with its first job. It keeps the rights that krait has at that
 * moment, and no signal is delivered to it. If a job takes longer than a second, maybe for ever,
 * another thread goes on with the waiting jobs, except those that may hang for the same reason
 * (worker_job.group). Jobs have no capabilities in effect except those that they raise (caps.h).
 */
#ifndef BASE_WORK_WORKER_H
#define BASE_WORK_WORKER_H

#include "base/util.h"

struct worker;

/* What the worker knows of a job. It is the first member of the job's own struct. */
struct worker_job {
	void (*run)(struct worker_job *job);
	struct worker_job *next; /* the worker's link to the next job of its queue */
	/*
	 * number of a group of jobs that may all hang for the same reason, as those on files of one
	 * file system; 0: the job is in no group
	 */
	uint64_t group;
};

/* Makes a worker, which has no thread yet. 0 or -errno + message. */
_must_use_ int worker_open(struct worker **ret);

/* Waits for the jobs that run, then frees the worker. All other jobs must have been taken back. */
void worker_close(struct worker *w); /* @w may be NULL */

/*
 * Frees the worker as worker_close() does, but without waiting. True: the worker is freed. False:
 * jobs still run, in a loop or in a system call that doesn't return. Then the worker, these jobs
 * and all that they read stay in memory, and the process ends by _exit(). From now on
 * worker_enter() returns false.
 */
_must_use_ bool worker_abandon(struct worker *w);

/* Returns a descriptor that is readable when a job is done. */
int worker_fd(const struct worker *w);

/* Queues @job. If no other thread can be started, runs @job at once in the calling thread. */
void worker_give(struct worker *w, struct worker_job *job, bool urgent);

/* Returns a job that is done, which is the caller's again; NULL: there is none. */
struct worker_job *worker_take(struct worker *w);

/* Takes back a job that hasn't begun; NULL: no such job is left. */
struct worker_job *worker_drop(struct worker *w);

/* How many jobs have been done so far. */
unsigned worker_count(struct worker *w);

/* Waits until all jobs are done, for @ms at most; -1: without a limit. True: all are done. */
bool worker_wait(struct worker *w, int ms);

/*
 * Returns the running job; of several, the one that has run longest. NULL: no job runs. Sets *@step
 * to what the job says that it does, or to NULL if it says nothing. The job still belongs to its
 * thread, but the pointer stays valid until the caller takes jobs back.
 */
struct worker_job *worker_running(struct worker *w, const char **step);

/*
 * Says that nobody waits any more for the worker's jobs, neither for those that run nor for those
 * to come: from now on worker_cancelled() is true in them.
 */
void worker_cancel(struct worker *w);

/*
 * The functions below are for the code that jobs run. Called by other code, they do nothing, and
 * worker_cancelled() is false.
 */

/*
 * True: nobody wants the job's result any more. A loop that may run for long asks now and then, and
 * gives up.
 */
bool worker_cancelled(void);

/* Tells whether the calling thread runs a job of a worker. */
bool worker_is_job(void);

/*
 * Says what the job does now, for code that waits for the job: static text, such as "unwind
 * tables".
 */
void worker_step(const char *words);

/*
 * For a job that uses data which the worker's owner frees after worker_abandon(). The job calls
 * worker_enter() before that use and worker_leave() after it, and worker_abandon() waits for
 * worker_leave(). False: the data may have been freed already; don't call worker_leave().
 */
_must_use_ bool worker_enter(void);
void worker_leave(void);

#endif
