/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the user's program when a trigger fires; see hook.h. */
#include "agent/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/child.h"
#include "base/error.h"
#include "base/system/caps.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "host/users.h"

#define RUN_MS 60000	 /* the user's program is killed if it runs for longer than this */
#define FORMAT "%F %T%z" /* the form in which `krait last` takes a time */

static _Noreturn void run_program(const char *program, const struct pin *p)
{
	char since[64], until[64], window[2 * sizeof(since) + 2];

	setsid();
	child_signals(SIG_DFL);
	close(CHILD_FD);
	clock_local(p->since_ms, FORMAT, since);
	/* rounds up to a whole second, so that the last second of the window is in it */
	clock_local(p->until_ms + 999, FORMAT, until);
	snprintf(window, sizeof(window), "%s..%s", since, until);
	execl(program, program, p->cause, p->words, window, (char *)NULL);
	log_warn("can't run %s: %s", program, strerror(errno));
	_exit(127);
}

static void await_program(const char *program, pid_t pid)
{
	struct pollfd fd = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int status = 0;

	if (fd.fd >= 0 && !poll(&fd, 1, RUN_MS)) {
		log_warn("%s ran for more than %d s and is killed", program, RUN_MS / 1000);
		kill(-pid, SIGKILL);
	}
	if (fd.fd >= 0)
		close(fd.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) && WEXITSTATUS(status) != 127)
		log_warn("%s ended with status %d", program, WEXITSTATUS(status));
}

static _Noreturn void serve(const char *program)
{
	struct pin p;
	pid_t pid;

	child_signals(SIG_IGN);
	while (read(CHILD_FD, &p, sizeof(p)) == (ssize_t)sizeof(p)) {
		pid = fork();
		if (!pid)
			run_program(program, &p);
		if (pid < 0)
			log_warn("can't run %s: %s", program, strerror(errno));
		else
			await_program(program, pid);
	}
	_exit(0);
}

/* Gives up all rights for good. Returns false if this process may still have some. */
static bool give_up(const struct agent_options *o)
{
	uid_t user = o->user;
	gid_t group = o->group;

	if (!geteuid()) {
		if (!user && users_ids("nobody", &user, &group))
			return false;
		if (users_become(user, group))
			return false;
	}
	caps_give_up();
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static _Noreturn void begin(const struct agent_options *o, int in)
{
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	child_keep(in);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	if (!give_up(o)) {
		log_warn("%s isn't run: it would have root's rights", o->on_trigger);
		_exit(1);
	}
	serve(o->on_trigger);
}

int hook_begin(const struct agent_options *o, int *ret)
{
	int fds[2];
	pid_t pid;

	*ret = -1;
	if (!o->on_trigger)
		return 0;
	if (pipe2(fds, O_CLOEXEC))
		return err_sys(-errno, "can't make a pipe");
	pid = fork();
	if (!pid)
		begin(o, fds[0]);
	close(fds[0]);
	*ret = fds[1];
	if (pid < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK))
		return err_sys(-errno, "can't start the process that runs %s", o->on_trigger);
	return 0;
}

void hook_run(int fd, const struct pin *p)
{
	if (fd < 0 || write(fd, p, sizeof(*p)) == (ssize_t)sizeof(*p))
		return;
	log_warn("no program is run for the trigger '%s': %s", p->words,
		 errno == EAGAIN ? "too many runs wait already"
				 : "the process that runs such programs has ended");
}
