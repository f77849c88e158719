/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads beside the main one, for work that would keep it from draining the rings: one for what is
 * urgent, one for the rest. Each runs its jobs one after another; what a job may touch belongs to the
 * thread until the job is taken back. A thread is made with its first job: it has the rights that krait
 * has then, and no signal is delivered to it.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include "base/util.h"

struct worker;

/* The first member of a job. */
struct worker_job {
	void (*run)(struct worker_job *job);
	struct worker_job *next; /* the worker's */
};

/* 0 or -errno + message. */
_must_use_ int worker_open(struct worker **ret);

/* Frees it when the jobs that run have ended. All others must have been taken back. */
void worker_close(struct worker *w); /* NULL is fine */

/* Readable when a job has been done. */
int worker_fd(const struct worker *w);

/* Runs it at once, here, if there can't be a thread. */
void worker_give(struct worker *w, struct worker_job *job, bool urgent);

/* One that has been done; NULL = none. */
struct worker_job *worker_take(struct worker *w);

/* One that hasn't been begun, back again; NULL = none. */
struct worker_job *worker_drop(struct worker *w);

/* Until all are done. */
void worker_wait(struct worker *w);

#endif
