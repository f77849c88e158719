/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets child processes read; see reader.h. This file manages all children: which of them are idle,
 * which hang, and which processes aren't read because a child hangs. reader_child.c has what a
 * child does.
 */
#include "proc/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/self.h"
#include "base/work/worker.h"
#include "proc/read/owner.h"
#include "proc/read/reader_child.h"

#define IDLE_MOST 4
#define END_TRIES 20
#define END_MS	  5
/* how many children may hang at once; if this many hang, krait reads no memory any more */
#define STUCK_MOST 32
#define STUCK_USER 4 /* how many children may hang for processes of one user other than root */

/* A child that hangs while it reads the memory of a process. */
struct stuck {
	pid_t child, pid;
	uid_t uid;
	struct shared *shared; /* memory that the child may still write to */
};

/*
 * What is known of all children that read. There is only one such struct, because all parts of the
 * program read memory.
 */
static struct readers {
	pthread_mutex_t lock;
	struct child idle[IDLE_MOST];
	size_t n_idle;
	struct stuck stuck[STUCK_MOST];
	size_t n_stuck;
	struct reader_stats stats;
	uint64_t cpu_ns; /* CPU time that all children took for their answers */
	bool looks_first;
	pid_t pagemap_pid; /* the process whose pagemap is open; 0: none is */
	int pagemap;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Stops keeping track of children that hung but have answered by now. */
static void reap(struct readers *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_stuck; i++) {
		struct stuck *s = &r->stuck[i];

		if (waitpid(s->child, NULL, WNOHANG))
			munmap(s->shared, sizeof(*s->shared));
		else
			r->stuck[kept++] = *s;
	}
	r->n_stuck = kept;
}

static void note(struct readers *r, pid_t pid)
{
	char path[32];
	FILE *f;

	if (pid < 0) {
		r->stats.file_systems++;
		return;
	}
	if (r->stats.processes++)
		return;
	r->stats.first = pid;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(r->stats.comm, sizeof(r->stats.comm), f))
		r->stats.comm[strcspn(r->stats.comm, "\n")] = '\0';
	fclose(f);
}

/*
 * Stops waiting for the child. When its read ends at last, the child finds that nobody waits for
 * the answer, and exits.
 */
static void give_up(struct readers *r, const struct child *c, uid_t uid)
{
	pid_t pid = c->shared->pid;

	close(c->fd);
	pthread_mutex_lock(&r->lock);
	if (r->n_stuck < STUCK_MOST)
		r->stuck[r->n_stuck++] =
			(struct stuck){.child = c->pid,
				       .pid = pid,
				       .uid = uid == READER_OWNER ? proc_user_of(pid) : uid,
				       .shared = c->shared};
	note(r, pid);
	pthread_mutex_unlock(&r->lock);
}

/*
 * Is reading process @pid ruled out, because a read of its memory hangs already, or because too
 * many children hang?
 */
static bool is_hopeless(struct readers *r, pid_t pid, uid_t uid)
{
	size_t of_user = 0;

	if (!r->n_stuck)
		return false;
	reap(r);
	if (r->n_stuck && uid == READER_OWNER)
		uid = proc_user_of(pid);
	for (size_t i = 0; i < r->n_stuck; i++) {
		if (r->stuck[i].pid == pid)
			return true;
		of_user += uid && r->stuck[i].uid == uid;
	}
	return of_user >= STUCK_USER || r->n_stuck == STUCK_MOST;
}

/*
 * Gets a child for reading process @pid; 0 or -errno. Only the main thread may start a child,
 * because it alone has the rights.
 */
static int take(struct readers *r, pid_t pid, uid_t uid, struct child *ret)
{
	int e = 0;

	pthread_mutex_lock(&r->lock);
	if (is_hopeless(r, pid, uid))
		e = -ETIMEDOUT;
	else if (r->n_idle)
		*ret = r->idle[--r->n_idle];
	else
		e = worker_is_job() ? -EAGAIN : child_start(ret);
	pthread_mutex_unlock(&r->lock);
	return e;
}

static void give_back(struct readers *r, const struct child *c)
{
	bool kept;

	pthread_mutex_lock(&r->lock);
	__atomic_fetch_add(&r->cpu_ns, c->shared->cpu_ns - c->counted_ns, __ATOMIC_RELAXED);
	kept = r->n_idle < IDLE_MOST;
	if (kept)
		r->idle[r->n_idle++] = (struct child){c->pid, c->fd, c->shared, c->shared->cpu_ns};
	pthread_mutex_unlock(&r->lock);
	if (!kept)
		child_bury(c);
}

/*
 * Ends the use of a child after a request, whose result was @got. The child becomes idle, unless it
 * hangs or is dead.
 */
static void let_go(struct readers *r, const struct child *c, ssize_t got, uid_t uid)
{
	if (got == -ETIMEDOUT)
		give_up(r, c, uid);
	else if (got == -EPIPE) /* somebody has killed the child */
		child_bury(c);
	else
		give_back(r, c);
}

/*
 * /proc/PID/pagemap has a 64-bit word for each page, whose highest bit says that the page is
 * resident.
 */
#define PAGEMAP_PRESENT (1ull << 63)

static int pagemap_of(struct readers *r, pid_t pid)
{
	char path[32];

	if (r->pagemap_pid == pid)
		return r->pagemap;
	if (r->pagemap_pid)
		close(r->pagemap);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	r->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	r->pagemap_pid = r->pagemap < 0 ? 0 : pid;
	return r->pagemap;
}

static bool is_present(struct readers *r, pid_t pid, const struct iovec *from, size_t n)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd = pagemap_of(r, pid);

	for (size_t i = 0; i < n; i++) {
		uint64_t first = (uintptr_t)from[i].iov_base / page, words[PIECES];
		uint64_t end = ((uintptr_t)from[i].iov_base + from[i].iov_len + page - 1) / page;
		size_t bytes = (end - first) * sizeof(words[0]);

		if (end < first || end - first > ARRAY_SIZE(words) ||
		    pread(fd, words, bytes, (off_t)(first * sizeof(words[0]))) != (ssize_t)bytes)
			return false;
		for (size_t k = 0; k < end - first; k++)
			if (!(words[k] & PAGEMAP_PRESENT))
				return false;
	}
	return true;
}

static ssize_t read_here(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n)
{
	ssize_t got = process_vm_readv(pid, to, 1, from, n, 0);

	return got < 0 ? -errno : got;
}

void reader_look_first(void)
{
	all.looks_first = true;
}

ssize_t reader_read(pid_t pid, const struct iovec *to, const struct iovec *from, size_t n)
{
	struct child child;
	ssize_t got;
	int e;

	if (child_serves()) {
		got = read_here(pid, to, from, n);
		__atomic_fetch_add(&child_serves()->reads, 1, __ATOMIC_RELAXED);
		return got;
	}
	if (pid == self_pid() || (all.looks_first && is_present(&all, pid, from, n)))
		return read_here(pid, to, from, n);
	e = take(&all, pid, READER_OWNER, &child);
	if (e)
		return e;
	got = child_read(&child, pid, to, from, n);
	let_go(&all, &child, got, READER_OWNER);
	return got;
}

ssize_t reader_ask(struct reader_request *q)
{
	struct child child;
	ssize_t got;
	int e = take(&all, q->pid, q->uid, &child);

	if (q->take)
		*q->take = -1;
	if (e)
		return e;
	got = child_ask(&child, q, &e);
	let_go(&all, &child, e, q->uid);
	return got;
}

ssize_t reader_run(pid_t pid, int give, reader_task *task, void *bytes, size_t n, size_t most)
{
	struct reader_request q = {.pid = pid,
				   .uid = READER_OWNER,
				   .task = task,
				   .bytes = bytes,
				   .n = n,
				   .most = most,
				   .give = give};

	return pid == self_pid() || all.looks_first ? child_run_here(&q) : reader_ask(&q);
}

struct reader_child {
	struct child child;
	bool waits;   /* the last question to the child has no answer yet */
	bool counted; /* .stats has counted that this child doesn't answer */
};

struct reader_child *reader_child_new(void)
{
	struct reader_child *c = calloc(1, sizeof(*c));

	if (c && child_start(&c->child)) {
		free(c);
		return NULL;
	}
	return c;
}

void reader_child_free(struct reader_child *c)
{
	if (!c)
		return;
	close(c->child.fd);
	/*
	 * Waits a moment until the child has closed its files. Unless the closing hangs, these
	 * files aren't in use any more after krait has ended.
	 */
	for (int i = 0; !c->waits && i < END_TRIES && !waitpid(c->child.pid, NULL, WNOHANG); i++)
		usleep(END_MS * 1000);
	free(c);
}

/* Has the child answered its last question, so that it is free? */
static bool is_free(struct reader_child *c)
{
	int fd = -1;

	if (c->waits && recv(c->child.fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
		c->waits = child_receive(c->child.fd, &fd) != 1;
	if (fd >= 0)
		close(fd);
	return !c->waits;
}

static void count_silent(struct reader_child *c)
{
	if (c->counted || worker_cancelled())
		return;
	c->counted = true;
	pthread_mutex_lock(&all.lock);
	all.stats.file_systems++;
	pthread_mutex_unlock(&all.lock);
}

ssize_t reader_child_ask(struct reader_child *c, struct reader_request *q)
{
	ssize_t got;
	int lost;

	if (q->take)
		*q->take = -1;
	if (!is_free(c))
		return -ETIMEDOUT;
	got = child_ask(&c->child, q, &lost);
	c->waits = lost == -ETIMEDOUT;
	if (c->waits)
		count_silent(c);
	return got;
}

void reader_prepare(void)
{
	struct child child;
	bool idle;

	pthread_mutex_lock(&all.lock);
	idle = all.n_idle;
	pthread_mutex_unlock(&all.lock);
	if (!idle && !child_start(&child))
		give_back(&all, &child);
}

struct reader_stats reader_stats(void)
{
	struct reader_stats stats;

	pthread_mutex_lock(&all.lock);
	stats = all.stats;
	pthread_mutex_unlock(&all.lock);
	return stats;
}

uint64_t reader_cpu_ns(void)
{
	/*
	 * read without the lock, because this is called whenever krait begins to work for another
	 * process
	 */
	return __atomic_load_n(&all.cpu_ns, __ATOMIC_RELAXED);
}

void reader_close(void)
{
	pthread_mutex_lock(&all.lock);
	reap(&all);
	while (all.n_idle)
		child_bury(&all.idle[--all.n_idle]);
	if (all.pagemap_pid)
		close(all.pagemap);
	all.pagemap_pid = 0;
	pthread_mutex_unlock(&all.lock);
}
