/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a child that reads does, and how it gets its requests; see reader_child.h. This file knows
 * nothing of other children and of processes that hang, which reader.c manages.
 */
#include "proc/read/reader_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/work/worker.h"
#include "proc/read/starved.h"

#define TASK_READS   5 /* a task makes several reads, so it may take as long as this many reads */
#define STARVED_WAIT 3
#define SLICES_MOST  100u
#define SLICE_MS     50

/* in a child: the request that the child works on; in krait's main process: NULL */
static struct shared *serves;
/* in a child: the descriptor that the task passes to the main process; -1: none */
static int handed;

/* The descriptor that the running task got; -1: none. */
static _Thread_local int given = -1;
static _Thread_local uint64_t spent_ns; /* the value that reader_spent_ns() returns */

struct shared *child_serves(void)
{
	return serves;
}

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

/* Sends the one byte that announces a request or an answer, with descriptor @fd (-1: none). */
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

ssize_t child_receive(int from, int *fd)
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
	if (handed >= 0)
		close(handed);
	given = handed = -1;
}

int reader_given(void)
{
	return given;
}

void reader_hand_over(int fd)
{
	handed = fd;
}

/* Returns how often this process has gone to sleep. */
static long n_sleeps(void)
{
	struct rusage usage = {};

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/*
 * Does what one request asks. If the child never slept, but took longer than its CPU time, other
 * processes had the CPU in between.
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
 * The child's loop: serves requests until krait ends. It reads memory of other processes into
 * .shared, which krait maps as well. No code in this loop takes a lock. Only tasks allocate memory,
 * which glibc and musl allow in the child of a program with threads.
 */
static _Noreturn void serve(int fd, struct shared *s, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	serves = s;
	given = handed = -1;
	dup2(fd, 0);
	/* closes all descriptors except 0; before Linux 5.9 they stay open */
	(void)syscall(SYS_close_range, 1, ~0u, 0);
	while (child_receive(0, &given) == 1) {
		serve_one(s);
		if (send_byte(0, handed) != 1)
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
 * Makes the socket to a child. recv() on it waits for an answer for one slice of time at most
 * (SO_RCVTIMEO), because poll() before recv() would be another system call for each answer.
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

int child_start(struct child *c)
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

/* How long krait has been waiting for an answer, in slices of SLICE_MS. */
struct patience {
	unsigned idle, slices, reads;
	unsigned charged; /* in how many of the slices of time the child had a CPU */
};

/*
 * Counts a slice of time in which no answer came, unless the child had no CPU in this slice. The
 * child may be waiting until the process has changed its list of mappings; if the process gets no
 * CPU for that, the limit is STARVED_WAIT times as long (but not in a job, whose limit is long
 * anyway). False: krait has waited long enough.
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
 * Waits for the child's answer. Returns 0 once the answer has come, or -errno. This function counts
 * slices of time, and doesn't compare times of a clock: while krait is stopped (Ctrl-Z), the child
 * is stopped as well, and this time says nothing about the process that is read.
 */
static int await(const struct child *c, int *fd)
{
	struct patience p = {};
	bool waits = true;
	ssize_t got;

	do {
		got = child_receive(c->fd, fd);
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

/*
 * Sends a request and waits for the answer. @give: a descriptor for the child; @take: gets a
 * descriptor from the child; -1: none.
 */
static int ask(const struct child *c, int give, int *take)
{
	c->shared->reads = 0;
	*take = -1;
	return send_byte(c->fd, give) == 1 ? await(c, take) : -EPIPE;
}

void child_bury(const struct child *c)
{
	close(c->fd);
	waitpid(c->pid, NULL, 0);
	unmap(c->shared);
}

/*
 * Sends one request for memory of @pid and waits for the answer. Returns how many bytes came, or
 * -errno.
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
 * Does the result @got say that the child doesn't answer, or is dead? process_vm_readv() never
 * fails with one of these errors.
 */
static bool is_lost(ssize_t got)
{
	return got == -ETIMEDOUT || got == -EPIPE;
}

/*
 * Sets *ret to the pieces from @from on that fit in one request; @skip bytes of the first piece
 * were read already. Returns the number of pieces; *@bytes: their size together.
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

ssize_t child_read(const struct child *c, pid_t pid, const struct iovec *to,
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

ssize_t child_ask(const struct child *c, struct reader_request *q, int *lost)
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

ssize_t child_run_here(const struct reader_request *q)
{
	ssize_t got;

	given = q->give;
	got = q->task(q->pid, q->bytes, q->most);
	given = -1;
	return got;
}

uint64_t reader_spent_ns(void)
{
	return spent_ns;
}
