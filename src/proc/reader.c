/* SPDX-License-Identifier: BSD-2-Clause */
/* Lets a child process read; see reader.h. */
#include "proc/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/self.h"
#include "base/worker.h"
#include "proc/owner.h"
#include "proc/starved.h"

#define IDLE_MOST    4
#define TASK_READS   5 /* a task that goes on reading may take as long as so many reads */
#define STARVED_WAIT 3
#define SLICES_MOST  100u
#define SLICE_MS     50
#define END_TRIES    20
#define END_MS	     5
/* the most bytes of one request; a larger read takes several requests */
#define SHARED_BYTES READER_TASK_BYTES
#define PIECES	     64
#define STUCK_MOST   32 /* how many children may hang; after that nothing new is read */
#define STUCK_USER   4	/* how many children may hang for processes of one user other than root */

/* A request to a child and its answer, in memory that both processes map. */
struct shared {
	reader_task *task; /* the task that the child runs; NULL: the request is for memory */
	unsigned reads;	   /* how many reads of the child's task have come back */
	uint64_t cpu_ns;   /* CPU time that the child has used so far */
	uint64_t took_ns;  /* how long the child took from the request to the answer */
	uint64_t spent_ns; /* of .took_ns, the time in which it ran or slept (reader_spent_ns()) */
	pid_t pid;
	size_t n;
	struct iovec from[PIECES];
	ssize_t got;
	_Alignas(uint64_t) char bytes[SHARED_BYTES];
};

/* A child that hangs while it reads the memory of a process. */
struct stuck {
	pid_t child, pid;
	uid_t uid;
	struct shared *shared; /* memory that the child may still write to */
};

/* A child that reads. */
struct child {
	pid_t pid;
	int fd; /* socket to the child: a byte sent is a request, a byte received an answer */
	struct shared *shared;
	/* how much of the child's CPU time (.shared->cpu_ns) has been counted */
	uint64_t counted_ns;
};

/* The readers of the whole program, because memory is read from everywhere. */
static struct readers {
	pthread_mutex_t lock;
	struct child idle[IDLE_MOST];
	size_t n_idle;
	struct stuck stuck[STUCK_MOST];
	size_t n_stuck;
	struct reader_stats stats;
	uint64_t cpu_ns; /* CPU time that all children took for their answers */
	bool looks_first;
	/* in a child: the request that it serves; in krait's main process NULL */
	struct shared *serves;
	int handed; /* in a child: the descriptor that goes back to the main process; -1: none */
	pid_t pagemap_pid; /* the process whose pagemap is open; 0: none is */
	int pagemap;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The descriptor that the running task was given; -1: none. */
static _Thread_local int given = -1;
static _Thread_local uint64_t spent_ns; /* what reader_spent_ns() returns */

static ssize_t read_memory(struct shared *s)
{
	struct iovec to = {s->bytes, SHARED_BYTES};
	ssize_t got = process_vm_readv(s->pid, &to, 1, s->from, s->n, 0);

	return got < 0 ? -errno : got;
}

static ssize_t answer(struct shared *s)
{
	return s->task ? s->task(s->pid, s->bytes, s->n) : read_memory(s);
}

/* Sends the byte of a request or of an answer, with descriptor @fd (-1: none). */
static ssize_t send_byte(int to, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec part = {&byte, 1};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL);
}

/* Receives a byte as recv() does. *@fd: the descriptor that came with it; -1: none did. */
static ssize_t receive_byte(int from, int *fd)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&byte, 1};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got == 1 ? CMSG_FIRSTHDR(&m) : NULL;

	*fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return got;
}

static void close_both(void)
{
	if (given >= 0)
		close(given);
	if (all.handed >= 0)
		close(all.handed);
	given = all.handed = -1;
}

int reader_given(void)
{
	return given;
}

void reader_hand_over(int fd)
{
	all.handed = fd;
}

/* How often this process has gone to sleep. */
static long n_sleeps(void)
{
	struct rusage usage = {};

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/*
 * Serves one request. A child that never slept meanwhile, but took longer than its CPU time, was
 * kept from running by others.
 */
static void serve_one(struct shared *s)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), cpu_ns = s->cpu_ns;
	long sleeps = n_sleeps();

	s->got = answer(s);
	s->took_ns = clock_ns(CLOCK_MONOTONIC) - began;
	s->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	s->spent_ns = n_sleeps() > sleeps ? s->took_ns : s->cpu_ns - cpu_ns;
}

/*
 * The child's loop. Memory of other processes comes into .shared, which krait maps too. Nothing
 * here takes a lock. Only tasks allocate memory, which glibc and musl allow in the child of a
 * program with threads.
 */
static _Noreturn void serve(int fd, struct shared *s, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	all.serves = s;
	given = all.handed = -1;
	dup2(fd, 0);
	/* closes all descriptors; before Linux 5.9 they stay open */
	(void)syscall(SYS_close_range, 1, ~0u, 0);
	while (receive_byte(0, &given) == 1) {
		serve_one(s);
		if (send_byte(0, all.handed) != 1)
			break;
		close_both();
	}
	_exit(0);
}

/* Starts a child that blocks all signals: a terminal's Ctrl-C is for krait. */
static pid_t fork_silently(void)
{
	sigset_t every, before;
	pid_t child;

	sigfillset(&every);
	sigprocmask(SIG_SETMASK, &every, &before);
	child = fork();
	if (child)
		sigprocmask(SIG_SETMASK, &before, NULL);
	return child;
}

static void unmap(struct shared *s)
{
	if (s != MAP_FAILED)
		munmap(s, sizeof(*s));
}

/*
 * recv() itself waits for an answer, slice by slice: poll() and recv() would cost one more system
 * call each time.
 */
static int connect_child(int fds[2])
{
	const struct timeval slice = {.tv_usec = SLICE_MS * 1000};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	if (!setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice)))
		return 0;
	close(fds[0]);
	close(fds[1]);
	return -EAGAIN;
}

static int start(struct child *c)
{
	pid_t parent = getpid();
	int fds[2];

	*c = (struct child){.fd = -1};
	c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->shared == MAP_FAILED || connect_child(fds)) {
		unmap(c->shared);
		return -ENOMEM;
	}
	c->pid = fork_silently();
	if (!c->pid)
		serve(fds[1], c->shared, parent);
	close(fds[1]);
	c->fd = fds[0];
	if (c->pid > 0)
		return 0;
	close(c->fd);
	unmap(c->shared);
	return -ECHILD;
}

/* Forgets children that hung and came back at last. */
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

/* Stops waiting for the child. When its read ends it finds nobody to answer, and ends. */
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

/* True: @pid isn't to be read, because its memory hangs already, or too many children hang. */
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

/* How long an answer has been waited for, counted in slices of time. */
struct patience {
	unsigned idle, slices, reads;
	unsigned charged; /* slices in which the child had a CPU */
};

/*
 * Counts a slice in which nothing came, except one in which the child had no CPU. The child may
 * also have to wait until the process has changed its list of mappings, and the process may get no
 * CPU for that. Then the wait may be STARVED_WAIT times as long, except in a job, which waits long
 * enough anyway. False: the wait was long enough.
 */
static bool is_worth_waiting(struct patience *p, const struct child *c)
{
	unsigned most = (worker_is_job() ? READER_JOB_MS : READER_MS) / SLICE_MS;
	unsigned reads = __atomic_load_n(&c->shared->reads, __ATOMIC_RELAXED);
	bool starved = reads == p->reads && proc_is_starved(c->pid, false);
	pid_t pid = c->shared->pid;

	p->slices++;
	p->charged += !starved;
	if (reads != p->reads)
		p->idle = 0;
	else if (!starved)
		p->idle++;
	p->reads = reads;
	if (p->idle >= most && pid > 0 && !worker_is_job() && proc_is_starved(pid, true))
		most *= STARVED_WAIT;
	return p->idle < most && p->slices < MAX(most * TASK_READS, SLICES_MOST) &&
	       !worker_cancelled();
}

/*
 * Waits for the child's answer. 0: it has come; -errno. Slices are counted, not time: what stops
 * krait (Ctrl-Z) stops the child too, and says nothing about the process.
 */
static int await(const struct child *c, int *fd)
{
	struct patience p = {};
	bool waits = true;
	ssize_t got;

	do {
		got = receive_byte(c->fd, fd);
		waits = got < 0 && (errno == EAGAIN || errno == EINTR);
	} while (waits && is_worth_waiting(&p, c));
	if (waits) {
		spent_ns += (uint64_t)p.charged * SLICE_MS * NSEC_PER_MSEC;
		return -ETIMEDOUT;
	}
	if (got != 1)
		return -EPIPE;
	spent_ns += c->shared->spent_ns;
	return 0;
}

/* Sends a request and waits. @give, @take: descriptor for the child, and from it; -1: none. */
static int ask(const struct child *c, int give, int *take)
{
	c->shared->reads = 0;
	*take = -1;
	return send_byte(c->fd, give) == 1 ? await(c, take) : -EPIPE;
}

/* Ends a child that is idle or dead: it ends when its socket is closed. */
static void bury(const struct child *c)
{
	close(c->fd);
	waitpid(c->pid, NULL, 0);
	unmap(c->shared);
}

/*
 * Sends one request for memory of @pid and waits for it. Returns how many bytes came, or -errno
 * (is_lost(): the child is gone).
 */
static ssize_t read_part(const struct child *c, pid_t pid, void *to, const struct iovec *from,
			 size_t n)
{
	int e, none;

	c->shared->task = NULL;
	c->shared->pid = pid;
	c->shared->n = n;
	memcpy(c->shared->from, from, n * sizeof(*from));
	e = ask(c, -1, &none);
	if (e)
		return e;
	if (c->shared->got > 0)
		memcpy(to, c->shared->bytes, MIN((size_t)c->shared->got, sizeof(c->shared->bytes)));
	return c->shared->got;
}

/*
 * Does @got say that the child doesn't answer, or is dead? process_vm_readv() doesn't have these
 * errors.
 */
static bool is_lost(ssize_t got)
{
	return got == -ETIMEDOUT || got == -EPIPE;
}

/*
 * Takes the pieces from @from on that fit in one request; @skip bytes of the first were read
 * before. Returns the number of pieces; @bytes: their size together.
 */
static size_t cut(const struct iovec *from, size_t n, size_t skip, size_t left, struct iovec *ret,
		  size_t *bytes)
{
	size_t k = 0;

	*bytes = 0;
	left = MIN(left, (size_t)SHARED_BYTES);
	for (; k < MIN(n, (size_t)PIECES) && *bytes < left; k++) {
		size_t take = MIN(from[k].iov_len - skip, left - *bytes);

		ret[k] = (struct iovec){(char *)from[k].iov_base + skip, take};
		*bytes += take;
		skip = 0;
	}
	return k;
}

static ssize_t read_by_child(const struct child *c, pid_t pid, const struct iovec *to,
			     const struct iovec *from, size_t n)
{
	size_t done = 0, skip = 0, bytes;
	struct iovec part[PIECES];

	while (n && done < to->iov_len) {
		size_t k = cut(from, n, skip, to->iov_len - done, part, &bytes);
		ssize_t got = read_part(c, pid, (char *)to->iov_base + done, part, k);

		if (got < 0)
			return is_lost(got) || !done ? got : (ssize_t)done;
		done += (size_t)got;
		if ((size_t)got < bytes)
			break;
		for (skip += bytes; n && skip >= from->iov_len; n--)
			skip -= from++->iov_len;
	}
	return (ssize_t)done;
}

/*
 * Gets a child for reading process @pid; 0 or -errno. Only the main thread has the rights to start
 * one.
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
		e = worker_is_job() ? -EAGAIN : start(ret);
	pthread_mutex_unlock(&r->lock);
	return e;
}

static void give_back(struct readers *r, const struct child *c)
{
	bool kept;

	pthread_mutex_lock(&r->lock);
	r->cpu_ns += c->shared->cpu_ns - c->counted_ns;
	kept = r->n_idle < IDLE_MOST;
	if (kept)
		r->idle[r->n_idle++] = (struct child){c->pid, c->fd, c->shared, c->shared->cpu_ns};
	pthread_mutex_unlock(&r->lock);
	if (!kept)
		bury(c);
}

/* Gets the child ready for others after a request, whose result was @got. */
static void let_go(struct readers *r, const struct child *c, ssize_t got, uid_t uid)
{
	if (got == -ETIMEDOUT)
		give_up(r, c, uid);
	else if (got == -EPIPE) /* somebody has killed the child */
		bury(c);
	else
		give_back(r, c);
}

/* /proc/PID/pagemap has a word for each page; the highest bit says that the page is resident. */
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

	if (all.serves) {
		got = read_here(pid, to, from, n);
		__atomic_fetch_add(&all.serves->reads, 1, __ATOMIC_RELAXED);
		return got;
	}
	if (pid == self_pid() || (all.looks_first && is_present(&all, pid, from, n)))
		return read_here(pid, to, from, n);
	e = take(&all, pid, READER_OWNER, &child);
	if (e)
		return e;
	got = read_by_child(&child, pid, to, from, n);
	let_go(&all, &child, got, READER_OWNER);
	return got;
}

/* Returns what the task returned; if the child doesn't answer, the -errno in @lost. */
static ssize_t ask_task(const struct child *c, struct reader_request *q, int *lost)
{
	struct shared *s = c->shared;
	ssize_t got;
	int fd;

	s->task = q->task;
	s->pid = q->pid;
	s->n = MIN(q->most, sizeof(s->bytes));
	memcpy(s->bytes, q->bytes, MIN(q->n, sizeof(s->bytes)));
	*lost = ask(c, q->give, &fd);
	got = *lost ? *lost : s->got;
	q->took_ns = *lost ? 0 : s->took_ns;
	if (got > 0)
		memcpy(q->bytes, s->bytes, MIN((size_t)got, q->most));
	if (q->take)
		*q->take = fd;
	else if (fd >= 0)
		close(fd);
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
	got = ask_task(&child, q, &e);
	let_go(&all, &child, e, q->uid);
	return got;
}

static ssize_t run_here(const struct reader_request *q)
{
	ssize_t got;

	given = q->give;
	got = q->task(q->pid, q->bytes, q->most);
	given = -1;
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

	return pid == self_pid() || all.looks_first ? run_here(&q) : reader_ask(&q);
}

struct reader_child {
	struct child child;
	bool waits;   /* the last question to the child has no answer yet */
	bool counted; /* .stats counts already that this child doesn't answer */
};

struct reader_child *reader_child_new(void)
{
	struct reader_child *c = calloc(1, sizeof(*c));

	if (c && start(&c->child)) {
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
	 * The child closes its files, which may hang too. If it doesn't hang, nobody should find
	 * the files in use after krait has ended.
	 */
	for (int i = 0; !c->waits && i < END_TRIES && !waitpid(c->child.pid, NULL, WNOHANG); i++)
		usleep(END_MS * 1000);
	free(c);
}

/* Tells whether the child has answered its last question. */
static bool is_free(struct reader_child *c)
{
	int fd = -1;

	if (c->waits && recv(c->child.fd, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
		c->waits = receive_byte(c->child.fd, &fd) != 1;
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
	got = ask_task(&c->child, q, &lost);
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
	if (!idle && !start(&child))
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
	uint64_t ns;

	pthread_mutex_lock(&all.lock);
	ns = all.cpu_ns;
	pthread_mutex_unlock(&all.lock);
	return ns;
}

uint64_t reader_spent_ns(void)
{
	return spent_ns;
}

void reader_close(void)
{
	pthread_mutex_lock(&all.lock);
	reap(&all);
	while (all.n_idle)
		bury(&all.idle[--all.n_idle]);
	if (all.pagemap_pid)
		close(all.pagemap);
	all.pagemap_pid = 0;
	pthread_mutex_unlock(&all.lock);
}
