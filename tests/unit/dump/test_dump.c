/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests `krait dump` with made-up texts and files: what it reads from texts of /proc, which waits
 * it recognizes by system calls and kernel functions, which source lines it shows. Also checks that
 * its unwind tables equal the unwind rows that they were made of.
 */
#include <grp.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "dump/facts/source.h"
#include "dump/store.h"
#include "dump/facts/texts.h"
#include "dump/facts/wait.h"

static void test_look(void **state)
{
	struct task_look look = {};

	/* A newline in a process's name is written as \n, two characters. */
	assert_true(task_look_parse("Name:\tState:\\nState:\tZ\nUmask:\t0\nState:\tD (disk sleep)\n"
				    "voluntary_ctxt_switches:\t7\n"
				    "nonvoluntary_ctxt_switches:\t5\n",
				    &look));
	assert_int_equal(look.state, 'D');
	assert_int_equal(look.switches, 12);
	assert_false(task_look_parse("", &look));
	assert_false(task_look_parse("Name:\tx\nState:\tS (sleeping)\n", &look));
}

static void test_stayed(void **state)
{
	struct task_look a = {'S', 3}, b = {'S', 3};

	assert_true(task_stayed(&a, &b));
	b.switches = 4;
	assert_false(task_stayed(&a, &b));
	a = b = (struct task_look){'R', 3};
	assert_false(task_stayed(&a, &b));
}

static void test_place(void **state)
{
	struct task_place p = {};

	assert_true(task_place_parse("202 0x10 0x189 0x0 0x4 0x5 0x6 0x7ffe 0x7f01\n", &p));
	assert_int_equal(p.call, 202);
	assert_int_equal(p.arg[1], 0x189);
	assert_int_equal(p.sp, 0x7ffe);
	assert_int_equal(p.pc, 0x7f01);
	assert_true(task_place_parse("-1 0x7ffe 0x7f01\n", &p));
	assert_int_equal(p.call, TASK_NO_CALL);
	assert_int_equal(p.pc, 0x7f01);
	assert_false(p.runs);
	assert_false(task_place_parse("running\n", &p));
	assert_true(p.runs);
	assert_false(task_place_parse("0 0x1\n", &p));
	assert_false(task_place_parse("", &p));
}

static struct wait wait_in(char state, long call, uint64_t first, uint64_t second,
			   const char *wchan)
{
	struct task_look look = {.state = state};
	struct task_place place = {.call = call, .arg = {first, second}};

	snprintf(place.wchan, sizeof(place.wchan), "%s", wchan);
	return wait_of(&look, &place);
}

static void test_waits(void **state)
{
	struct wait w = wait_in('S', SYS_read, 5, 0, "pipe_read");

	assert_int_equal(w.kind, WAIT_IO);
	assert_string_equal(w.call, "read");
	assert_int_equal(w.fd, 5);
	assert_false(w.disk);
	assert_true(wait_in('D', SYS_fsync, 3, 0, "").disk);
	w = wait_in('D', SYS_statx, 7, 0, "rpc_wait_bit_killable");
	assert_int_equal(w.kind, WAIT_IO);
	assert_string_equal(w.call, "statx");
	assert_int_equal(w.fd, -1);
	w = wait_in('D', SYS_fchmodat, 7, 0, "percpu_rwsem_wait");
	assert_int_equal(w.kind, WAIT_IO);
	assert_string_equal(w.call, "fchmodat");
	assert_int_equal(wait_in('D', SYS_fchmod, 7, 0, "percpu_rwsem_wait").fd, 7);
	w = wait_in('D', SYS_munmap, 7, 0, "rwsem_down_write_slowpath");
	assert_int_equal(w.kind, WAIT_BLOCKED);
	assert_string_equal(w.call, "munmap");
	assert_int_equal(w.fd, -1);
	assert_int_equal(wait_in('D', SYS_mmap, 0, 0, "folio_wait_bit_common").kind, WAIT_IO);
	assert_int_equal(wait_in('D', TASK_UNKNOWN, 0, 0, "request_wait_answer").kind, WAIT_IO);
	assert_int_equal(wait_in('S', SYS_ioctl, 7, 0, "").fd, 7);
	assert_int_equal(wait_in('S', SYS_futex, 0x1000, 0, "").kind, WAIT_LOCK);
	/* tee() has two descriptors. krait names the one that isn't ready. */
	assert_int_equal(wait_in('S', SYS_tee, 3, 4, "pipe_wait_readable").fd, 3);
	assert_int_equal(wait_in('S', SYS_tee, 3, 4, "pipe_wait_writable").fd, 4);
	assert_int_equal(wait_in('S', SYS_splice, 3, 0, "wait_woken").fd, -1);
	/* up to Python 3.10, time.sleep() calls pselect6() without descriptors */
	assert_int_equal(wait_in('S', SYS_pselect6, 0, 0, "do_select").kind, WAIT_SLEEP);
	assert_int_equal(wait_in('S', SYS_pselect6, 4, 0, "do_select").kind, WAIT_POLL);
	assert_int_equal(wait_in('S', SYS_ppoll, 0x1000, 0, "").kind, WAIT_SLEEP);
	assert_int_equal(wait_in('S', SYS_ppoll, 0x1000, 1, "").kind, WAIT_POLL);
	assert_int_equal(wait_in('S', SYS_restart_syscall, 0, 0, "futex_wait").kind, WAIT_LOCK);
	assert_int_equal(wait_in('S', SYS_restart_syscall, 0, 0, "do_sys_poll").kind, WAIT_POLL);
	assert_int_equal(wait_in('S', SYS_restart_syscall, 0, 0, "do_syscall_64").kind, WAIT_SLEEP);
	assert_int_equal(wait_in('S', SYS_restart_syscall, 0, 0, "x").kind, WAIT_BLOCKED);
	/*
	 * a page fault, which isn't a system call; a system call that krait has no rule for; a
	 * thread of which nothing is known
	 */
	assert_int_equal(wait_in('D', TASK_NO_CALL, 0, 0, "folio_wait_bit_common").kind, WAIT_IO);
	w = wait_in('S', SYS_getpid, 0, 0, "some_function");
	assert_int_equal(w.kind, WAIT_BLOCKED);
	assert_null(w.call);
	assert_int_equal(w.fd, -1);
	assert_int_equal(wait_in('S', TASK_UNKNOWN, 0, 0, "").kind, WAIT_BLOCKED);
	assert_int_equal(wait_in('T', SYS_read, 0, 0, "").kind, WAIT_STOPPED);
	/* a thread that was frozen (cgroup freezer) within a system call */
	w = wait_in('S', SYS_futex, 0x1000, 0, "get_signal");
	assert_int_equal(w.kind, WAIT_FROZEN);
	assert_null(w.call);
	assert_int_equal(wait_in('S', SYS_read, 5, 0, "do_freezer_trap").kind, WAIT_FROZEN);
	w = wait_of(&(struct task_look){.state = 'S'},
		    &(struct task_place){.call = TASK_UNKNOWN, .runs = true});
	assert_int_equal(w.kind, WAIT_RUNNING);
	assert_int_equal(wait_in('R', SYS_read, 0, 0, "").kind, WAIT_RUNNING);
}

static enum wait_kind io_kind(char state, long call, const char *wchan, const char *target)
{
	struct wait w = wait_in(state, call, 5, 0, wchan);
	struct task_place place = {.call = call};

	snprintf(place.wchan, sizeof(place.wchan), "%s", wchan);
	wait_tell_io(&w, &place, target);
	return w.kind;
}

/*
 * The kind of the descriptor says what a wait for input or output is for. If the descriptor says
 * nothing, the kernel's function does.
 */
static void test_io(void **state)
{
	assert_int_equal(io_kind('S', SYS_read, "", "socket:[12]"), WAIT_NET);
	assert_int_equal(io_kind('S', SYS_read, "", "pipe:[12]"), WAIT_PIPE);
	assert_int_equal(io_kind('S', SYS_read, "anon_pipe_read", "/tmp/fifo"), WAIT_PIPE);
	assert_int_equal(io_kind('S', SYS_openat, "wait_for_partner", ""), WAIT_PIPE);
	assert_int_equal(io_kind('S', SYS_read, "", "/tmp/file"), WAIT_FILE);
	assert_int_equal(io_kind('D', SYS_openat, "", ""), WAIT_FILE);
	assert_int_equal(io_kind('S', SYS_read, "n_tty_read", "/dev/pts/0"), WAIT_IO);
	assert_int_equal(io_kind('S', SYS_read, "eventfd_read", "anon_inode:[eventfd]"), WAIT_IO);
	assert_int_equal(io_kind('D', TASK_NO_CALL, "folio_wait_bit_common", ""), WAIT_PAGE_FAULT);
	assert_int_equal(io_kind('S', SYS_futex, "", "socket:[12]"), WAIT_LOCK);
	assert_int_equal(io_kind('D', SYS_munmap, "", ""), WAIT_BLOCKED);
}

/*
 * Returns the value that the unwind table has for code offset @key: that of the last row that
 * begins at or before @key.
 */
static uint32_t look_up(const struct store *s, uint32_t table, uint32_t key)
{
	uint32_t at = s->tables.v[table].root, value = 0;

	for (uint32_t level = 0; level < s->tables.v[table].depth; level++) {
		const struct unwind_chunk *c = s->chunks.v[at];

		for (int i = 0; i < UNWIND_FANOUT && c->key[i] <= key && c->key[i] != UINT32_MAX;
		     i++)
			value = c->value[i];
		at = value;
	}
	return value;
}

static void test_store(void **state)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	const struct unwind_fde eval = {.start = 16 * 700, .end = 16 * 703};
	struct store s;
	uint32_t first, table;

	for (int i = 0; i < 3; i++)
		assert_int_equal(vec_push(&rows.rules, (struct unwind_rule){.off = i}), 0);
	for (uint32_t i = 1; i < 2000; i++)
		assert_int_equal(vec_push(&rows.rows, (struct unwind_row){16 * i, i % 3}), 0);
	assert_int_equal(store_init(&s), 0);
	assert_int_equal(store_new_table(&s, &first), 0);
	assert_int_equal(store_new_table(&s, &table), 0);
	assert_int_equal(store_fill(&s, first, &rows, NULL, 0), 0);
	assert_int_equal(store_fill(&s, table, &rows, &eval, 1), 0);
	assert_int_equal(s.tables.v[table].depth, 2);
	/* no unwind rule holds before the first row */
	assert_int_equal(s.rules.v[look_up(&s, table, 15) & UNWIND_RULE_MASK].cfa, UNWIND_UNKNOWN);
	for (uint32_t i = 1; i < 2000; i++) {
		uint32_t value = look_up(&s, table, 16 * i + 7);

		assert_int_equal(s.rules.v[value & UNWIND_RULE_MASK].off, i % 3);
		assert_int_equal((value & UNWIND_EVAL) != 0, i >= 700 && i < 703);
	}
	store_fini(&s);
}

static void write_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fchmod(fileno(f), mode), 0);
}

static const char *line_of(struct source *s, const char *dir, const char *name, int line, size_t *n)
{
	_cleanup_free_ char *path = NULL;
	bool changed;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	return source_line(s, path, line, n, &changed);
}

static void test_source(void **state)
{
	char dir[] = "/tmp/krait-test-dump.XXXXXX";
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_free_ char *command = NULL;
	const struct dump_texts none = {};
	struct source s;
	const char *line;
	size_t n;

	assert_non_null(mkdtemp(dir));
	write_file(dir, "a.py", "one\r\n\nthree", 0644);
	write_file(dir, "secret.txt", "hidden\n", 0644);
	assert_int_equal(proc_open(&proc, getpid()), 0);
	source_init(&s, &proc, &none);
	line = line_of(&s, dir, "a.py", 1, &n);
	assert_non_null(line);
	assert_int_equal(n, 3);
	assert_memory_equal(line, "one", 3);
	assert_non_null(line_of(&s, dir, "a.py", 2, &n));
	assert_int_equal(n, 0);
	assert_non_null(line_of(&s, dir, "a.py", 3, &n));
	assert_int_equal(n, 5);
	assert_null(line_of(&s, dir, "a.py", 4, &n));
	assert_null(line_of(&s, dir, "a.py", 0, &n));
	assert_null(line_of(&s, dir, "a.py", -1, &n));
	assert_null(line_of(&s, dir, "secret.txt", 1, &n));
	assert_null(line_of(&s, dir, "none.py", 1, &n));
	source_fini(&s);
	assert_true(asprintf(&command, "rm -r %s", dir) > 0);
	assert_int_equal(system(command), 0);
}

/*
 * In /proc/PID/status the counts of context switches come after the groups. There may be 65,536
 * groups, which is 720 KB of text.
 */
static void test_many_groups(void **state)
{
	static gid_t groups[NGROUPS_MAX];
	_cleanup_proc_ struct proc proc = PROC_INIT;
	struct task_look look = {};
	int up[2], go[2], r;
	char ready = 0;
	pid_t child;

	for (size_t i = 0; i < NGROUPS_MAX; i++)
		groups[i] = (gid_t)(4000000000u + i);
	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(go), 0);
	child = fork();
	if (!child) {
		close(go[1]);
		ready = setgroups(NGROUPS_MAX, groups) ? 'n' : 'y';
		if (write(up[1], &ready, 1) == 1 && !read(go[0], &ready, 1))
			_exit(0);
		_exit(1);
	}
	assert_int_equal(read(up[0], &ready, 1), 1);
	r = proc_open(&proc, child);
	if (!r)
		r = task_look(proc.dirfd, child, &look);
	close(go[1]);
	waitpid(child, NULL, 0);
	close(go[0]);
	close(up[0]);
	close(up[1]);
	if (ready == 'n') {
		printf("SKIP many groups: setgroups() isn't permitted\n");
		skip();
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),   cmocka_unit_test(test_stayed),
		cmocka_unit_test(test_place),  cmocka_unit_test(test_waits),
		cmocka_unit_test(test_io),     cmocka_unit_test(test_store),
		cmocka_unit_test(test_source), cmocka_unit_test(test_many_groups),
	};

	return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
