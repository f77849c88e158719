/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads beside the main one, for work that would keep it from draining the rings: one for what is
 * urgent, one for the rest. Each runs its jobs one after another; what a job may touch belongs to
 * the thread until the job is taken back. A thread is made with its first job: it has the rights
 * that krait has then, and no signal is delivered to it. A job that takes longer than a second,
 * maybe for ever, doesn't keep the others waiting: another thread goes on with them, but for those
 * of the same group. Of capabilities jobs have none in effect, but those that they raise (caps.h).
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include "base/util.h"

struct worker;

/* The first member of a job. */
struct worker_job {
	void (*run)(struct worker_job *job);
	struct worker_job *next; /* the worker's */
	uint64_t group; /* of what hangs together, as the files of a file system; 0: none */
};

/* 0 or -errno + message. */
_must_use_ int worker_open(struct worker **ret);

/* Frees it when the jobs that run have ended. All others must have been taken back. */
void worker_close(struct worker *w); /* NULL is fine */

/*
 * The same without waiting. True: it is freed. False: jobs still run, in a loop or in a system call
 * that doesn't return; then the worker, these jobs and all that they read stay in memory, and the
 * process ends by _exit(). What the jobs asked worker_enter() for is left alone from now on.
 */
_must_use_ bool worker_abandon(struct worker *w);

/* Readable when a job has been done. */
int worker_fd(const struct worker *w);

/* Runs it at once, here, if there can't be a thread. */
void worker_give(struct worker *w, struct worker_job *job, bool urgent);

/* One that has been done; NULL = none. */
struct worker_job *worker_take(struct worker *w);

/* One that hasn't been begun, back again; NULL = none. */
struct worker_job *worker_drop(struct worker *w);

/* How many have been done so far. */
unsigned worker_count(struct worker *w);

/* Until all are done, for @ms at most; -1: without a limit. True: all are done. */
bool worker_wait(struct worker *w, int ms);

/*
 * The one that runs, of several the longest; NULL: none. @step: what it says that it does, NULL if
 * it says nothing. The job belongs to the thread, but isn't taken or freed as long as the caller
 * doesn't take it.
 */
struct worker_job *worker_running(struct worker *w, const char **step);

/*
 * Nobody waits for the jobs that run and those that are to come: worker_cancelled() is true in
 * them.
 */
void worker_cancel(struct worker *w);

/*
 * For the code of jobs, wherever it is. Outside of jobs all of these do nothing, and nothing is
 * cancelled.
 */

/*
 * Does nobody want the result any more? A loop that may run for long asks now and then, and gives
 * up.
 */
bool worker_cancelled(void);

/* Is this thread running one? */
bool worker_is_job(void);

/* What the job does now, for those who wait: static text, as in "unwind tables". */
void worker_step(const char *words);

/*
 * Around the use of what the worker's owner frees after worker_abandon(), which waits for
 * worker_leave(). False: it may be gone already.
 */
_must_use_ bool worker_enter(void);
void worker_leave(void);

#endif
