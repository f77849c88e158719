/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walkers over live interpreters, read with process_vm_readv(). For two blocked threads of
 * every installed interpreter they must give the stack that stack.py prints of itself. With every
 * Nth read failing they must give the innermost part of that stack, always with a named outcome.
 */
/* To be included before cmocka.h, in which fail is a macro. */
#include "walk_host.h"

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

/* The stack that one thread has printed of itself. */
struct truth {
	size_t n;
	struct named frame[MAX_NAMED];
};

struct interpreter {
	char name[64], version[32], kind[32], path[512];
};

static struct target {
	pid_t pid;
	FILE *out; /* the output of stack.py */
	struct truth main, thread;
	struct py_where where;
} target;

/* how many frames the walk without failures found */
static size_t n_clean;
static struct wire_frame clean[ABI_MAX_FRAMES];
static uint64_t clean_addr[ABI_MAX_FRAMES];

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
		/* The script goes in the argument, not by its path: a chroot has no such file. */
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

	*w = image->where;
	w->layout = 0;
	py_where_add_bias(w, bias);
}

/* Finds the interpreter in the process. Returns NULL, or why the process can't be walked. */
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

/* Waits until the thread blocks: stack.py prints its stack a moment before. */
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

/* Returns the code object of frame @i, from the record that was sent. */
static struct py_code *code_of(size_t i)
{
	const struct wire_frame *f = &host.out->frame[i];
	struct py_code *code = NULL;

	vec_foreach(r, &host.sent) {
		const struct rec_code *rec = (const void *)r->bytes;

		if (rec->type != REC_CODE || rec->code != f->code || rec->check != f->check)
			continue;
		assert_int_equal(rec->reserved, 0);
		assert_int_equal(py_code_from_record(rec, r->n, host.layout.version, &code), 0);
		assert_int_equal(py_code_fill_from_process(code, target.pid, &host.layout), 0);
		return code;
	}
	fail_msg("the code object of frame %zu wasn't sent", i);
	return NULL;
}

static void compare(const struct truth *truth)
{
	size_t n = 0;

	for (size_t i = 0; i < host.w->n; i++) {
		_cleanup_(cleanup_py_code) struct py_code *code = code_of(i);
		const struct named *t = &truth->frame[n];

		if (code->internal)
			continue;
		assert_true(n++ < truth->n);
		assert_string_equal(code->name, t->name);
		assert_string_equal(code->file, t->file);
		assert_int_equal(py_code_position(code, host.out->frame[i].lasti).line, t->line);
	}
	assert_int_equal(n, truth->n);
}

/*
 * Did the walk with failing reads give the innermost part of the stack, or that of a loop further
 * out?
 */
static void assert_part(void)
{
	size_t from = 0;

	while (host.w->n && from < n_clean && host.addrs->frame[0] != clean_addr[from])
		from++;
	assert_true(!from || host.layout.walk == PY_WALK_CFRAME);
	assert_true(from + host.w->n <= n_clean);
	for (size_t i = 0; i < host.w->n; i++) {
		assert_int_equal(host.addrs->frame[i], clean_addr[from + i]);
		assert_true(host_same_frame(&host.out->frame[i], &clean[from + i]));
	}
	if (host.w->outcome == WALK_OK)
		assert_int_equal(from + host.w->n, n_clean);
}

/* Both threads are in read() without the GIL, so that no other state is right. */
static void assert_released(bool certain)
{
	const struct futex_call none = {.op = -1};
	uint8_t got = gil_of(host.w, &host.layout, &none);

	if (certain || got != GIL_UNKNOWN)
		assert_int_equal(got, target.where.gil == PY_GIL_FREE ? GIL_NONE : GIL_RELEASED);
}

static void walk_failing(uint64_t tp)
{
	assert_released(true);
	n_clean = host.w->n;
	memcpy(clean, host.out->frame, sizeof(clean));
	memcpy(clean_addr, host.addrs->frame, sizeof(clean_addr));
	for (host.fail_nth = 1; host.fail_nth <= 200; host.fail_nth++) {
		host_walk(&target.where, tp);
		assert_part();
		assert_released(false);
	}
	host.fail_nth = 0;
}

static void walk_thread(pid_t tid, const struct truth *truth)
{
	uint64_t tp = 0;

	assert_true(blocks_in_read(tid));
	if (!thread_pointer(tid, &tp))
		fail_msg("ptrace of %d failed: %s", tid, strerror(errno));
	host_forget_sent();
	assert_int_equal(host_walk(&target.where, tp), WALK_OK);
	send_stack(host.w);
	compare(truth);
	walk_failing(tp);
}

static void test_interpreter(void **state)
{
	const struct interpreter *p = *state;
	const char *why;

	start(p->path);
	if (!read_truth() || !read_truth())
		fail_msg("%s said nothing of its stack", p->name);
	host.pid = target.pid;
	why = find();
	if (why) {
		printf("SKIP walk_live %s: %s\n", p->name, why);
		return;
	}
	walk_thread(target.pid, &target.main);
	walk_thread(second_thread(), &target.thread);
}

static int after(void **state)
{
	stop();
	host.pid = 0;
	host.fail_nth = 0; /* still set if a walk with failing reads has failed the test */
	return 0;
}

/*
 * Opens the table of tests/setup/interpreters.sh: name, version, kind, path, with tabs between
 * them.
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

int main(void)
{
	static struct interpreter list[64];
	static struct CMUnitTest tests[64];
	FILE *f = open_table();
	size_t n = 0;
	int r;

	while (f && n < ARRAY_SIZE(list)) {
		struct interpreter *p = &list[n];

		if (fscanf(f, " %63[^\t]\t%31[^\t]\t%31[^\t]\t%511[^\n]", p->name, p->version,
			   p->kind, p->path) != 4)
			break;
		if (streq(p->kind, "pypy"))
			continue;
		tests[n++] = (struct CMUnitTest){p->name, test_interpreter, NULL, after, p};
	}
	if (f)
		fclose(f);
	if (!n) {
		printf("SKIP walk_live: no interpreters; tests/setup/interpreters.sh makes them\n");
		return 0;
	}
	host_init();
	r = _cmocka_run_group_tests("walk_live", tests, n, NULL, NULL);
	host_fini();
	return r;
}
