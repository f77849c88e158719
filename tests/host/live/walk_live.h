/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live interpreters for tests of the walkers. Each interpreter runs stack.py, which prints the
 * stacks of its two threads, and blocks. Tests compare the frames that a walk finds with these
 * stacks.
 */
#ifndef TESTS_HOST_LIVE_WALK_LIVE_H
#define TESTS_HOST_LIVE_WALK_LIVE_H

/* Include this before cmocka.h, which defines fail as a macro. */
#include "../walk/walk_host.h"

#include "python/gil.bpf.h"

#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proc/files/files.h"
#include "proc/libc.h"
#include "proc/proc.h"
#include "python/code/code.h"
#include "python/find/image.h"

#define MAX_NAMED 512

struct named {
	char name[128], file[256];
	int line;
};

/* The stack that a thread has printed of itself. */
struct truth {
	size_t n;
	struct named frame[MAX_NAMED];
};

struct interpreter {
	char name[64], version[32], kind[32], path[512];
};

static struct target {
	pid_t pid;
	FILE *out; /* reads what stack.py prints */
	struct truth main, thread;
	struct py_where where; /* the interpreter's addresses in the process */
	/* the interpreter's file, and the interpreter's addresses in the file */
	int fd;
	struct py_where file;
} target;

static void script_path(char *path, size_t n)
{
	snprintf(path, n, "%.*s/stack.py", (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__);
}

static void start(const char *python)
{
	char script[512];
	int out[2], in[2];

	script_path(script, sizeof(script));
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(in), 0);
	target.pid = fork();
	if (!target.pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		setenv("PYTHONIOENCODING", "utf-8", 1);
		/* passes the script's text as an argument: in a chroot there is no such file */
		execl("/bin/sh", "sh", "-c", "exec \"$0\" -c \"$(cat \"$1\")\"", python, script,
		      NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	target.out = fdopen(out[0], "r");
}

static void stop(void)
{
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	if (target.out)
		fclose(target.out);
	if (target.fd > 0)
		close(target.fd);
	memset(&target, 0, sizeof(target));
}

static bool read_truth(void)
{
	char line[1024];
	struct truth *t;

	if (!fgets(line, sizeof(line), target.out))
		return false;
	t = streq(line, "main\n") ? &target.main : &target.thread;
	while (fgets(line, sizeof(line), target.out) && !streq(line, "end\n")) {
		struct named *f = &t->frame[t->n++];

		assert_true(t->n < MAX_NAMED);
		assert_int_equal(
			sscanf(line, "%127[^\t]\t%255[^\t]\t%d", f->name, f->file, &f->line), 3);
	}
	return t->n;
}

static void set_addresses(const struct py_image *image, uint64_t bias)
{
	struct py_where *w = &target.where;

	target.file = *w = image->where;
	w->layout = 0;
	py_where_add_bias(w, bias);
}

/*
 * Finds the interpreter in the process. Returns NULL, or the reason why no stacks of the process
 * can be found.
 */
static const char *find(void)
{
	static struct py_image image;
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	struct libc_info libc;

	assert_int_equal(proc_open(&proc, target.pid), 0);
	assert_int_equal(maps_read(proc.dirfd, MAPS_EXEC, &maps), 0);
	vec_foreach(m, &maps.list) {
		_cleanup_close_ int fd = -1;

		if (m->ino)
			fd = file_open_mapping(proc.dirfd, m, maps_path(&maps, m), NULL);
		if (fd < 0 || py_image_read(fd, maps_path(&maps, m), &image) != 1)
			continue;
		if (image.unsupported[0])
			return image.unsupported;
		host_set_layout(&image.layout);
		set_addresses(&image,
			      image.exec_fixed ? 0 : m->start - (image.start_vaddr & ~4095ull));
		assert_int_equal(libc_of_process(&proc, &maps, false, &libc), 0);
		libc_set_where(&target.where, &libc);
		target.fd = TAKE_FD(fd);
		return NULL;
	}
	return "no interpreter found in it";
}

static bool thread_pointer(pid_t tid, uint64_t *tp)
{
	bool ok;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, NULL, __WALL) < 0)
		return false;
#if defined(__x86_64__)
	struct user_regs_struct regs;

	ok = !ptrace(PTRACE_GETREGS, tid, 0, &regs);
	*tp = ok ? regs.fs_base : 0;
#else
	struct iovec v = {tp, sizeof(*tp)};

	ok = !ptrace(PTRACE_GETREGSET, tid, 0x401 /* NT_ARM_TLS */, &v);
#endif
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return ok;
}

/* Waits until the thread blocks in read(), just after stack.py has printed the thread's stack. */
static bool blocks_in_read(pid_t tid)
{
	char path[64];
	int nr = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", target.pid, tid);
	for (int i = 0; i < 5000 && nr != SYS_read; i++) {
		_cleanup_fclose_ FILE *f = fopen(path, "re");

		nr = -1;
		if (!f)
			return false;
		if (fscanf(f, "%d", &nr) != 1 || nr != SYS_read)
			usleep(1000);
	}
	return nr == SYS_read;
}

static pid_t second_thread(void)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	pid_vec threads = {};
	pid_t tid = 0;

	assert_int_equal(proc_open(&proc, target.pid), 0);
	assert_int_equal(proc_threads(&proc, &threads), 0);
	vec_foreach(t, &threads)
		tid = *t != target.pid ? *t : tid;
	vec_fini(&threads);
	return tid;
}

/*
 * Returns the code object of frame @i, read from its record, or NULL if no record of it was sent.
 */
static struct py_code *code_of(size_t i)
{
	const struct wire_frame *f = &host.out->frame[i];
	struct py_code *code = NULL;

	vec_foreach(r, &host.sent) {
		const struct rec_code *rec = (const void *)r->bytes;

		if (rec->type != REC_CODE || rec->code != f->code || rec->check != f->check)
			continue;
		if (py_code_from_record(rec, r->n, host.layout.version, &code))
			return NULL;
		(void)!py_code_fill_from_process(code, target.pid, &host.layout);
		return code;
	}
	return NULL;
}

/* Tells whether frame @i, which runs @code, is the frame @t that the program printed. */
static bool is_frame(const struct py_code *code, size_t i, const struct named *t)
{
	int line = py_code_position(code, host.out->frame[i].lasti).line;

	return code->name && code->file && streq(code->name, t->name) &&
	       streq(code->file, t->file) && line == t->line;
}

/*
 * Tells whether the frames that the stack walk found are the innermost frames of @truth. Sets *@ret
 * to their number.
 */
static bool is_part_of(const struct truth *truth, size_t *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < host.w->n; i++) {
		_cleanup_(cleanup_py_code) struct py_code *code = code_of(i);

		if (code && code->internal)
			continue;
		if (!code || n >= truth->n || !is_frame(code, i, &truth->frame[n++])) {
			*ret = i;
			return false;
		}
	}
	*ret = n;
	return true;
}

/*
 * Opens the list of interpreters that tests/setup/interpreters.sh has made: name, version, kind and
 * path, separated by tabs.
 */
static FILE *open_table(void)
{
	const char *cache = getenv("KRAIT_TEST_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char path[512];

	if (cache)
		snprintf(path, sizeof(path), "%s/interpreters.tsv", cache);
	else if (xdg)
		snprintf(path, sizeof(path), "%s/krait-tests/interpreters.tsv", xdg);
	else
		snprintf(path, sizeof(path), "%s/.cache/krait-tests/interpreters.tsv",
			 home ? home : "");
	return fopen(path, "re");
}

/* Reads the list of interpreters. Returns how many there are. */
static size_t read_table(struct interpreter *list, size_t max)
{
	FILE *f = open_table();
	size_t n = 0;

	while (f && n < max &&
	       fscanf(f, " %63[^\t]\t%31[^\t]\t%31[^\t]\t%511[^\n]", list[n].name, list[n].version,
		      list[n].kind, list[n].path) == 4)
		n += !streq(list[n].kind, "pypy");
	if (f)
		fclose(f);
	return n;
}

static int after(void **state)
{
	stop();
	host.pid = 0;
	/* a test that failed in a stack walk with failing reads leaves .fail_nth set */
	host.fail_nth = 0;
	return 0;
}

/*
 * Runs @test for each interpreter that @wanted accepts (NULL: for all). Returns the exit code for
 * main().
 */
static int each_interpreter(const char *name, CMUnitTestFunction test,
			    bool (*wanted)(const struct interpreter *))
{
	static struct interpreter list[64];
	static struct CMUnitTest tests[64];
	size_t n = read_table(list, ARRAY_SIZE(list)), k = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		if (!wanted || wanted(&list[i]))
			tests[k++] = (struct CMUnitTest){list[i].name, test, NULL, after, &list[i]};
	if (!k) {
		printf("SKIP %s: no interpreters; tests/setup/interpreters.sh makes them\n", name);
		return 0;
	}
	host_init();
	r = _cmocka_run_group_tests(name, tests, k, NULL, NULL);
	host_fini();
	return r;
}

#endif
