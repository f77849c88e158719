/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a krait command in a process of its own, so that everything is freed when it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/vec.h"
#include "cli/mcp/mcp.h"
#include "record/command/spawn.h"

extern char **environ;

/* how long a tool may still write its recording after it was told to end, in ms */
#define GRACE_MS 2000
#define KILL_MS	 1000

static volatile sig_atomic_t running; /* process id of the running tool; 0: no tool runs */

static void end_with_tool(int number)
{
	if (running)
		kill(running, SIGTERM);
	signal(number, SIG_DFL);
	raise(number);
}

void mcp_take_signals(void)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};

	signal(SIGPIPE, SIG_IGN);
	/*
	 * if krait's parent ignores SIGCHLD, krait does too, and the kernel would drop the tool's
	 * exit status
	 */
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		signal(ends[i], end_with_tool);
}

static int start(char *const *argv, int out, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	VEC(char *) words = {};
	int r = vec_push(&words, "krait");

	for (; !r && *argv; argv++)
		r = vec_push(&words, *argv);
	r = r ? r : vec_push(&words, NULL);
	if (!r && posix_spawn_file_actions_init(&files))
		r = -ENOMEM;
	if (!r) {
		posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
		r = -posix_spawn(ret, "/proc/self/exe", &files, NULL, words.v, environ);
		posix_spawn_file_actions_destroy(&files);
	}
	vec_fini(&words);
	return r ? err_sys(r, "can't start krait") : 0;
}

/*
 * Appends the beginning of a tool's output to @ret, and counts in *cut the bytes that have no room.
 */
static void keep(struct str *ret, const char *bytes, size_t n, size_t *cut)
{
	size_t room = ret->n < MCP_ANSWER_BYTES ? MCP_ANSWER_BYTES - ret->n : 0;

	str_add_n(ret, bytes, MIN(n, room));
	*cut += n - MIN(n, room);
}

/*
 * Reads until the tool closes its output, or until @seconds are over. Returns false in the second
 * case.
 */
static bool listen_to(int fd, unsigned seconds, struct str *ret)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * NSEC_PER_SEC, now;
	size_t cut = 0;
	char bytes[4096];
	ssize_t n = 1;

	while (n && (now = clock_ns(CLOCK_MONOTONIC)) < end) {
		if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1,
			 (int)((end - now) / NSEC_PER_MSEC) + 1) <= 0)
			continue;
		n = read(fd, bytes, sizeof(bytes));
		if (n > 0)
			keep(ret, bytes, (size_t)n, &cut);
		else if (n < 0)
			break;
	}
	if (cut)
		str_addf(ret, "\n[%zu bytes more; ask for fewer rows]\n", cut);
	return n <= 0;
}

static bool has_ended(pid_t pid, int *status, unsigned ms)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + ms * NSEC_PER_MSEC;
	pid_t r;

	while (!(r = waitpid(pid, status, WNOHANG)) && clock_ns(CLOCK_MONOTONIC) < until)
		poll(NULL, 0, 10);
	return r == pid;
}

/*
 * Ends a tool that has closed its output or took too long. A tool that hangs in a file system that
 * doesn't answer can't be ended: it is left behind.
 */
static int end(pid_t pid, int *status)
{
	if (has_ended(pid, status, 100))
		return 0;
	kill(pid, SIGTERM);
	if (has_ended(pid, status, GRACE_MS))
		return 0;
	kill(pid, SIGKILL);
	if (has_ended(pid, status, KILL_MS))
		return 0;
	return err_set(-ETIMEDOUT, "krait (process %d) can't be ended: it hangs in a file", pid);
}

int mcp_run(char *const *argv, unsigned seconds, struct str *ret)
{
	_cleanup_close_ int in = -1, out = -1;
	int fds[2], status = 0, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(-errno, "can't make a pipe");
	in = fds[0];
	out = fds[1];
	r = start(argv, out, &pid);
	if (r)
		return r;
	close(out);
	out = -1;
	running = pid;
	if (!listen_to(in, seconds, ret))
		str_addf(ret, "\n[krait took longer than %u s and was ended]\n", seconds);
	r = end(pid, &status);
	running = 0;
	return r ? r : spawn_exit_code(status);
}
