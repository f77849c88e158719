/* SPDX-License-Identifier: BSD-2-Clause */
/* Two threads and their queues; see worker.h. */
#include "base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

struct queue {
	struct worker_job *first, **end;
};

/* A thread and what it has to do. */
struct lane {
	struct worker *worker;
	pthread_t thread;
	bool started, busy;
	struct queue given;
};

struct worker {
	struct lane lane[2]; /* urgent jobs, others */
	bool stop;
	int fd;
	pthread_mutex_t lock; /* of all but .fd */
	pthread_cond_t given, idle;
	struct queue done;
};

static void add(struct queue *q, struct worker_job *job)
{
	job->next = NULL;
	*q->end = job;
	q->end = &job->next;
}

static struct worker_job *pop(struct queue *q)
{
	struct worker_job *job = q->first;

	if (!job)
		return NULL;
	q->first = job->next;
	if (!q->first)
		q->end = &q->first;
	return job;
}

int worker_open(struct worker **ret)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return err_sys(-ENOMEM, "worker");
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0) {
		free(w);
		return err_sys(-errno, "eventfd");
	}
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->given, NULL);
	pthread_cond_init(&w->idle, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(w->lane); i++) {
		w->lane[i].worker = w;
		w->lane[i].given.end = &w->lane[i].given.first;
	}
	w->done.end = &w->done.first;
	*ret = w;
	return 0;
}

void worker_close(struct worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->given);
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < ARRAY_SIZE(w->lane); i++)
		if (w->lane[i].started)
			pthread_join(w->lane[i].thread, NULL);
	pthread_cond_destroy(&w->given);
	pthread_cond_destroy(&w->idle);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	free(w);
}

int worker_fd(const struct worker *w)
{
	return w->fd;
}

static void tell(const struct worker *w)
{
	const uint64_t one = 1;

	(void)!write(w->fd, &one, sizeof(one));
}

/* Runs @job; the lock is held before and after. */
static void run(struct lane *l, struct worker_job *job)
{
	struct worker *w = l->worker;

	l->busy = true;
	pthread_mutex_unlock(&w->lock);
	job->run(job);
	pthread_mutex_lock(&w->lock);
	l->busy = false;
	add(&w->done, job);
	tell(w);
}

static void *work(void *arg)
{
	struct lane *l = arg;
	struct worker *w = l->worker;

	/* The main thread's is raised, so that it drains in time: what is urgent has one too (Linux: by thread). */
	if (l != &w->lane[0])
		(void)setpriority(PRIO_PROCESS, 0, 0);
	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		struct worker_job *job = pop(&l->given);

		if (job) {
			run(l, job);
			continue;
		}
		pthread_cond_broadcast(&w->idle);
		pthread_cond_wait(&w->given, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static bool start(struct lane *l)
{
	l->started = l->started || !thread_start(&l->thread, work, l);
	return l->started;
}

void worker_give(struct worker *w, struct worker_job *job, bool urgent)
{
	struct lane *l = &w->lane[!urgent];

	pthread_mutex_lock(&w->lock);
	if (start(l)) {
		add(&l->given, job);
		pthread_cond_broadcast(&w->given);
	} else {
		run(l, job);
	}
	pthread_mutex_unlock(&w->lock);
}

struct worker_job *worker_take(struct worker *w)
{
	struct worker_job *job;
	uint64_t n;

	pthread_mutex_lock(&w->lock);
	job = pop(&w->done);
	if (!job)
		(void)!read(w->fd, &n, sizeof(n));
	pthread_mutex_unlock(&w->lock);
	return job;
}

struct worker_job *worker_drop(struct worker *w)
{
	struct worker_job *job;

	pthread_mutex_lock(&w->lock);
	job = pop(&w->lane[0].given);
	job = job ? job : pop(&w->lane[1].given);
	pthread_mutex_unlock(&w->lock);
	return job;
}

static bool is_idle(const struct worker *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(w->lane); i++)
		if (w->lane[i].busy || w->lane[i].given.first)
			return false;
	return true;
}

void worker_wait(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	while (!is_idle(w))
		pthread_cond_wait(&w->idle, &w->lock);
	pthread_mutex_unlock(&w->lock);
}
