/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries from inside what the agent's processes must not be able to do (docs/security.md has the
 * table): each try runs in a child, first with all rights, and then without the rights that
 * confine.h takes away. With all rights the try must succeed; otherwise its refusal would prove
 * nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/confine/confine.h"
#include "agent/confine/seccomp.h"

static char top[] = "/tmp/krait-confine.XXXXXX";
static char store[PATH_MAX], elsewhere[PATH_MAX], file[PATH_MAX], inside[PATH_MAX];
static pid_t parent;
static char target; /* the parent's byte that a child tries to read and write */

/*
 * Each try_...() function makes one try. It returns 0, or the error with which the try was refused.
 */
static int error_of(long r)
{
	return r < 0 ? errno : 0;
}

static int try_socket(void)
{
	return error_of(socket(AF_INET, SOCK_STREAM, 0));
}
static int try_unix_socket(void)
{
	return error_of(socket(AF_UNIX, SOCK_STREAM, 0));
}
static int try_pair(void)
{
	int fds[2];

	return error_of(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}
static int try_write(void)
{
	return error_of(open(file, O_WRONLY));
}
static int try_write_and_read(void)
{
	return error_of(open(file, O_RDWR | O_EXCL));
}
static int try_truncate(void)
{
	return error_of(truncate(file, 0));
}
static int try_cut(void)
{
	return error_of(open(file, O_RDONLY | O_TRUNC));
}
static int try_create(void)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s.new", file);
	return error_of(open(path, O_WRONLY | O_CREAT, 0600));
}
static int try_new_file(void)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s.%d", file, getpid());
	return error_of(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
}
static int try_unlink(void)
{
	return error_of(unlink(file));
}
static int try_rename(void)
{
	return error_of(rename(inside, file));
}
static int try_mkdir(void)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/d%d", elsewhere, getpid());
	return error_of(mkdir(path, 0700));
}
static int try_chmod(void)
{
	return error_of(chmod(file, 0644));
}
static int try_read(void)
{
	return error_of(open(file, O_RDONLY));
}
static int try_own_file(void)
{
	char path[PATH_MAX + 8];
	int fd = open(inside, O_RDWR | O_CREAT, 0600);

	snprintf(path, sizeof(path), "%s.new", inside);
	if (fd < 0 || pwrite(fd, "x", 1, 0) != 1 || fdatasync(fd) || ftruncate(fd, 0) ||
	    rename(inside, path) || rename(path, inside))
		return errno;
	return 0;
}
static int try_bpf(void)
{
	struct bpf_insn end[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
				 {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
			    .insns = (uintptr_t)end,
			    .insn_cnt = 2,
			    .license = (uintptr_t) "GPL"};

	return error_of(syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a)));
}
static int try_perf(void)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_CPU_CLOCK};

	return error_of(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}
static int open_memory(int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/mem", parent);
	return error_of(open(path, flags));
}
static int try_memory(void)
{
	return open_memory(O_RDONLY);
}
static int try_write_memory(void)
{
	return open_memory(O_RDWR);
}
static int copy_memory(long call)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {&target, 1};

	return error_of(syscall(call, (long)parent, &here, 1L, &there, 1L, 0L));
}
static int try_read_memory(void)
{
	return copy_memory(SYS_process_vm_readv);
}
static int try_change_memory(void)
{
	return copy_memory(SYS_process_vm_writev);
}
static int try_ptrace(void)
{
	return error_of(ptrace(PTRACE_SEIZE, parent, NULL, NULL));
}
/* Without arguments, execve() fails with EFAULT. If it isn't permitted, it fails before that. */
static int try_exec(void)
{
	return error_of(syscall(SYS_execve, 1, NULL, NULL));
}
static int try_fork(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!child)
		_exit(0);
	return error_of(child);
}
static int try_signal(void)
{
	return error_of(kill(parent, SIGURG)); /* `parent` ignores SIGURG */
}
static int try_ask(void)
{
	return error_of(kill(parent, 0));
}
static int try_mount(void)
{
	return error_of(mount("none", "/nowhere-at-all", "tmpfs", 0, NULL));
}
static int try_user(void)
{
	return error_of(setresuid(1, 1, 1));
}
static int try_capability(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{.effective = 1, .permitted = 1}};

	return error_of(syscall(SYS_capset, &head, data));
}
static int try_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? errno
		       : 0;
}
static int try_ring(void)
{
	return error_of(syscall(SYS_io_uring_setup, 1, NULL));
}
static int try_module(void)
{
	return error_of(syscall(SYS_finit_module, -1, "", 0));
}

enum process {
	STARTER = 1,
	WRITER = 2,
	SAMPLER = 4,
	ANSWER = 8,
	KEEPS_STORE = STARTER | WRITER | ANSWER,
};
enum { ALL = 15, BY_FILES = 16 }; /* BY_FILES: Landlock refuses the try, but seccomp wouldn't */

static const struct row {
	const char *what;
	int (*try)(void);
	unsigned refused; /* to which processes */
} rows[] = {
	{"open a socket", try_socket, ALL},
	{"open a Unix socket", try_unix_socket, ALL},
	{"make a pair of sockets", try_pair, KEEPS_STORE},
	{"open a file elsewhere for writing", try_write, ALL | BY_FILES},
	{"the same, with O_EXCL", try_write_and_read, ALL | BY_FILES},
	{"cut a file elsewhere", try_truncate, ALL},
	{"cut a file elsewhere by opening it", try_cut, ALL | BY_FILES},
	{"make a file elsewhere that may be there", try_create, ALL | BY_FILES},
	{"make a new file elsewhere", try_new_file, KEEPS_STORE | BY_FILES},
	{"remove a file elsewhere", try_unlink, KEEPS_STORE | BY_FILES},
	{"move a file elsewhere", try_rename, KEEPS_STORE | BY_FILES},
	{"make a directory elsewhere", try_mkdir, KEEPS_STORE | BY_FILES},
	{"change a file's mode", try_chmod, ALL},
	{"read a file elsewhere", try_read, KEEPS_STORE | BY_FILES},
	{"write in the store", try_own_file, SAMPLER},
	{"load BPF", try_bpf, ALL},
	{"open a perf event", try_perf, KEEPS_STORE},
	{"open /proc/PID/mem", try_memory, KEEPS_STORE | BY_FILES},
	{"open /proc/PID/mem for writing", try_write_memory, ALL | BY_FILES},
	{"read a process's memory", try_read_memory, KEEPS_STORE},
	{"write a process's memory", try_change_memory, ALL},
	{"trace a process", try_ptrace, ALL},
	{"execute a program", try_exec, ALL},
	{"make a child", try_fork, WRITER | ANSWER},
	{"send a signal", try_signal, ALL},
	{"ask whether a process is there", try_ask, KEEPS_STORE},
	{"mount", try_mount, ALL},
	{"become another user", try_user, KEEPS_STORE},
	{"set capabilities", try_capability, KEEPS_STORE},
	{"map code", try_code, KEEPS_STORE},
	{"submit calls by a ring", try_ring, ALL},
	{"load a kernel module", try_module, ALL},
};

/*
 * Gives up the rights that process @who of the agent gives up. Returns which kinds of confinement
 * worked (a set of CONFINED_...).
 */
static unsigned become(enum process who)
{
	unsigned confined;

	if (who == SAMPLER)
		return (confine_sampler() & confine_loaded()) | CONFINED_FILES;
	if (who == ANSWER)
		return confine_answer(store);
	confined = confine_to_store(store);
	return who == WRITER ? confined & (confine_writer() | CONFINED_FILES) : confined;
}

/*
 * Runs the try in a child that confines itself as process @who does (0: not at all). Returns the
 * try's error.
 */
static int try_as(const struct row *row, enum process who, unsigned *confined)
{
	int fds[2], status, answer[2] = {-1, 0};
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child) {
		answer[1] = who ? (int)become(who) : 0;
		answer[0] = row->try();
		_exit(write(fds[1], answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
	}
	close(fds[1]);
	if (read(fds[0], answer, sizeof(answer)) != sizeof(answer))
		answer[0] = -1;
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	*confined = (unsigned)answer[1];
	return answer[0];
}

static bool is_refusal(int error)
{
	return error == EPERM || error == EACCES || error == EROFS;
}

/* Makes the two files of the test again: running a row may have removed or changed them. */
static void put_files(void)
{
	int fd = open(file, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	close(fd);
	fd = open(inside, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static bool check_row(const struct row *row, enum process who, const char *name)
{
	bool refused = row->refused & who;
	unsigned confined;
	int error;

	put_files();
	error = try_as(row, 0, &confined);
	if (is_refusal(error)) {
		print_message("SKIP %s: %s: nobody here may do that\n", name, row->what);
		return true;
	}
	put_files();
	error = try_as(row, who, &confined);
	if (refused && !(confined & (row->refused & BY_FILES ? CONFINED_FILES : CONFINED_CALLS))) {
		print_message("SKIP %s: %s: this kernel can't refuse it\n", name, row->what);
		return true;
	}
	if (refused == is_refusal(error) && (refused || !error))
		return true;
	print_error("%s: %s: %s\n", name, row->what, error ? strerror(error) : "it can");
	return false;
}

static void check_process(enum process who, const char *name)
{
	bool right = true;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		right &= check_row(&rows[i], who, name);
	assert_true(right);
}

static void test_starter(void **state)
{
	check_process(STARTER, "starter");
}

static void test_writer(void **state)
{
	check_process(WRITER, "writer");
}

static void test_sampler(void **state)
{
	check_process(SAMPLER, "sampler");
}

static void test_answer(void **state)
{
	check_process(ANSWER, "answer");
}

/* A call of the x32 ABI has a number of its own, so the filter refuses it, whatever it does. */
static void test_other_numbers(void **state)
{
#ifdef __x86_64__
	static const struct row x32 = {"an x32 call", NULL, 0};
	pid_t child = fork();
	int status;

	(void)x32;
	if (!child) {
		(void)confine_sampler();
		_exit(syscall(0x40000000 | SYS_getpid) == -1 && errno == EPERM ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
#endif
}

/*
 * A confined process isn't dumpable, so other processes of its user can't trace it. A program that
 * it executes gains no rights.
 */
static void test_process(void **state)
{
	pid_t child = fork();
	int status;

	if (!child) {
		(void)confine_sampler();
		_exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
				      prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int set_up(void **state)
{
	if (!mkdtemp(top))
		return -1;
	snprintf(store, sizeof(store), "%s/store", top);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", top);
	snprintf(file, sizeof(file), "%s/elsewhere/file", top);
	snprintf(inside, sizeof(inside), "%s/store/file", top);
	parent = getpid();
	signal(SIGURG, SIG_IGN);
	return mkdir(store, 0700) || mkdir(elsewhere, 0700);
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starter), cmocka_unit_test(test_writer),
		cmocka_unit_test(test_answer),	cmocka_unit_test(test_sampler),
		cmocka_unit_test(test_process), cmocka_unit_test(test_other_numbers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
