/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses /proc/PID/maps: lines written by hand, and this process's own maps, compared with
 * dl_iterate_phdr().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "proc/read/maps.h"
#include "proc/read/reader.h"

#define LINE(path)                                                                                 \
	"7f0000001000-7f0000003000 r-xp 0000a000 fd:01 1234                     " path "\n"

static struct maps m;

static int teardown(void **state)
{
	maps_fini(&m);
	m = (struct maps){};
	return 0;
}

static void parse(const char *text, unsigned want)
{
	maps_fini(&m);
	assert_int_equal(maps_parse(text, strlen(text), want, &m), 0);
}

static void test_fields(void **state)
{
	parse(LINE("/usr/bin/python3.13"), MAPS_EXEC);
	assert_int_equal(m.list.n, 1);
	assert_int_equal(m.malformed, 0);
	assert_int_equal(m.list.v[0].start, 0x7f0000001000);
	assert_int_equal(m.list.v[0].end, 0x7f0000003000);
	assert_int_equal(m.list.v[0].offset, 0xa000);
	assert_int_equal(m.list.v[0].dev, 0xfd << 20 | 1);
	assert_int_equal(m.list.v[0].ino, 1234);
	assert_int_equal(m.list.v[0].prot, PROT_READ | PROT_EXEC);
	assert_false(m.list.v[0].shared);
	assert_false(m.list.v[0].deleted);
	assert_string_equal(maps_path(&m, m.list.v), "/usr/bin/python3.13");
}

static void test_paths(void **state)
{
	static const struct {
		const char *line, *path;
		bool deleted;
	} cases[] = {
		{LINE("/a b/c  d"), "/a b/c  d", false},
		{LINE("/opt/python (deleted)"), "/opt/python", true},
		{LINE("/new\\012line"), "/new\nline", false},
		{LINE("\\012\\012"), "\n\n", false},
		/*
		 * the kernel escapes only newlines in a path; other backslashes belong to the name
		 */
		{LINE("/b\\041\\01"), "/b\\041\\01", false},
		{LINE("/\xff\xfe\x01"), "/\xff\xfe\x01", false},
		{LINE("(deleted)"), "(deleted)", false},
		{LINE(" (deleted)"), "(deleted)", false},
		{"7f00-7f01 r-xp 00000000 00:00 0 \n", "", false},
		{"7f00-7f01 r-xp 00000000 00:00 0                          [vdso]\n", "[vdso]",
		 false},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		 "[vsyscall]\n",
		 "[vsyscall]", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		parse(cases[i].line, MAPS_EXEC);
		assert_int_equal(m.list.n, 1);
		assert_string_equal(maps_path(&m, m.list.v), cases[i].path);
		assert_int_equal(m.list.v[0].deleted, cases[i].deleted);
	}
}

static void test_malformed(void **state)
{
	static const char *const lines[] = {
		"\n",
		"7f00\n",
		"7f00-7f01\n",
		"7f01-7f00 r-xp 00000000 00:00 0 \n",
		"7f00-7f00 r-xp 00000000 00:00 0 \n",
		"7f00-7f01 rwxq 00000000 00:00 0 \n",
		"7f00-7f01 zwxp 00000000 00:00 0 \n",
		"7f00-7f01 r-x\n",
		"7f00-7f01 r-xp\n",
		"11117f00000000000-7f01 r-xp 00000000 00:00 0 \n",
		"7f00-7f01 r-xp 00000000 fffff:00 0 \n",
		"7f00-7f01 r-xp 00000000 00:ffffffffff 0 \n",
		"7f00-7f01 r-xp 00000000 00:00 99999999999999999999 \n",
		"7f00-7f01 r-xp 00000000 00:00 a \n",
		"-7f01 r-xp 00000000 00:00 0 \n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		parse(lines[i], MAPS_ALL);
		assert_int_equal(m.list.n, 0);
		assert_int_equal(m.malformed, 1);
	}
}

static void test_cut_line_is_not_a_line(void **state)
{
	const char *line = LINE("/usr/lib/libpython3.8.so.1.0");

	for (size_t n = 0; n < strlen(line); n++) {
		maps_fini(&m);
		assert_int_equal(maps_parse(line, n, MAPS_ALL, &m), 0);
		assert_int_equal(m.list.n, 0);
		assert_int_equal(m.malformed, n > 0);
	}
}

static void test_want(void **state)
{
	static const char text[] = "1000-2000 r--p 00000000 fd:01 7                          /f\n"
				   "2000-3000 r-xp 00001000 fd:01 7                          /f\n"
				   "3000-4000 rw-p 00000000 00:00 0 \n"
				   "4000-5000 rwxp 00000000 00:00 0 \n";

	parse(text, MAPS_EXEC);
	assert_int_equal(m.list.n, 2);
	parse(text, MAPS_FILE);
	assert_int_equal(m.list.n, 2);
	assert_int_equal(m.list.v[0].path, m.list.v[1].path);
	parse(text, MAPS_EXEC | MAPS_FILE);
	assert_int_equal(m.list.n, 3);
	parse(text, MAPS_ALL);
	assert_int_equal(m.list.n, 4);
	assert_string_equal(maps_path(&m, &m.list.v[3]), "");
}

static void test_find(void **state)
{
	parse("1000-2000 r-xp 00000000 00:00 0 \n4000-5000 r-xp 00000000 00:00 0 \n", MAPS_ALL);
	assert_null(maps_find(&m, 0xfff));
	assert_ptr_equal(maps_find(&m, 0x1000), &m.list.v[0]);
	assert_ptr_equal(maps_find(&m, 0x1fff), &m.list.v[0]);
	assert_null(maps_find(&m, 0x2000));
	assert_ptr_equal(maps_find(&m, 0x4fff), &m.list.v[1]);
	assert_null(maps_find(&m, 0x5000));
}

/* Checks that krait has a mapping for each executable segment that the dynamic linker knows. */
static int check_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
	int *seen = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const struct mapping *e;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		e = maps_find(&m, info->dlpi_addr + p->p_vaddr);
		assert_non_null(e);
		assert_true(e->end >= info->dlpi_addr + p->p_vaddr + p->p_filesz);
		if (e->ino) {
			assert_int_equal(e->offset, p->p_offset & ~0xfffull);
			++*seen;
		}
	}
	return 0;
}

static void test_own(void **state)
{
	int dir = open("/proc/self", O_RDONLY | O_DIRECTORY), seen = 0;
	const struct mapping *e;
	struct stat st;

	assert_int_equal(maps_read(dir, MAPS_EXEC, &m), 0);
	close(dir);
	assert_int_equal(m.malformed, 0);
	dl_iterate_phdr(check_segments, &seen);
	assert_true(seen >= 2);
	e = maps_find(&m, (uintptr_t)test_own);
	assert_non_null(e);
	assert_int_equal(stat(maps_path(&m, e), &st), 0);
	assert_int_equal(st.st_ino, e->ino);
}

/*
 * The text of the maps is longer than one read(). A file's path contains all bytes that the kernel
 * or a parser might treat specially.
 */
static void test_many(void **state)
{
	char name[] = "/tmp/krait-maps-XXXXXX", path[64];
	int dir = open("/proc/self", O_RDONLY | O_DIRECTORY), n = 3000, fd;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), seen = 0;
	char *p;

	assert_non_null(mkdtemp(name));
	snprintf(path, sizeof(path), "%s/\n\t\\ \"(deleted)", name);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0 && !ftruncate(fd, (off_t)page));
	p = mmap(NULL, (size_t)n * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* each mapping has file offset 0, so the kernel doesn't merge neighbours */
	for (int i = 0; i < n; i++)
		assert_true(mmap(p + (size_t)i * page, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
				 0) != MAP_FAILED);
	assert_int_equal(maps_read(dir, MAPS_FILE, &m), 0);
	vec_foreach(e, &m.list)
		seen += e->shared && streq(maps_path(&m, e), path) && !e->deleted;
	assert_int_equal(seen, n);
	assert_false(m.truncated);
	/* krait keeps the path once, although all these mappings have it */
	assert_true(m.text.n < 100000);
	munmap(p, (size_t)n * page);
	close(fd);
	close(dir);
	unlink(path);
	rmdir(name);
}

static void add_text(struct str *text)
{
	int fd = open("/proc/self/maps", O_RDONLY);
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		str_add_n(text, buf, (size_t)n);
	close(fd);
}

/*
 * The executable mappings that krait returns are those in the text of /proc/PID/maps, whichever way
 * krait reads them.
 */
static void test_executable(void **state)
{
	int dir = open("/proc/self", O_RDONLY | O_DIRECTORY), fd = memfd_create("a\nb", 0);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), seen = 0;
	struct str text = {};
	struct maps want;
	void *file, *anon;

	assert_true(fd >= 0 && !ftruncate(fd, 3 * (off_t)page));
	file = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 2 * (off_t)page);
	anon = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(file != MAP_FAILED && anon != MAP_FAILED);
	add_text(&text);
	assert_int_equal(maps_parse(text.s, text.n, MAPS_EXEC, &want), 0);
	assert_int_equal(maps_read(dir, MAPS_EXEC, &m), 0);
	vec_foreach(e, &want.list) {
		const struct mapping *got = maps_find(&m, e->start);

		if (e->start >> 63) /* [vsyscall] isn't a mapping of the process */
			continue;
		assert_non_null(got);
		assert_string_equal(maps_path(&m, got), maps_path(&want, e));
		assert_true(got->start == e->start && got->end == e->end && got->dev == e->dev &&
			    got->ino == e->ino && got->offset == e->offset);
		assert_true(got->prot == e->prot && got->shared == e->shared &&
			    got->deleted == e->deleted);
		seen++;
		if (got->start == (uintptr_t)file)
			assert_true(got->deleted && got->shared && got->offset == 2 * page &&
				    streq(maps_path(&m, got), "/memfd:a\nb"));
	}
	assert_non_null(maps_find(&m, (uintptr_t)anon));
	vec_foreach(e, &m.list)
		seen -= !(e->start >> 63);
	assert_int_equal(seen, 0);
	maps_fini(&want);
	str_fini(&text);
	munmap(file, page);
	munmap(anon, page);
	close(fd);
	close(dir);
}

#define DEEP 70 /* depth of the nested directories, each of which has the longest possible name */

static char deep[256]; /* the name of these directories */

/* Runs in a child. Maps a file whose path is 17,920 bytes long, and ends when @end is closed. */
static _Noreturn void map_deep(const char *top, int ready, int end)
{
	bool ok = !chdir(top);
	int fd;

	for (int i = 0; i < DEEP; i++)
		ok = ok && !mkdir(deep, 0700) && !chdir(deep);
	fd = ok ? open("file", O_RDWR | O_CREAT, 0600) : -1;
	ok = fd >= 0 && !ftruncate(fd, 4096) &&
	     mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;
	(void)!write(ready, &ok, 1);
	(void)!read(end, &ok, 1);
	unlink("file");
	for (int i = 0; i < DEEP && !chdir(".."); i++)
		rmdir(deep);
	_exit(0);
}

/*
 * Reads the mappings of process @pid while this process can open no more files, so that krait's
 * helper process has to read them.
 */
static int read_by_child(pid_t pid)
{
	char name[32];
	struct rlimit before, none;
	int dir, r;

	snprintf(name, sizeof(name), "/proc/%d", pid);
	dir = open(name, O_RDONLY | O_DIRECTORY);
	reader_prepare();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = maps_read(dir, MAPS_FILE, &m);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	close(dir);
	return r;
}

/* A path may be longer than PATH_MAX. krait reads it whole, and so does its helper process. */
static void test_long_path(void **state)
{
	char top[] = "/tmp/krait-maps-XXXXXX", ok = 0;
	int ready[2], end[2], seen = 0;
	struct str path = {};
	pid_t pid;

	memset(deep, 'd', sizeof(deep) - 1);
	assert_non_null(mkdtemp(top));
	str_add(&path, top);
	for (int i = 0; i < DEEP; i++)
		str_addf(&path, "/%s", deep);
	str_add(&path, "/file");
	assert_true(!pipe(ready) && !pipe(end));
	pid = fork();
	if (!pid) {
		close(end[1]);
		map_deep(top, ready[1], end[0]);
	}
	assert_true(read(ready[0], &ok, 1) == 1 && ok);
	assert_int_equal(read_by_child(pid), 0);
	close(end[1]);
	waitpid(pid, NULL, 0);
	vec_foreach(e, &m.list)
		seen += streq(maps_path(&m, e), str_cstr(&path));
	assert_int_equal(seen, 1);
	assert_int_equal(m.malformed, 0);
	assert_true(m.list.n > 2); /* the program's own mappings were read as well */
	reader_close();
	str_fini(&path);
	close(ready[0]);
	close(ready[1]);
	close(end[0]);
	rmdir(top);
}

static void test_gone(void **state)
{
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);

	assert_true(maps_read(dir, MAPS_ALL, &m) < 0);
	assert_non_null(strstr(err_msg(), "mappings"));
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_fields, teardown),
		cmocka_unit_test_teardown(test_paths, teardown),
		cmocka_unit_test_teardown(test_malformed, teardown),
		cmocka_unit_test_teardown(test_cut_line_is_not_a_line, teardown),
		cmocka_unit_test_teardown(test_want, teardown),
		cmocka_unit_test_teardown(test_executable, teardown),
		cmocka_unit_test_teardown(test_find, teardown),
		cmocka_unit_test_teardown(test_own, teardown),
		cmocka_unit_test_teardown(test_many, teardown),
		cmocka_unit_test_teardown(test_long_path, teardown),
		cmocka_unit_test_teardown(test_gone, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
