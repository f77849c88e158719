/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the command in a child that waits at a pipe before its exec; see spawn.h. */
#include "record/command/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "record/command/signals.h"

/* a shell's exit code for a program that was ended by a signal is this plus the signal's number */
#define SIGNALED 128

/* What a child that fails writes into a pipe for krait. */
struct failure {
	int error; /* errno of the failure, positive */
	enum { IN_PREPARE, IN_EXEC } where;
};

struct pipes {
	int go[2], error[2];
};

static void send_failure(int fd, int error, int where)
{
	struct failure f = {error, where};

	if (write(fd, &f, sizeof(f)) < 0)
		return; /* krait has ended, so nobody reads the child's error */
}

/* Runs in the child: waits, then becomes the command. */
static _Noreturn void child(const struct pipes *p, char **argv, int (*prepare)(void *), void *arg)
{
	char go;
	int r;

	close(p->go[1]);
	close(p->error[0]);
	r = prepare ? prepare(arg) : 0;
	if (r) {
		send_failure(p->error[1], -r, IN_PREPARE);
		_exit(SPAWN_NOT_RUNNABLE);
	}
	do
		r = read(p->go[0], &go, 1);
	while (r < 0 && errno == EINTR && !signals_stop());
	if (signals_stop()) /* Ctrl-C came before the command ran */
		_exit(SIGNALED + signals_stop());
	if (r != 1)
		_exit(SPAWN_NOT_RUNNABLE);
	signals_give_back();
	execvp(argv[0], argv);
	r = errno;
	send_failure(p->error[1], r, IN_EXEC);
	_exit(r == ENOENT ? SPAWN_NOT_FOUND : SPAWN_NOT_RUNNABLE);
}

/*
 * Makes @fd the standard output. If @fd only keeps the number of a closed descriptor in use
 * (main.c), closes standard output instead.
 */
int spawn_say_to(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH) {
		close(STDOUT_FILENO);
		return 0;
	}
	return dup2(fd, STDOUT_FILENO) < 0 ? -errno : 0;
}

static void close_pair(int pair[2])
{
	cleanup_close(&pair[0]);
	cleanup_close(&pair[1]);
}

static void close_pipes(struct pipes *p)
{
	close_pair(p->go);
	close_pair(p->error);
}

static int open_pipes(struct pipes *p)
{
	if (pipe2(p->go, O_CLOEXEC) || pipe2(p->error, O_CLOEXEC))
		return err_sys(-errno, "can't make a pipe for the command");
	return 0;
}

int spawn_start(struct spawn *s, char **argv, int (*prepare)(void *arg), void *arg)
{
	_cleanup_(close_pipes) struct pipes p = {{-1, -1}, {-1, -1}};
	pid_t pid;
	int r;

	*s = (struct spawn){.pidfd = -1, .go_fd = -1, .error_fd = -1, .name = argv[0]};
	r = open_pipes(&p);
	if (r)
		return r;
	pid = fork();
	if (pid < 0 && errno == EAGAIN)
		return err_set(
			-errno,
			"can't start a process for '%s': no more are allowed; raise the limit of "
			"the user (`ulimit -u`) or of the control group (pids.max)",
			argv[0]);
	if (pid < 0)
		return err_sys(-errno, "can't start a process for '%s'", argv[0]);
	if (pid == 0)
		child(&p, argv, prepare, arg);
	s->pid = pid;
	s->go_fd = TAKE_FD(p.go[1]);
	s->error_fd = TAKE_FD(p.error[0]);
	/* before Linux 5.3 there is no pidfd_open(), and .pidfd stays -1 */
	s->pidfd = syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

#define SEEN_MS 1000

void spawn_await_seen(const struct spawn *s)
{
	_cleanup_close_ int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", s->pid);
	for (int i = 0; i < SEEN_MS && fd < 0; i++) {
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			usleep(1000);
	}
}

static void remember_end(struct spawn *s, int status)
{
	s->exit_code = spawn_exit_code(status);
	s->ended = true;
}

/* Calls waitpid() until it has a status; false if it failed. */
static bool reap(struct spawn *s)
{
	int status;

	while (waitpid(s->pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	remember_end(s, status);
	return true;
}

static int explain(struct spawn *s, const struct failure *f)
{
	s->exit_code = f->error == ENOENT ? SPAWN_NOT_FOUND : SPAWN_NOT_RUNNABLE;
	if (f->where == IN_PREPARE)
		return err_sys(-f->error, "can't become the calling user to run '%s'", s->name);
	if (str_ends(s->name, ".py") && (f->error == ENOENT || f->error == EACCES) &&
	    !access(s->name, R_OK)) {
		s->advice = SPAWN_ADVICE_INTERPRETER;
		return err_set(-f->error, "'%s' is a script that can't be run by itself", s->name);
	}
	if (f->error == ENOENT && !strchr(s->name, '/')) {
		s->advice = SPAWN_ADVICE_PATH;
		return err_set(-ENOENT, "there is no command '%s' on the PATH", s->name);
	}
	if (f->error == ENOENT && !access(s->name, F_OK))
		return err_set(
			-ENOENT,
			"can't run '%s': the interpreter (or loader) that it names isn't there",
			s->name);
	return err_sys(-f->error, "can't run '%s'", s->name);
}

int spawn_go(struct spawn *s)
{
	struct failure f;
	ssize_t n;

	/*
	 * If prepare() has failed, the child has closed its end of the pipe, so write() fails with
	 * EPIPE. The reason, which the child has sent, is read below.
	 */
	n = write(s->go_fd, "g", 1);
	cleanup_close(&s->go_fd);
	s->go_fd = -1;
	do
		n = read(s->error_fd, &f, sizeof(f));
	while (n < 0 && errno == EINTR);
	cleanup_close(&s->error_fd);
	s->error_fd = -1;
	if (n != (ssize_t)sizeof(f))
		return 0;
	reap(s);
	return explain(s, &f);
}

bool spawn_is_over(const struct spawn *s)
{
	siginfo_t info = {};

	if (s->ended || !s->pid)
		return s->ended;
	return !waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == s->pid;
}

bool spawn_ended(struct spawn *s)
{
	int status;

	if (!s->ended && s->pid && waitpid(s->pid, &status, WNOHANG) == s->pid)
		remember_end(s, status);
	return s->ended;
}

void spawn_pass_on_stop(struct spawn *s)
{
	if (s->pid && !s->ended && signals_stop_was_sent())
		kill(s->pid, signals_stop());
}

void spawn_kill(struct spawn *s)
{
	if (!spawn_ended(s) && s->pid && !kill(s->pid, SIGKILL))
		reap(s);
}

void spawn_say_goes_on(struct spawn *s)
{
	if (!spawn_ended(s) && !signals_stop())
		log_note("the command goes on; Ctrl-C ends it");
}

int spawn_wait(struct spawn *s)
{
	/* the caller passes on a signal that came before this call */
	bool passed_on = signals_stop();

	while (!s->ended) {
		int status;

		if (waitpid(s->pid, &status, 0) == s->pid)
			remember_end(s, status);
		else if (errno != EINTR)
			return SPAWN_FAILED;
		if (signals_stop() && !passed_on) {
			spawn_pass_on_stop(s);
			passed_on = true;
		}
	}
	return s->exit_code;
}

void spawn_fini(struct spawn *s)
{
	bool waits = s->go_fd >= 0 && s->pid && !s->ended;

	cleanup_close(&s->go_fd);
	cleanup_close(&s->error_fd);
	cleanup_close(&s->pidfd);
	s->go_fd = s->error_fd = s->pidfd = -1;
	if (waits)
		reap(s);
}

int spawn_exit_code(int status)
{
	return WIFSIGNALED(status) ? SIGNALED + WTERMSIG(status) : WEXITSTATUS(status);
}
