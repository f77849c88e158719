/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The starter is a small process that starts the writer, and starts a new writer when one has died.
 * The sampler can't fork writers itself once it has threads, kernel programs and shared memory,
 * because a child would inherit these. The starter has none of them. It gives up its rights before
 * it starts the first writer, so that no process with rights makes writers.
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/child.h"
#include "agent/confine/confine.h"
#include "agent/pipe.h"
#include "base/error.h"
#include "host/users.h"
#include "store/pins/marks.h"

#define PIPES 2

union pipes_control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(PIPES * sizeof(int))];
};

int starter_ask(int starter_fd, int in, int out)
{
	union pipes_control control = {};
	const int fds[PIPES] = {in, out};
	struct iovec byte = {&(char){0}, 1};
	struct msghdr m = {.msg_iov = &byte,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};

	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(fds)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return sendmsg(starter_fd, &m, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* Waits for the sampler's next request. Returns false if the sampler has ended. */
static bool take_request(int fds[PIPES])
{
	union pipes_control control = {};
	struct iovec byte = {&(char){0}, 1};
	struct msghdr m = {.msg_iov = &byte,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	do
		got = recvmsg(CHILD_FD, &m, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got != 1 || control.head.cmsg_len != CMSG_LEN(PIPES * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(&control.head), PIPES * sizeof(int));
	return true;
}

/*
 * If root started the agent and the store's directory belongs to krait's own user, the writer
 * becomes that user. If the writer can't become that user, it writes nothing: store_open() refuses
 * another user's directory.
 */
static void become_writer(const struct agent_options *o)
{
	struct stat st;

	if (geteuid() || !o->user || stat(o->store, &st) || st.st_uid != o->user)
		return;
	(void)!users_become(o->user, o->group);
}

static _Noreturn void serve(const struct agent_options *o, pid_t sampler)
{
	unsigned confined;
	int fds[PIPES], marks;

	/*
	 * sampler, starter and writer may all get a signal to stop; the writer must still store the
	 * last samples
	 */
	child_signals(SIG_IGN);
	/* nobody calls waitpid() for writers: the end of a pipe shows that its writer ended */
	signal(SIGCHLD, SIG_IGN);
	become_writer(o);
	/* if mkdir() fails, the first writer finds out the reason, and reports it */
	(void)mkdir(o->store, STORE_MODE);
	marks = marks_open(o->store);
	confined = confine_to_store(o->store);
	while (take_request(fds)) {
		if (!fork()) {
			close(CHILD_FD);
			agent_write(o, sampler, confined, marks, fds);
		}
		close(fds[0]);
		close(fds[1]);
	}
	_exit(0);
}

int starter_begin(const struct agent_options *o, pid_t *ret, int *ret_fd)
{
	pid_t self = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return err_sys(-errno, "can't make a pair of sockets");
	*ret_fd = fds[0];
	*ret = fork();
	if (!*ret) {
		child_keep(fds[1]);
		serve(o, self);
	}
	close(fds[1]);
	return *ret > 0 ? 0 : err_sys(-errno, "can't start the writer of the agent");
}
