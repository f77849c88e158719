/* SPDX-License-Identifier: BSD-2-Clause */
/* Listens for connections, and starts a process for each connection; see serve.h. */
#include "agent/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/serve/internal.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/caps.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "host/users.h"

/*
 * How many connections of users who may not ask everything are answered at the same time. Users who
 * may ask everything never wait for them.
 */
#define MAX_OTHERS 8
/*
 * the most connections that are answered at a time for one user; all clients over TCP count as one
 * user
 */
#define MAX_SAME 4
/* the most connections of users who may ask everything, in addition to MAX_OTHERS */
#define MAX_ALL	 4
#define NICENESS 5

struct answering {
	pid_t pid;
	struct peer peer;
};

struct answers {
	struct answering v[MAX_OTHERS + MAX_ALL];
	size_t n;
};

static volatile sig_atomic_t told_to_end;

static void end(int signal)
{
	told_to_end |= signal != SIGCHLD;
}

static void take_signals(sigset_t *waiting)
{
	static const int taken[] = {SIGTERM, SIGINT, SIGCHLD};
	struct sigaction act = {.sa_handler = end};
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		sigaction(taken[i], &act, NULL);
		sigaddset(&blocked, taken[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &blocked, waiting);
}

static void reap(struct answers *a)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < a->n; i++)
			if (a->v[i].pid == pid) {
				a->v[i] = a->v[--a->n];
				break;
			}
}

/* Tells whether another connection of this peer can be answered now. */
static bool is_room(const struct answers *a, const struct peer *p)
{
	size_t all = 0, others = 0, same = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct peer *x = &a->v[i].peer;

		all += x->may_all;
		others += !x->may_all;
		same += !x->may_all && x->tcp == p->tcp && x->uid == p->uid;
	}
	return p->may_all ? all < MAX_ALL : others < MAX_OTHERS && same < MAX_SAME;
}

static void start(const struct server *s, const struct listener *l, struct answers *a, int fd,
		  const sigset_t *waiting)
{
	struct peer peer;
	pid_t pid;

	if (serve_peer(s, l, fd, &peer))
		return;
	if (!is_room(a, &peer) || (pid = fork()) < 0) {
		serve_refuse(l, fd);
		return;
	}
	if (!pid) {
		vec_foreach(listener, &s->listeners)
			close(listener->fd);
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		sigprocmask(SIG_SETMASK, waiting, NULL);
		serve_answer(s, l, &peer, fd);
	}
	a->v[a->n++] = (struct answering){pid, peer};
}

/* Waits for connections. Returns 0 if the time is over or a signal arrived, else 1 or more. */
static int wait_for(const struct server *s, const struct answers *a, struct pollfd *fds,
		    const sigset_t *waiting)
{
	struct timespec limit = {.tv_sec = (time_t)(s->o->idle_ns / NSEC_PER_SEC),
				 .tv_nsec = (long)(s->o->idle_ns % NSEC_PER_SEC)};

	for (size_t i = 0; i < s->listeners.n; i++)
		fds[i] = (struct pollfd){.fd = s->listeners.v[i].fd, .events = POLLIN};
	return MAX(ppoll(fds, s->listeners.n, s->o->idle_ns && !a->n ? &limit : NULL, waiting), 0);
}

static int serve_all(const struct server *s, const sigset_t *waiting)
{
	uint64_t asked = clock_ns(CLOCK_MONOTONIC), idle = s->o->idle_ns;
	_cleanup_free_ struct pollfd *fds = calloc(s->listeners.n + 1, sizeof(*fds));
	struct answers a = {};

	if (!fds)
		return err_nomem();
	while (!told_to_end) {
		int n = wait_for(s, &a, fds, waiting);

		reap(&a);
		if (n || a.n)
			asked = clock_ns(CLOCK_MONOTONIC);
		else if (idle && clock_ns(CLOCK_MONOTONIC) - asked >= idle)
			break;
		for (size_t i = 0; n && i < s->listeners.n; i++) {
			_cleanup_close_ int fd = -1;

			if (fds[i].revents)
				fd = accept4(fds[i].fd, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0)
				start(s, &s->listeners.v[i], &a, fd, waiting);
		}
	}
	return 0;
}

/*
 * Reads the token from its file before krait gives up the right to read that file. Refuses a file
 * that other users may read.
 */
static int read_token(struct server *s)
{
	const char *path = s->o->token_file;
	_cleanup_close_ int fd = -1;
	struct stat st;
	ssize_t n;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return err_sys(-errno, "can't read the token in %s", path);
	if (!S_ISREG(st.st_mode) || st.st_mode & 077)
		return err_set(-EACCES, "others may read the token in %s; chmod 600 helps", path);
	n = read(fd, s->token, sizeof(s->token) - 1);
	s->token[n > 0 ? strcspn(s->token, "\r\n") : 0] = '\0';
	if (strlen(s->token) < 16 || strspn(s->token, " "))
		return err_set(-EINVAL, "the token in %s is shorter than 16 letters", path);
	return 0;
}

/* Becomes the user who owns the store, without any capability. */
static int give_up_rights(struct server *s)
{
	struct stat st;
	int r;

	s->owner = geteuid();
	if (!geteuid() && !stat(s->o->store, &st) && st.st_uid) {
		r = users_become(st.st_uid, st.st_gid);
		if (r)
			return err_sys(r, "can't become the user who owns %s", s->o->store);
		s->owner = st.st_uid;
	}
	caps_give_up();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	return 0;
}

static int begin(struct server *s)
{
	int r = read_token(s);

	if (users_group_id(SERVE_GROUP, &s->group))
		s->group = (gid_t)-1;
	s->turn = memfd_create("turn", MFD_CLOEXEC);
	if (s->turn < 0)
		return err_sys(-errno, "can't make a file in memory");
	r = r ? r : serve_listen(s);
	return r ? r : give_up_rights(s);
}

int serve(const struct serve_options *o)
{
	struct server s = {.o = o, .turn = -1};
	sigset_t waiting;
	int r;

	take_signals(&waiting);
	r = begin(&s);
	if (!r) {
		log_note("answering questions about %s", o->store);
		r = serve_all(&s, &waiting);
	}
	if (s.own_socket)
		(void)unlink(o->socket);
	vec_foreach(l, &s.listeners)
		close(l->fd);
	vec_fini(&s.listeners);
	if (s.turn >= 0)
		close(s.turn);
	return r;
}
