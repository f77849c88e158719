/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command after "--" is started, but waits before its exec until krait lets it go on. If the
 * command can't be executed, the exit code is the one that a shell would give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/exit.h"
#include "record/command/signals.h"
#include "record/command/spawn.h"

static int run(char **argv)
{
	struct spawn s;
	int code;

	assert_int_equal(spawn_start(&s, argv, NULL, NULL), 0);
	assert_int_equal(spawn_go(&s), 0);
	code = spawn_wait(&s);
	spawn_fini(&s);
	return code;
}

static void test_exit_codes(void **state)
{
	assert_int_equal(run((char *[]){"true", NULL}), 0);
	assert_int_equal(run((char *[]){"sh", "-c", "exit 7", NULL}), 7);
	assert_int_equal(run((char *[]){"sh", "-c", "kill -9 $$", NULL}), 137);
}

static void test_nothing_runs_before_go(void **state)
{
	char path[] = "/tmp/krait-spawn-XXXXXX";
	struct spawn s;

	assert_true(mkdtemp(path) != NULL);
	assert_int_equal(spawn_start(&s, (char *[]){"rmdir", path, NULL}, NULL, NULL), 0);
	usleep(100000);
	assert_int_equal(access(path, F_OK), 0);
	assert_false(spawn_ended(&s));
	assert_int_equal(spawn_go(&s), 0);
	assert_int_equal(spawn_wait(&s), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	spawn_fini(&s);
}

static void test_never_let_go(void **state)
{
	struct spawn s;

	assert_int_equal(spawn_start(&s, (char *[]){"sleep", "1000", NULL}, NULL, NULL), 0);
	spawn_fini(&s);
	assert_int_equal(kill(s.pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void assert_fails(char *path, int code, const char *words)
{
	struct spawn s;

	assert_int_equal(spawn_start(&s, (char *[]){path, NULL}, NULL, NULL), 0);
	assert_true(spawn_go(&s) < 0);
	assert_int_equal(s.exit_code, code);
	assert_non_null(strstr(err_msg(), words));
	spawn_fini(&s);
}

static void test_failures(void **state)
{
	assert_fails("no-such-command-anywhere", EXIT_NOT_FOUND, "PATH");
	assert_fails("/no/such/file", EXIT_NOT_FOUND, "No such file");
	assert_fails("/", EXIT_NOT_RUNNABLE, "can't run '/'");
}

static int refuse(void *arg)
{
	return -EPERM;
}

static void test_prepare_fails(void **state)
{
	struct spawn s;

	assert_int_equal(spawn_start(&s, (char *[]){"true", NULL}, refuse, NULL), 0);
	assert_int_equal(spawn_go(&s), -EPERM);
	assert_int_equal(s.exit_code, EXIT_NOT_RUNNABLE);
	assert_non_null(strstr(err_msg(), "calling user"));
	spawn_fini(&s);
}

/* The command must not inherit krait's pipes, nor the way in which krait handles SIGPIPE. */
static void test_what_is_inherited(void **state)
{
	struct spawn s;

	assert_int_equal(spawn_start(&s, (char *[]){"true", NULL}, NULL, NULL), 0);
	assert_true(fcntl(s.go_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(s.error_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(s.pidfd < 0 || fcntl(s.pidfd, F_GETFD) & FD_CLOEXEC);
	spawn_fini(&s);
	assert_int_equal(run((char *[]){"sh", "-c",
					"m=$(awk '/SigIgn/ {print $2}' /proc/$$/status); "
					"[ $((0x$m & 0x1000)) = 0 ]",
					NULL}),
			 0);
}

static void test_first_signal_stops(void **state)
{
	assert_int_equal(signals_stop(), 0);
	kill(getpid(), SIGTERM);
	assert_int_equal(signals_stop(), SIGTERM);
	assert_true(signals_stop_was_sent());
}

/*
 * Forks a child that has had a first signal. The child sends itself @n more signals, @apart_us
 * apart. Returns the child's wait status.
 */
static int signal_again(int n, unsigned apart_us, enum signals_phase phase)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signals_phase(phase);
		for (int i = 0; i < n; i++) {
			usleep(apart_us);
			kill(getpid(), SIGINT);
		}
		_exit((int)signals_count());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/*
 * The second signal makes krait write its file at once, and the third one ends krait. Signals in
 * quick succession count as one, because timeout(1) sends two.
 */
static void test_third_signal_ends(void **state)
{
	int status;

	kill(getpid(), SIGTERM);
	assert_int_equal(signals_stop(), SIGTERM);
	usleep(600000);
	assert_int_equal(signal_again(0, 0, SIGNALS_RECORDING), W_EXITCODE(1, 0));
	assert_int_equal(signal_again(1, 0, SIGNALS_WRITING), W_EXITCODE(2, 0));
	assert_int_equal(signal_again(5, 1000, SIGNALS_RECORDING), W_EXITCODE(2, 0));
	status = signal_again(2, 600000, SIGNALS_WRITING);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
	assert_int_equal(spawn_exit_code(status), EXIT_ABORTED);
	status = signal_again(1, 0, SIGNALS_WRITTEN);
	assert_true(WIFSIGNALED(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_nothing_runs_before_go),
		cmocka_unit_test(test_never_let_go),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_prepare_fails),
		cmocka_unit_test(test_what_is_inherited),
		cmocka_unit_test(test_first_signal_stops),
		cmocka_unit_test(test_third_signal_ends),
	};

	signals_take();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
