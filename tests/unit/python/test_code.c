/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes code objects from records, some of them hostile, and completes them from a live process.
 * That process is this test itself: it lays out CPython's structures by hand, and krait reads them
 * with process_vm_readv().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "check.h"
#include "python/code/code.h"

struct built {
	struct rec_code head;
	uint8_t bytes[1024];
};

/*
 * Sets text @which of the record: its address @at in the target, and the @len bytes at @s that were
 * copied (NULL: none). @n: the size of the record so far.
 */
static void put(struct built *b, size_t *n, enum code_text which, uint64_t at, unsigned kind,
		const char *s, uint32_t len)
{
	b->head.text[which] = (struct wire_text){.addr = at,
						 .len = len,
						 .bytes = s ? len : 0,
						 .kind = (uint8_t)kind,
						 .ascii = kind == 1};
	if (s)
		memcpy((uint8_t *)b + *n, s, len);
	*n += s ? (len + 7) & ~7u : 0;
}

static size_t build(struct built *b)
{
	size_t n = sizeof(b->head);

	*b = (struct built){.head = {.type = REC_CODE, .firstlineno = 10, .code = 0x1000}};
	put(b, &n, CODE_FILENAME, 0x2000, 1, "/app/a.py", 9);
	put(b, &n, CODE_NAME, 0x3000, 1, NULL, 0);
	put(b, &n, CODE_QUALNAME, 0x4000, 1, "C.f", 3);
	put(b, &n, CODE_LINETABLE, 0x5000, 0, "\x81\x12", 2);
	return n;
}

static void test_record(void **state)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	struct built b;
	size_t n = build(&b);

	assert_int_equal(py_code_from_record(&b.head, n, 0x30c, &code), 0);
	assert_string_equal(code->name, "C.f");
	assert_string_equal(code->file, "/app/a.py");
	assert_int_equal(code->missing, 0);
	assert_false(code->internal);
	assert_int_equal(code->version, 0x30c);
	assert_int_equal(py_code_position(code, 0).line, 10);
	assert_int_equal(py_code_position(code, 0).col, 1);
	assert_int_equal(py_code_position(code, 8).line, 0);
}

static void test_old_record(void **state)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	struct built b = {.head = {.firstlineno = 3}};
	size_t n = sizeof(b.head);

	put(&b, &n, CODE_FILENAME, 0x2000, 0, "caf\xe9.py", 7);
	put(&b, &n, CODE_NAME, 0x3000, 0, "f", 1);
	put(&b, &n, CODE_LINETABLE, 0x5000, 0, "\0\1", 2);
	assert_int_equal(py_code_from_record(&b.head, n, 0x207, &code), 0);
	assert_string_equal(code->name, "f");
	assert_string_equal(code->file, "caf\xc3\xa9.py");
	assert_int_equal(py_code_position(code, 0).line, 4);
	assert_int_equal(py_code_position(code, -1).line, 3);
}

static void test_being_built(void **state)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	struct built b;
	size_t n = build(&b);

	b.head.firsttraceable = 4;
	/* as if not even the length of the line table could be read */
	b.head.text[CODE_LINETABLE].bytes = 0;
	b.head.text[CODE_LINETABLE].len = UINT32_MAX;
	assert_int_equal(py_code_from_record(&b.head, n, 0x30c, &code), 0);
	assert_int_equal(py_code_position(code, 0).line, 10);
	assert_int_equal(py_code_position(code, 6).line, 10);
	assert_int_equal(py_code_position(code, 8).line, 0);
	/* the record came without a line table, so krait has to fetch it */
	assert_int_equal(code->missing, 1 << CODE_LINETABLE);
}

/*
 * If a line table is longer than what the kernel program copies (as with huge literals), krait uses
 * the part that was copied.
 */
static void test_long_table(void **state)
{
	/*
	 * line tables of several versions: an entry for 4 bytes of code on line 11, then only the
	 * first bytes of the next entry
	 */
	static const struct {
		unsigned version;
		const char *table;
		size_t bytes;
		/*
		 * lasti of the last instruction of the first entry, and lasti in the second entry
		 */
		int last, next;
	} of[] = {
		{0x309, "\0\1\4\1\4", 5, 3, 4},
		{0x30a, "\4\1\4", 3, 1, 2},
		{0x30b, "\xe9\2\xe9", 3, 2, 4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		_cleanup_(cleanup_py_code) struct py_code *code = NULL;
		struct built b = {.head = {.firstlineno = 10}};
		size_t n = sizeof(b.head);

		put(&b, &n, CODE_FILENAME, 0x2000, 1, "a.py", 4);
		put(&b, &n, CODE_NAME, 0x3000, 1, "f", 1);
		put(&b, &n, CODE_LINETABLE, 0x5000, 0, of[i].table, (uint32_t)of[i].bytes);
		b.head.text[CODE_LINETABLE].len = 70000;
		assert_int_equal(py_code_from_record(&b.head, n, of[i].version, &code), 0);
		assert_int_equal(code->missing, 1 << CODE_LINETABLE);
		assert_int_equal(py_code_missing(code, of[i].last), 0);
		assert_int_equal(py_code_position(code, of[i].last).line, 11);
		assert_int_equal(py_code_missing(code, of[i].next), 1 << CODE_LINETABLE);
		assert_int_equal(py_code_position(code, of[i].next).line, 0);
	}
}

static void test_internal(void **state)
{
	for (unsigned version = 0x30b; version <= 0x30f; version++) {
		_cleanup_(cleanup_py_code) struct py_code *code = NULL;
		struct built b = {.head = {.firsttraceable = 4}};
		size_t n = sizeof(b.head);

		put(&b, &n, CODE_FILENAME, 0x2000, 1, "__init__", 8);
		put(&b, &n, CODE_NAME, 0x2000, 1, NULL, 0);
		put(&b, &n, CODE_QUALNAME, 0x2000, 1, "__init__", 8);
		assert_int_equal(py_code_from_record(&b.head, n, version, &code), 0);
		assert_int_equal(code->internal, version >= 0x30c);
	}
}

/* A record is cut off anywhere, or has one changed length. It is refused or does no harm (ASan). */
static void test_hostile_records(void **state)
{
	struct built b;
	size_t n = build(&b);

	for (size_t cut = 0; cut < n; cut++) {
		struct py_code *code = NULL;
		uint8_t *copy = malloc(cut + 1);

		memcpy(copy, &b, cut);
		assert_int_equal(py_code_from_record((void *)copy, cut, 0x30c, &code), -EINVAL);
		assert_null(code);
		free(copy);
	}
	for (int i = 0; i < CODE_TEXT_MAX; i++) {
		struct py_code *code = NULL;

		build(&b);
		b.head.text[i].bytes = 0xfffffff9;
		b.head.text[i].len = 0xffffffff;
		assert_int_equal(py_code_from_record(&b.head, n, 0x30c, &code), -EINVAL);
		build(&b);
		b.head.text[i].bytes = 0xffffffff;
		assert_int_equal(py_code_from_record(&b.head, n, 0x30c, &code), -EINVAL);
	}
	build(&b);
	b.head.text[CODE_FILENAME].kind = 3;
	assert_int_equal(py_code_from_record(&b.head, n, 0x30c, &(struct py_code *){NULL}),
			 -EINVAL);
}

/* Lays out the heap of an interpreter like 3.12, from which krait reads with process_vm_readv(). */
struct fake_str {
	uint64_t pad[2], len, hash;
	uint32_t state, pad2;
	char data[64];
};

struct fake_type {
	uint64_t pad[2];
	const char *name;
};

struct fake_code {
	uint64_t count;
	const struct fake_type *type;
	uint32_t firstlineno, version;
	struct fake_str *filename, *name, *qualname, *linetable;
};

static const struct py_layout fake_layout = {
	.version = 0x30c,
	.str_kind_shift = 2,
	.ob_type = offsetof(struct fake_code, type),
	.type_name = offsetof(struct fake_type, name),
	.code_firstlineno = offsetof(struct fake_code, firstlineno),
	.code_version = offsetof(struct fake_code, version),
	.code_filename = offsetof(struct fake_code, filename),
	.code_name = offsetof(struct fake_code, name),
	.code_qualname = offsetof(struct fake_code, qualname),
	.code_linetable = offsetof(struct fake_code, linetable),
	.str_length = offsetof(struct fake_str, len),
	.str_hash = offsetof(struct fake_str, hash),
	.str_state = offsetof(struct fake_str, state),
	.str_ascii = offsetof(struct fake_str, data),
	.str_compact = offsetof(struct fake_str, data),
	/* bytes objects have no member `state`, so their data begin earlier */
	.bytes_data = offsetof(struct fake_str, state),
};

static void set_str(struct fake_str *s, const char *text)
{
	*s = (struct fake_str){.len = strlen(text), .hash = 77, .state = 1 << 2 | 3 << 5};
	memcpy(s->data, text, strlen(text));
}

struct fake {
	struct fake_str file, qualname, table;
	struct fake_code code;
};

static const struct fake_type code_type = {.name = "code"}, other_type = {.name = "codec"};

static void fake_init(struct fake *f)
{
	set_str(&f->file, "b.py");
	set_str(&f->qualname, "D.g");
	f->table = (struct fake_str){.len = 2, .hash = ~0ull};
	memcpy(&f->table.state, "\x81\x12", 2);
	f->code = (struct fake_code){.count = 1,
				     .type = &code_type,
				     .firstlineno = 5,
				     .version = 9,
				     .filename = &f->file,
				     .name = &f->qualname,
				     .qualname = &f->qualname,
				     .linetable = &f->table};
}

static struct py_code *unfilled(const struct fake *f, uint64_t check)
{
	struct rec_code rec = {.code = (uintptr_t)&f->code, .check = check, .firstlineno = 5};
	struct py_code *code = NULL;

	rec.text[CODE_FILENAME] = (struct wire_text){.addr = (uintptr_t)f->code.filename, .len = 4};
	rec.text[CODE_NAME] = (struct wire_text){.addr = (uintptr_t)f->code.name};
	rec.text[CODE_QUALNAME] =
		(struct wire_text){.addr = (uintptr_t)f->code.qualname, .len = UINT32_MAX};
	rec.text[CODE_LINETABLE] =
		(struct wire_text){.addr = (uintptr_t)f->code.linetable, .len = 2};
	assert_int_equal(py_code_from_record(&rec, sizeof(rec), 0x30c, &code), 0);
	assert_int_equal(code->missing,
			 1 << CODE_FILENAME | 1 << CODE_QUALNAME | 1 << CODE_LINETABLE);
	assert_null(code->name);
	assert_int_equal(py_code_position(code, 0).line, 0);
	return code;
}

static uint64_t version_check(const struct fake *f)
{
	return check_version(f->code.version, f->code.firstlineno, (uintptr_t)f->code.qualname,
			     (uintptr_t)f->code.linetable);
}

static void test_fill(void **state)
{
	struct fake f;
	struct py_code *code;

	fake_init(&f);
	code = unfilled(&f, version_check(&f));
	assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), 0);
	assert_int_equal(code->missing, 0);
	assert_string_equal(code->name, "D.g");
	assert_string_equal(code->file, "b.py");
	assert_int_equal(py_code_position(code, 0).line, 5);
	py_code_free(code);
}

static void test_fill_stale(void **state)
{
	struct fake f;
	struct py_code *code;

	fake_init(&f);
	code = unfilled(&f, version_check(&f));
	f.code.version++;
	assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), -ESTALE);
	assert_null(code->name);
	py_code_free(code);
}

/*
 * A code object was freed, and nothing new is in its memory. Only its reference count or its type
 * shows that.
 */
static void test_fill_freed(void **state)
{
	static const uint64_t counts[] = {0, 0x7f1234567890, 0x5512345678};
	struct fake f;
	struct py_code *code;

	for (size_t i = 0; i <= ARRAY_SIZE(counts); i++) {
		fake_init(&f);
		code = unfilled(&f, version_check(&f));
		if (i < ARRAY_SIZE(counts))
			f.code.count = counts[i];
		else
			f.code.type = &other_type;
		assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), -ESTALE);
		assert_null(code->name);
		py_code_free(code);
	}
	/* strings of 3.14 have other flags; this string is immortal */
	fake_init(&f);
	f.code.count = 1ull << 55 | 0xc0000000;
	code = unfilled(&f, version_check(&f));
	assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), 0);
	py_code_free(code);
}

/*
 * Tests the check of a code object (a 64-bit value that identifies it) that krait computes from its
 * contents, by a formula written here independently of src/. A co_version of 0 identifies no code
 * object.
 */
static void test_fill_by_contents(void **state)
{
	struct fake f;
	struct py_code *code;
	uint64_t check;

	fake_init(&f);
	f.code.version = 0;
	check = check_mix(check_mix(0, 5), check_hashed(0, 4, 77));
	check = check_hashed(check, 3, 77);
	check = check_mix(check_mix(check, 2), 0x1281) | 1;
	code = unfilled(&f, check);
	assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), 0);
	assert_string_equal(code->name, "D.g");
	py_code_free(code);
	code = unfilled(&f, check);
	memcpy(&f.table.state, "\x81\x13", 2);
	assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), -ESTALE);
	py_code_free(code);
}

static void test_fill_faults(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *hole = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fake f;
	struct py_code *code;

	assert_ptr_not_equal(hole, MAP_FAILED);
	fake_init(&f);
	f.code.filename = (void *)hole;
	code = unfilled(&f, version_check(&f));
	assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), -EFAULT);
	py_code_free(code);
	fake_init(&f);
	f.table.len = 1ull << 40;
	code = unfilled(&f, version_check(&f));
	assert_int_equal(py_code_fill_from_process(code, getpid(), &fake_layout), -EFAULT);
	assert_string_equal(code->name, "D.g");
	assert_int_equal(code->missing, 1 << CODE_LINETABLE);
	py_code_free(code);
	munmap(hole, (size_t)page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),	    cmocka_unit_test(test_old_record),
		cmocka_unit_test(test_being_built), cmocka_unit_test(test_long_table),
		cmocka_unit_test(test_internal),    cmocka_unit_test(test_hostile_records),
		cmocka_unit_test(test_fill),	    cmocka_unit_test(test_fill_stale),
		cmocka_unit_test(test_fill_freed),  cmocka_unit_test(test_fill_by_contents),
		cmocka_unit_test(test_fill_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
