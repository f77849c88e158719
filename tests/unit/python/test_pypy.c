/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a PyPy that this test has made in its own memory, with offsets that no PyPy has. Its one
 * thread is this program's.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "proc/proc.h"
#include "python/code/linetable.h"
#include "python/pypy/pypy.h"

#define FRAMES 3

enum { FRAME_TYPE = 0x2d, STRING_TYPE = 0x48, CODE_TYPE = 0x46 };

/* offsets in words */
enum { VMPROF = 4, IDENT, CONTEXT, TOP = 9, BACK = 2, LASTI = 4, CODE = 6 };
enum {
	NAME = 1,
	HIDDEN = 3,
	ID = 7,
	BYTECODE = 12,
	EXCEPTIONS,
	FILENAME,
	FIRST,
	FLAGS,
	LINETABLE = 19,
	QUALNAME = 22
};

struct string {
	uint64_t header, hash, len;
	char bytes[64];
};

struct entry {
	uint64_t next, value, kind;
};

struct block {
	int32_t ready, reserved;
	uint64_t stack_end, prev, next, words[12];
};

/* the list's head lies among variables that don't begin as zeros, as in PyPy */
static struct block head = {.ready = -1};
static uint64_t gil;
static struct block block;
static struct entry entries[FRAMES];
static uint64_t context[64], frames[FRAMES][16], codes[FRAMES][64];
static struct string strings[FRAMES][5];

static uint64_t at(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static uint64_t string(struct string *s, const char *bytes, size_t n)
{
	*s = (struct string){.header = STRING_TYPE | 1ull << 32, .len = n};
	memcpy(s->bytes, bytes, n);
	return at(s);
}

#define text(s, literal) string(s, literal, sizeof(literal) - 1)

/* Makes a code object with three instructions: in lines 7 and 9, and without a line. */
static void make_code(size_t i)
{
	uint64_t *code = codes[i];
	struct string *s = strings[i];

	code[0] = CODE_TYPE;
	code[NAME] = text(&s[0], "run");
	code[HIDDEN] = 0xdeadbeef00 | (i == 2);
	code[ID] = 100 + 4 * i;
	code[BYTECODE] = text(&s[1], "\x64\0\x64\1\x53\0");
	code[EXCEPTIONS] = text(&s[2], "");
	code[FILENAME] = text(&s[3], "/srv/k\xc3\xa4se.py");
	code[FIRST] = 5;
	code[FLAGS] = 0x43;
	code[LINETABLE] = text(&s[4], "\3\x05\x09\1"
				      "\5\0"
				      "\0");
	/* the string of the qualified name is the last one's name, with a class before it */
	code[QUALNAME] = i ? code[NAME] : at(&s[2]);
}

static void make(void)
{
	static struct string qualname;

	gil = 0;
	memset(context, 0, sizeof(context));
	block = (struct block){.ready = 42, .prev = at(&head), .next = at(&head)};
	head = (struct block){.ready = -1, .prev = at(&block), .next = at(&block)};
	for (size_t i = 0; i < FRAMES; i++) {
		bool last = i + 1 == FRAMES;

		make_code(i);
		entries[i] = (struct entry){last ? 0 : at(&entries[i + 1]), codes[i][ID], 1};
		memset(frames[i], 0, sizeof(frames[i]));
		frames[i][0] = FRAME_TYPE | (uint64_t)i << 32;
		frames[i][BACK] = last ? 0 : at(frames[i + 1]);
		frames[i][BACK + 1] = at(&gil);
		frames[i][LASTI] = 2 * i;
		frames[i][LASTI + 1] = at(&head);
		frames[i][CODE] = at(codes[i]);
	}
	codes[0][QUALNAME] = text(&qualname, "K.run");
	block.words[VMPROF - 4] = at(&entries[0]);
	block.words[IDENT - 4] = (uint64_t)pthread_self();
	block.words[CONTEXT - 4] = at(context);
	context[TOP] = at(frames[0]);
}

static int open_own(struct pypy *p)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	struct py_tids tids = {};
	int r;

	assert_int_equal(proc_open(&proc, getpid()), 0);
	assert_int_equal(proc_maps(&proc, MAPS_ALL, &maps), 0);
	assert_int_equal(py_tids_read(&tids, getpid()), 0);
	r = pypy_open(p, getpid(), &maps, at(&gil), &tids, UINT64_MAX);
	py_tids_fini(&tids);
	return r;
}

static int read_own(const struct pypy *p, pypy_frames *ret)
{
	const struct pypy_thread t = {.block = at(&block), .ident = (uint64_t)pthread_self()};

	*ret = (pypy_frames){};
	return pypy_frames_read(p, &t, ret);
}

static void test_offsets(void **state)
{
	struct py_tids tids = {};
	pypy_threads threads = {};
	struct pypy p;

	make();
	assert_int_equal(open_own(&p), 0);
	assert_int_equal(p.threads, at(&head));
	assert_int_equal(p.at.ident, 8 * IDENT);
	assert_int_equal(p.at.context, 8 * CONTEXT);
	assert_int_equal(p.at.vmprof, 8 * VMPROF);
	assert_int_equal(p.at.top, 8 * TOP);
	assert_int_equal(p.at.back, 8 * BACK);
	assert_int_equal(p.at.lasti, 8 * LASTI);
	assert_int_equal(p.at.code, 8 * CODE);
	assert_int_equal(p.at.id, 8 * ID);
	assert_int_equal(p.at.filename, 8 * FILENAME);
	assert_int_equal(p.at.firstlineno, 8 * FIRST);
	assert_int_equal(p.at.bytecode, 8 * BYTECODE);
	assert_int_equal(p.at.linetable, 8 * LINETABLE);
	assert_int_equal(p.at.qualname, 8 * QUALNAME);

	assert_int_equal(py_tids_read(&tids, getpid()), 0);
	assert_int_equal(pypy_threads_read(&p, &tids, &threads), 0);
	assert_int_equal(threads.n, 1);
	assert_int_equal(threads.v[0].tid, getpid());
	vec_fini(&threads);
	py_tids_fini(&tids);
}

static void test_frames(void **state)
{
	struct pypy_code code;
	struct pypy p;
	pypy_frames f;

	make();
	assert_int_equal(open_own(&p), 0);
	assert_int_equal(read_own(&p, &f), 1);
	assert_int_equal(f.n, FRAMES);
	for (size_t i = 0; i < FRAMES; i++) {
		assert_int_equal(f.v[i].addr, at(frames[i]));
		assert_int_equal(f.v[i].code, at(codes[i]));
		assert_int_equal(f.v[i].lasti, 2 * i);
	}
	vec_fini(&f);
	assert_int_equal(pypy_code_read(&p, at(codes[0]), &code), 0);
	assert_int_equal(code.firstlineno, 5);
	assert_false(code.hidden);
	assert_int_equal(code.qualname.bytes, 5);
	assert_memory_equal(code.qualname.v, "K.run", 5);
	assert_memory_equal(code.filename.v, "/srv/k", 6);
	pypy_code_fini(&code);
	assert_int_equal(pypy_code_read(&p, at(codes[2]), &code), 0);
	assert_true(code.hidden);
	pypy_code_fini(&code);
}

/* Frames that can't be proved, or that aren't up to date, aren't read. */
static void test_refused(void **state)
{
	struct pypy p;
	pypy_frames f;

	make();
	assert_int_equal(open_own(&p), 0);
	gil = (uint64_t)pthread_self();
	assert_int_equal(read_own(&p, &f), -EBUSY);
	gil = 1;
	entries[1].kind = 3;
	assert_int_equal(read_own(&p, &f), -EOPNOTSUPP);
	entries[1].kind = 9;
	assert_int_equal(read_own(&p, &f), -EAGAIN);
	make();
	codes[1][ID]++;
	assert_int_equal(read_own(&p, &f), -EAGAIN);
	vec_fini(&f);
	make();
	frames[2][BACK] = at(frames[0]);
	assert_int_equal(read_own(&p, &f), -EAGAIN);
	vec_fini(&f);
	make();
	frames[1][0] = CODE_TYPE;
	assert_int_equal(read_own(&p, &f), -EAGAIN);
	vec_fini(&f);
	make();
	frames[0][LASTI] = 3;
	assert_int_equal(read_own(&p, &f), -EAGAIN);
	vec_fini(&f);
	make();
	entries[2].next = at(&entries[0]);
	assert_int_equal(read_own(&p, &f), -EAGAIN);
	vec_fini(&f);
	make();
	strings[0][4].header = CODE_TYPE;
	assert_int_equal(pypy_code_read(&p, at(codes[0]), &(struct pypy_code){}), -EAGAIN);
}

/* Nothing is read after .until_ns. */
static void test_until(void **state)
{
	struct pypy p;
	pypy_frames f;

	make();
	assert_int_equal(open_own(&p), 0);
	p.until_ns = 0;
	assert_int_equal(read_own(&p, &f), -ETIMEDOUT);
	assert_int_equal(pypy_code_read(&p, at(codes[0]), &(struct pypy_code){}), -ETIMEDOUT);
}

/* A list of threads that is longer than it can be isn't taken for all of them. */
static void test_long_list(void **state)
{
	static struct block many[1000];
	struct py_tids tids = {};
	pypy_threads threads = {};
	struct pypy p;

	make();
	assert_int_equal(open_own(&p), 0);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = block;
		many[i].prev = i ? at(&many[i - 1]) : at(&block);
		many[i].next = i + 1 < ARRAY_SIZE(many) ? at(&many[i + 1]) : at(&head);
	}
	block.next = at(&many[0]);
	assert_int_equal(py_tids_read(&tids, getpid()), 0);
	assert_int_equal(pypy_threads_read(&p, &tids, &threads), -EAGAIN);
	vec_fini(&threads);
	py_tids_fini(&tids);
}

/* Without a thread that proves the offsets, nothing is found. */
static void test_not_found(void **state)
{
	static struct entry old[FRAMES];
	struct pypy p;

	make();
	entries[1].kind = 3;
	assert_int_equal(open_own(&p), -ENOENT);
	make();
	entries[0].next = 0;
	assert_int_equal(open_own(&p), -ENOENT);
	/* another list has the same functions, so nothing tells which of the two is up to date */
	make();
	memcpy(old, entries, sizeof(old));
	old[0].next = at(&old[1]);
	old[1].next = at(&old[2]);
	block.words[CONTEXT + 1 - 4] = at(&old[0]);
	assert_int_equal(open_own(&p), -ENOENT);
	make();
	codes[2][ID] = 1;
	assert_int_equal(open_own(&p), -ENOENT);
	make();
	strings[1][4].len--;
	assert_int_equal(open_own(&p), -ENOENT);
	make();
	frames[2][LASTI] = 6;
	assert_int_equal(open_own(&p), -ENOENT);
	make();
	block.words[IDENT - 4]++;
	assert_int_equal(open_own(&p), -ENOENT);
	make();
	head.ready = 42;
	assert_int_equal(open_own(&p), -ENOENT);
}

/* Expects an instruction of the converted table to have this position, after line 10. */
static void assert_position(const struct pypy_bytes *table, int lasti, int line, int end_line,
			    int col, int end_col)
{
	struct py_position pos = py_linetable_position(0x030b, table->v, table->n, 10, lasti);

	assert_int_equal(pos.line, line);
	assert_int_equal(pos.end_line, end_line);
	assert_int_equal(pos.col, col);
	assert_int_equal(pos.end_col, end_col);
}

#define convert(literal, ret, units)                                                               \
	assert_int_equal(                                                                          \
		pypy_lines_convert((const uint8_t *)(literal), sizeof(literal) - 1, ret, units),   \
		0)

static void test_lines(void **state)
{
	struct pypy_bytes t;
	long units;

	convert("\3\x05\x09\1"
		"\x81\2\0"
		"\0"
		"\1\xff\xff\xff",
		&t, &units);
	assert_int_equal(units, 4);
	assert_position(&t, 0, 12, 13, 4, 8);
	assert_position(&t, 2, 266, 266, -1, -1);
	assert_position(&t, 4, 0, 0, -1, -1);
	assert_position(&t, 6, 10, 265, 254, 254);
	assert_position(&t, 8, 0, 0, -1, -1);
	free(t.v);
	convert("", &t, &units);
	assert_int_equal(units, 0);
	assert_position(&t, 0, 0, 0, -1, -1);
	free(t.v);
}

/* What lies before the fault of a broken table is right. */
static void test_broken_lines(void **state)
{
	static const char *const broken[] = {"\2\0\3", "\2\0\3\5", "\2\0\3\5\6", "\2\0\x80",
					     "\2\0\xff\xff\xff\xff\xff\x7f"};
	struct pypy_bytes t;
	uint8_t any[300];
	long units;

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		size_t n = i ? 2 + strlen(broken[i] + 2) : 3;

		assert_int_equal(pypy_lines_convert((const uint8_t *)broken[i], n, &t, &units), 0);
		assert_int_equal(units, -1);
		assert_position(&t, 0, 11, 11, -1, -1);
		assert_position(&t, 2, 0, 0, -1, -1);
		free(t.v);
	}
	srand(1);
	for (int i = 0; i < 2000; i++) {
		size_t n = (size_t)rand() % sizeof(any);

		for (size_t k = 0; k < n; k++)
			any[k] = (uint8_t)(rand() & (i & 1 ? 255 : 7));
		assert_int_equal(pypy_lines_convert(any, n, &t, NULL), 0);
		assert_true(t.n <= 4 * n + 1);
		py_linetable_position(0x030b, t.v, t.n, 10, 2 * (int)n);
		free(t.v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets),	  cmocka_unit_test(test_frames),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_until),
		cmocka_unit_test(test_long_list), cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_lines),	  cmocka_unit_test(test_broken_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
