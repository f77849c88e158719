/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The check of a code object (a 64-bit value that identifies it) is computed in two places: by the
 * kernel program for each frame (bpf/python/code.bpf.h, compiled here for the host), and by user
 * space when it later reads the code object (src/python/code/code_fill.c). Both must give the same
 * value for the same memory: with and without cached hashes, for every kind of string, for any
 * length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "code_seam.h"
#include "python/code/code.h"
#include "python/find/image.h"
#include "python/layout/tables.h"

walk_inline long read_user(void *dst, __u32 n, __u64 addr)
{
	if (!addr)
		return -EFAULT;
	memcpy(dst, (const void *)(uintptr_t)addr, n);
	return 0;
}

/* A code object or string, with its members at a real release's offsets. */
struct object {
	_Alignas(16) uint8_t bytes[70 << 10];
};

struct target {
	struct object code, file, name, table, type;
};

static void put(struct object *o, size_t off, const void *v, size_t n)
{
	memcpy(o->bytes + off, v, n);
}

static void put_u64(struct object *o, size_t off, uint64_t v)
{
	put(o, off, &v, sizeof(v));
}

static void put_u32(struct object *o, size_t off, uint32_t v)
{
	put(o, off, &v, sizeof(v));
}

/* Makes a compact str of @len code points of @kind bytes. With @hash ~0, its hash isn't cached. */
static void make_str(struct object *o, uint32_t len, unsigned kind, uint64_t hash)
{
	const struct py_layout *l = &the_layout;
	bool ascii = kind == 1 && len % 2;
	size_t data = !l->str_state || ascii ? l->str_ascii : l->str_compact;

	memset(o, 0, sizeof(*o));
	put_u64(o, l->str_length, len);
	put_u64(o, l->str_hash, hash);
	if (l->str_state)
		put_u32(o, l->str_state, (kind | 8 | (ascii ? 16 : 0)) << l->str_kind_shift);
	for (size_t i = 0; i < (size_t)len * kind; i++)
		o->bytes[data + i] = (uint8_t)(i * 7 + len);
}

static void make_table(struct object *o, uint32_t len)
{
	const struct py_layout *l = &the_layout;

	memset(o, 0, sizeof(*o));
	put_u64(o, l->str_length, len);
	put_u64(o, l->str_hash, ~0ull);
	for (size_t i = 0; i < len; i++)
		o->bytes[l->bytes_data + i] = (uint8_t)(i * 5 + len);
}

static void make_code(struct target *t, uint32_t version)
{
	const struct py_layout *l = &the_layout;

	memset(&t->code, 0, sizeof(t->code));
	put_u32(&t->code, l->code_firstlineno, 4711);
	put_u64(&t->code, l->code_filename, (uintptr_t)&t->file);
	put_u64(&t->code, l->code_name, (uintptr_t)&t->name);
	if (l->code_qualname)
		put_u64(&t->code, l->code_qualname, (uintptr_t)&t->name);
	put_u64(&t->code, l->code_linetable, (uintptr_t)&t->table);
	if (l->code_version)
		put_u32(&t->code, l->code_version, version);
	/* a reference count other than 0: the object is alive */
	put_u64(&t->code, l->ob_type - sizeof(uint64_t), 1);
	put_u64(&t->code, l->ob_type, (uintptr_t)&t->type);
	put_u64(&t->type, l->type_name, (uintptr_t) "code");
}

static uint64_t kernel_check(const struct target *t)
{
	__u64 check = 0;

	the_walk = (struct walk){};
	assert_true(add_frame(0, (uintptr_t)&t->code, &check));
	return check;
}

static uint64_t user_check(const struct target *t)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;

	assert_int_equal(py_code_from_process(getpid(), &the_layout, (uintptr_t)&t->code, 0, &code),
			 0);
	return code->check;
}

static void compare(struct target *t, uint32_t len, unsigned kind, uint64_t hash, uint32_t version)
{
	make_str(&t->file, len + 3, kind, hash);
	make_str(&t->name, len, kind, hash);
	make_table(&t->table, len);
	make_code(t, version);
	assert_true(kernel_check(t) == user_check(t));
}

static void test_same(void **state)
{
	static const unsigned releases[] = {0x207, 0x306, 0x307, 0x308, 0x309, 0x30a, 0x30b, 0x30c};
	static const uint32_t lengths[] = {0,	1,   7,	  8,   9,   40,	 41,  87,  88,
					   173, 174, 175, 176, 177, 255, 256, 257, 4000};
	struct target *t = calloc(1, sizeof(*t));

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		the_layout = *py_layout_table(releases[i], 10);
		the_layout.code_block = MIN(the_layout.code_firstlineno, the_layout.code_filename);
		for (size_t k = 0; k < ARRAY_SIZE(lengths); k++) {
			for (unsigned kind = 1; kind <= (releases[i] > 0x300 ? 4u : 1u);
			     kind *= 2) {
				compare(t, lengths[k], kind, ~0ull, 0);
				compare(t, lengths[k], kind, 0x1234567890abcdef + k, 0);
				compare(t, lengths[k], kind, ~0ull, 42);
			}
		}
	}
	free(t);
}

/* A code object's check changes if any byte or the length of one of its texts changes. */
static void test_differs(void **state)
{
	struct target *t = calloc(1, sizeof(*t));
	uint64_t first;

	the_layout = *py_layout_table(0x308, 10);
	the_layout.code_block = MIN(the_layout.code_firstlineno, the_layout.code_filename);
	compare(t, 300, 1, ~0ull, 0);
	first = kernel_check(t);
	for (size_t i = 0; i < 300; i++) {
		t->table.bytes[the_layout.bytes_data + i] ^= 1;
		assert_true(kernel_check(t) != first);
		t->table.bytes[the_layout.bytes_data + i] ^= 1;
	}
	put_u64(&t->table, the_layout.str_length, 301);
	assert_true(kernel_check(t) != first);
	put_u64(&t->table, the_layout.str_length, 300);
	put_u32(&t->code, the_layout.code_firstlineno, 4712);
	assert_true(kernel_check(t) != first);
	assert_true(kernel_check(t) == user_check(t));
	free(t);
}

/* Returns the check that the next sample has for the code object that function @f runs. */
static uint64_t check_of(const struct object *f, const struct target *t)
{
	__u64 check = 0;

	the_walk.sample++;
	the_walk.n = 0;
	assert_true(add_frame((uintptr_t)f, (uintptr_t)&t->code, &check));
	return check;
}

static void make_function(struct object *f, const struct target *t, uint32_t version)
{
	memset(f, 0, sizeof(*f));
	put_u64(f, the_layout.func_code, (uintptr_t)&t->code);
	put_u32(f, the_layout.func_version, version);
}

/*
 * On Python 3.11, a function's version proves which code object it runs, so that the code object
 * needn't be read again. It proves only the code object that was first seen with this version, and
 * only in that process.
 */
static void test_function_version(void **state)
{
	struct target *t = calloc(2, sizeof(*t));
	struct object *f = calloc(1, sizeof(*f));
	uint64_t old, new;

	the_layout = *py_layout_table(0x30b, 10);
	the_layout.code_block = MIN(the_layout.code_firstlineno, the_layout.code_filename);
	compare(t, 100, 1, ~0ull, 0);
	make_function(f, t, 7);
	the_walk = (struct walk){};
	old = check_of(f, t);
	assert_true(old == user_check(t));
	t->table.bytes[the_layout.bytes_data] ^= 1;
	/* changes the code object under the same version, which can't happen in a real process */
	assert_true(check_of(f, t) == old);
	new = user_check(t);
	assert_true(new != old);
	make_function(f, t, 0);
	assert_true(check_of(f, t) == new);
	make_function(f, t, 8);
	assert_true(check_of(f, t) == new);
	/* a function that runs another code object than its version stands for */
	make_function(f, t + 1, 7);
	assert_true(check_of(f, t) == new);
	make_function(f, t, 7);
	the_walk.proc_hash++; /* another process, in which the version proves nothing */
	assert_true(check_of(f, t) == new);
	free(f);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_differs),
		cmocka_unit_test(test_function_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
