/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs jobs in two lanes, one for urgent jobs and one for all others. Each lane has its own queue
 * and threads; see worker.h.
 */
#include "base/work/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/system/caps.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/work/thread.h"

#define LANE_THREADS 16
/* a job that takes longer is called stuck; jobs of other groups no longer wait for it */
#define STUCK_NS NSEC_PER_SEC

struct queue {
	struct worker_job *first, **end;
};

/* One thread of a lane (a queue of jobs and its threads). */
struct slot {
	struct lane *lane;
	pthread_t thread;
	struct worker_job *runs; /* the job that this thread runs; NULL: none */
	uint64_t since_ns;	 /* when the job .runs began, CLOCK_MONOTONIC */
	_Atomic(const char *) step;
};

/*
 * A queue of jobs and the threads that run them: one thread at first, and another one whenever all
 * threads are stuck.
 */
struct lane {
	struct worker *worker;
	struct slot slots[LANE_THREADS];
	size_t started; /* how many of .slots have a thread; 1 as long as no job is stuck */
	struct queue given;
};

struct worker {
	struct lane lane[2]; /* lane[0] is for urgent jobs, lane[1] for all others */
	bool stop;
	atomic_bool cancelled;
	int fd;
	pthread_mutex_t lock; /* protects all but .fd, .cancelled, .abandoned and .door */
	pthread_cond_t given, idle;
	/* protects .abandoned; held from worker_enter() to worker_leave() */
	pthread_mutex_t door;
	bool abandoned;
	struct queue done;
	bool told;	/* .fd is readable, because a job is done */
	unsigned count; /* how many jobs were ever done */
};

/* The element of .slots that belongs to the calling thread; NULL: the thread runs no job. */
static _Thread_local struct slot *own_slot;

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

/* Makes waits with a time limit use CLOCK_MONOTONIC, which nobody can set. */
static void idle_init(pthread_cond_t *idle)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(idle, &attr);
	pthread_condattr_destroy(&attr);
}

static bool is_stuck(const struct slot *s, uint64_t now)
{
	return s->runs && now - s->since_ns >= STUCK_NS;
}

/* Tells whether a job of @job's group is stuck already, so that @job would hang too. */
static bool would_hang(const struct lane *l, const struct worker_job *job, uint64_t now)
{
	for (size_t i = 0; job->group && i < l->started; i++)
		if (is_stuck(&l->slots[i], now) && l->slots[i].runs->group == job->group)
			return true;
	return false;
}

/* Takes the first job of the lane that can run now; NULL: none can. */
static struct worker_job *next_job(struct lane *l)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct worker_job **at = &l->given.first, *job;

	while (*at && would_hang(l, *at, now))
		at = &(*at)->next;
	job = *at;
	if (!job)
		return NULL;
	*at = job->next;
	if (!*at)
		l->given.end = at;
	return job;
}

static void lane_init(struct lane *l, struct worker *w)
{
	l->worker = w;
	l->given.end = &l->given.first;
	for (size_t i = 0; i < LANE_THREADS; i++)
		l->slots[i].lane = l;
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
	idle_init(&w->idle);
	pthread_mutex_init(&w->door, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(w->lane); i++)
		lane_init(&w->lane[i], w);
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
		for (size_t k = 0; k < w->lane[i].started; k++)
			pthread_join(w->lane[i].slots[k].thread, NULL);
	pthread_cond_destroy(&w->given);
	pthread_cond_destroy(&w->idle);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->door);
	close(w->fd);
	free(w);
}

static bool is_running(const struct lane *l)
{
	for (size_t i = 0; i < LANE_THREADS; i++)
		if (l->slots[i].runs)
			return true;
	return false;
}

/* Makes sure that no further job is started. True: no job is running now. */
static bool stop(struct worker *w)
{
	bool running;

	pthread_mutex_lock(&w->lock);
	w->stop = true;
	running = is_running(&w->lane[0]) || is_running(&w->lane[1]);
	pthread_mutex_unlock(&w->lock);
	return !running;
}

bool worker_abandon(struct worker *w)
{
	if (stop(w)) {
		worker_close(w);
		return true;
	}
	worker_cancel(w);
	pthread_mutex_lock(&w->door);
	w->abandoned = true;
	pthread_mutex_unlock(&w->door);
	return false;
}

int worker_fd(const struct worker *w)
{
	return w->fd;
}

static void tell(struct worker *w)
{
	const uint64_t one = 1;

	w->told = write(w->fd, &one, sizeof(one)) > 0 || w->told;
}

/* Runs @job. The caller holds the worker's lock, which is released while the job runs. */
static void run(struct slot *s, struct worker_job *job)
{
	struct worker *w = s->lane->worker;

	s->runs = job;
	s->since_ns = clock_ns(CLOCK_MONOTONIC);
	s->step = NULL;
	pthread_mutex_unlock(&w->lock);
	own_slot = s;
	err_memory_begin();
	job->run(job);
	own_slot = NULL;
	pthread_mutex_lock(&w->lock);
	s->runs = NULL;
	add(&w->done, job);
	w->count++;
	tell(w);
}

static void *work(void *arg)
{
	struct slot *s = arg;
	struct lane *l = s->lane;
	struct worker *w = l->worker;

	/*
	 * The main thread's priority is raised, so that it empties the kernel's ring buffers in
	 * time. Linux keeps priorities per thread, and a new thread inherits the raised priority.
	 * That is right for urgent jobs, but too much for other jobs.
	 */
	if (l != &w->lane[0])
		(void)setpriority(PRIO_PROCESS, 0, 0);
	caps_rest();
	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		struct worker_job *job = next_job(l);

		if (job) {
			/*
			 * Takes the capabilities out of effect again. seteuid() in another thread
			 * changes all threads, so it may have put them into effect.
			 */
			caps_rest();
			run(s, job);
			continue;
		}
		pthread_cond_broadcast(&w->idle);
		pthread_cond_wait(&w->given, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/*
 * Starts the lane's first thread, or another one if all of its threads are stuck while jobs wait.
 * False: the lane has no thread.
 */
static bool start(struct lane *l)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct slot *s = &l->slots[l->started];

	if (l->started == LANE_THREADS || (l->started && !l->given.first))
		return l->started;
	for (size_t i = 0; i < l->started; i++)
		if (!is_stuck(&l->slots[i], now))
			return true;
	l->started += !thread_start(&s->thread, work, s);
	return l->started;
}

static void start_more(struct worker *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(w->lane); i++)
		if (w->lane[i].started)
			(void)start(&w->lane[i]);
}

void worker_give(struct worker *w, struct worker_job *job, bool urgent)
{
	struct lane *l = &w->lane[!urgent];

	pthread_mutex_lock(&w->lock);
	if (start(l)) {
		add(&l->given, job);
		pthread_cond_broadcast(&w->given);
	} else {
		run(&l->slots[0], job);
	}
	pthread_mutex_unlock(&w->lock);
}

struct worker_job *worker_take(struct worker *w)
{
	struct worker_job *job;
	uint64_t n;

	pthread_mutex_lock(&w->lock);
	start_more(w);
	job = pop(&w->done);
	if (!job && w->told)
		w->told = read(w->fd, &n, sizeof(n)) < 0;
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
		if (w->lane[i].given.first || is_running(&w->lane[i]))
			return false;
	return true;
}

unsigned worker_count(struct worker *w)
{
	unsigned count;

	pthread_mutex_lock(&w->lock);
	count = w->count;
	pthread_mutex_unlock(&w->lock);
	return count;
}

bool worker_wait(struct worker *w, int ms)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)MAX(ms, 0) * NSEC_PER_MSEC;
	const struct timespec end = {(time_t)(end_ns / NSEC_PER_SEC),
				     (long)(end_ns % NSEC_PER_SEC)};
	bool idle;
	int r = 0;

	pthread_mutex_lock(&w->lock);
	start_more(w);
	while (!(idle = is_idle(w)) && !r)
		r = ms < 0 ? pthread_cond_wait(&w->idle, &w->lock)
			   : pthread_cond_timedwait(&w->idle, &w->lock, &end);
	pthread_mutex_unlock(&w->lock);
	return idle;
}

struct worker_job *worker_running(struct worker *w, const char **step)
{
	struct worker_job *job = NULL;
	uint64_t since_ns = UINT64_MAX;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < ARRAY_SIZE(w->lane) * LANE_THREADS; i++) {
		const struct slot *s = &w->lane[i / LANE_THREADS].slots[i % LANE_THREADS];

		if (!s->runs || s->since_ns >= since_ns)
			continue;
		since_ns = s->since_ns;
		job = s->runs;
		*step = s->step;
	}
	pthread_mutex_unlock(&w->lock);
	return job;
}

void worker_cancel(struct worker *w)
{
	w->cancelled = true;
}

bool worker_cancelled(void)
{
	return own_slot && own_slot->lane->worker->cancelled;
}

bool worker_is_job(void)
{
	return own_slot != NULL;
}

void worker_step(const char *words)
{
	if (own_slot)
		own_slot->step = words;
}

bool worker_enter(void)
{
	struct worker *w = own_slot ? own_slot->lane->worker : NULL;

	if (!w)
		return true;
	pthread_mutex_lock(&w->door);
	if (!w->abandoned)
		return true;
	pthread_mutex_unlock(&w->door);
	return false;
}

void worker_leave(void)
{
	if (own_slot)
		pthread_mutex_unlock(&own_slot->lane->worker->door);
}
