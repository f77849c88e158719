/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs children that keep files open; see keeper.h. */
#include "proc/files/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/system/far.h"
#include "base/work/worker.h"
#include "proc/files/file_tasks.h"
#include "proc/files/files.h"
#include "proc/read/owner.h"
#include "proc/files/waited.h"

#define KEEPERS 64
/* the most keepers (children that keep files open) for processes of one user other than root */
#define KEEPERS_USER 32
#define AT_ONCE	     ((size_t)128 << 10)
#define APART_MS     50

struct keeper {
	pthread_mutex_t lock; /* protects .child of this keeper */
	struct reader_child *child;
	uint64_t dev;
	uid_t uid;
	struct waited waited;
};

/*
 * All keepers: each has a child of krait that keeps files open. Only the main thread adds keepers.
 */
static struct {
	struct keeper keeper[KEEPERS];
	size_t n;
	struct waited waited;
} all;

/*
 * Waits until no other thread uses the keeper's child, but no longer than the child may take for an
 * answer. A job waits longer than the main thread. False: the child is still in use.
 */
static bool lock(struct keeper *k)
{
	uint64_t ns = clock_ns(CLOCK_MONOTONIC) +
		      (worker_is_job() ? READER_JOB_MS : READER_MS) * NSEC_PER_MSEC;
	const struct timespec until = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

	return !pthread_mutex_clocklock(&k->lock, CLOCK_MONOTONIC, &until);
}

static ssize_t ask_once(struct keeper *k, struct reader_request *q)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	bool job = worker_is_job();
	uint64_t took;
	ssize_t got = -ETIMEDOUT;

	if (!job && (!waited_is_left(&k->waited, began, WAITED_ONE) ||
		     !waited_is_left(&all.waited, began, WAITED_ALL)))
		return -ETIMEDOUT;
	if (lock(k)) {
		got = k->child ? reader_child_ask(k->child, q) : -ETIMEDOUT;
		pthread_mutex_unlock(&k->lock);
	}
	took = got == -ETIMEDOUT ? clock_ns(CLOCK_MONOTONIC) - began : q->took_ns;
	if (!job) {
		waited_add(&k->waited, began, took);
		waited_add(&all.waited, began, took);
	}
	return got;
}

/*
 * Sends a request to a keeper's child and waits for the answer. A job waits as long as anybody
 * waits for the job.
 */
static ssize_t ask(struct keeper *k, struct reader_request *q)
{
	ssize_t got = ask_once(k, q);

	while (got == -ETIMEDOUT && worker_is_job() && !worker_cancelled()) {
		usleep(APART_MS * 1000);
		got = ask_once(k, q);
	}
	return got;
}

/*
 * Takes apart the number of a file that only a child of krait has open (base/system/far.h). Returns
 * the keeper of that child; NULL: there is no such keeper. *@serial: the child's number for the
 * file.
 */
static struct keeper *keeper_of(uint64_t number, uint32_t *serial)
{
	*serial = (uint32_t)number;
	return number >> 32 < all.n ? &all.keeper[number >> 32] : NULL;
}

static ssize_t read_far(uint64_t number, void *bytes, size_t n, uint64_t offset)
{
	struct file_question q = {};
	struct keeper *k = keeper_of(number, &q.serial);
	size_t done = 0;

	if (!k)
		return -EBADF;
	while (done < n) {
		char block[sizeof(q)];
		size_t want = MIN(n - done, AT_ONCE);
		/*
		 * The request is written into the memory where the child's answer will come: the
		 * caller's buffer, or @block if that buffer is too small.
		 */
		void *to = want < sizeof(q) ? block : (char *)bytes + done;
		struct reader_request r = {.pid = -1,
					   .task = file_task_read,
					   .bytes = to,
					   .n = sizeof(q),
					   .most = MAX(want, sizeof(q)),
					   .give = -1};
		ssize_t got;

		q.offset = offset + done;
		q.n = want;
		memcpy(to, &q, sizeof(q));
		got = ask(k, &r);
		if (got < 0)
			return done ? (ssize_t)done : got;
		if (to == block)
			memcpy((char *)bytes + done, block, MIN((size_t)got, want));
		done += MIN((size_t)got, want);
		if ((size_t)got < want)
			break;
	}
	return (ssize_t)done;
}

static int stat_far(uint64_t number, struct stat *ret)
{
	union {
		struct file_question q;
		struct stat st;
	} u = {};
	struct keeper *k = keeper_of(number, &u.q.serial);
	struct reader_request r = {.pid = -1,
				   .task = file_task_stat,
				   .bytes = &u,
				   .n = sizeof(u.q),
				   .most = sizeof(u),
				   .give = -1};
	ssize_t got = k ? ask(k, &r) : -EBADF;

	if (got < 0)
		return (int)got;
	*ret = u.st;
	return 0;
}

static const struct far_ops far_ops = {read_far, stat_far};

/*
 * Returns the keeper of file system @dev, whose child keeps files of this file system open; starts
 * one if there is none yet. NULL: there are too many keepers, or no child can be started.
 */
static struct keeper *keeper_for(uint64_t dev, pid_t pid, size_t *number)
{
	uid_t uid = proc_user_of(pid);
	size_t of_user = 0;
	struct keeper *k;

	for (*number = 0; *number < all.n; ++*number) {
		k = &all.keeper[*number];
		if (k->dev == dev)
			return k;
		of_user += uid && k->uid == uid;
	}
	if (all.n == KEEPERS || of_user >= KEEPERS_USER)
		return NULL;
	k = &all.keeper[all.n];
	*k = (struct keeper){.child = reader_child_new(), .dev = dev, .uid = uid};
	pthread_mutex_init(&k->lock, NULL);
	if (!k->child)
		return NULL;
	all.n++;
	return k;
}

int keeper_open(int path_fd, uint64_t dev, pid_t pid, const struct file_opener *opener)
{
	union {
		struct file_question q;
		struct file_kept file;
	} u = {};
	size_t number;
	struct keeper *k = keeper_for(dev, pid, &number);
	struct reader_request r = {.pid = -1,
				   .task = file_task_keep,
				   .bytes = &u,
				   .n = sizeof(u.q),
				   .most = sizeof(u),
				   .give = path_fd};
	ssize_t got;

	if (!k)
		return -ENFILE;
	u.q.opener = *opener;
	got = ask(k, &r);
	if (got < 0)
		return (int)got;
	return far_new(&far_ops, (uint64_t)number << 32 | u.file.serial,
		       (uint64_t)u.file.st.st_size);
}

bool keeper_has(uint64_t dev)
{
	for (size_t i = 0; i < all.n; i++)
		if (all.keeper[i].dev == dev)
			return true;
	return false;
}

void keeper_close(void)
{
	for (size_t i = 0; i < all.n; i++)
		if (lock(&all.keeper[i])) {
			reader_child_free(all.keeper[i].child);
			all.keeper[i].child = NULL;
			pthread_mutex_unlock(&all.keeper[i].lock);
		}
}
