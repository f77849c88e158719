/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Python objects of a hostile process: random words, circular pointers, huge sizes. The
 * process is this test itself. krait must not crash (ASan, UBSan), its reads must be bounded, and
 * it must find no name in nonsense. tests/live/threads.sh and classes.sh test with real
 * interpreters that sound structures are read correctly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "python/code/code.h"
#include "python/heap/heap.h"
#include "python/find/image.h"
#include "python/layout/tables.h"
#include "python/heap/threads.h"

#define WORDS (1u << 14)
#define RUNS  60

static const unsigned versions[] = {0x207, 0x306, 0x307, 0x308, 0x309, 0x30a, 0x30b, 0x30c};

/* xorshift64, so that each run of the test is the same */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/*
 * Fills @words mostly with pointers into @words, so that krait follows many of them in a row, and
 * else with small or random numbers.
 */
static void fill(uint64_t *words, uint64_t *state)
{
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t r = next_random(state);

		if (r % 8 < 5)
			words[i] = (uintptr_t)&words[r >> 8 & (WORDS - 1)];
		else if (r % 8 < 7)
			words[i] = r >> 8 & 0xfff;
		else
			words[i] = r;
	}
}

static struct py_layout layout_of(unsigned version)
{
	const struct py_layout *l = py_layout_table(version, 0);
	struct py_layout newest;

	if (l)
		return *l;
	/*
	 * From 3.13 on, krait reads the offsets from the interpreter's memory. Here it uses those
	 * of 3.12, which are as good for random memory.
	 */
	newest = *py_layout_table(0x30c, 0);
	newest.version = (uint16_t)version;
	newest.can = py_can(version);
	return newest;
}

static void test_random_threads(void **state)
{
	_cleanup_free_ uint64_t *words = calloc(WORDS, sizeof(*words));
	uint64_t seed = 88172645463325252ull;

	for (int run = 0; run < RUNS; run++) {
		unsigned version = run % 11 < 8 ? versions[run % 11] : 0x30du + (unsigned)run % 3;
		struct py_layout l = layout_of(version);
		struct py_thread_names names = {};
		struct py_where where = {.interp_head = (uintptr_t)&words[run]};

		fill(words, &seed);
		assert_int_equal(py_thread_names(getpid(), &l, &where, NULL, 0, &names), 0);
		vec_foreach(t, &names.list)
			assert_true(t->tid == 0 && *t->name);
		py_thread_names_fini(&names);
	}
}

static void test_random_classes(void **state)
{
	_cleanup_free_ uint64_t *words = calloc(WORDS, sizeof(*words));
	uint64_t seed = 4101842887655102017ull;

	for (int run = 0; run < RUNS * 10; run++) {
		struct py_layout l = layout_of(versions[run % 6]);
		_cleanup_(cleanup_py_code) struct py_code *code = NULL;
		struct rec_code rec = {.code = (uintptr_t)&words[run], .check = 1};

		fill(words, &seed);
		rec.text[CODE_NAME] = (struct wire_text){.addr = 8, .kind = 1};
		assert_int_equal(py_code_from_record(&rec, sizeof(rec), l.version, &code), 0);
		assert_true(py_code_qualify(code, getpid(), &l, (uintptr_t)&words[run + 1],
					    words[run + 2]) <= 0);
		assert_string_equal(code->name, "");
		(void)!py_code_fill_from_process(code, getpid(), &l);
	}
}

/*
 * Reads at the very end of a mapping. Words that can't be read are returned as zeros, all others
 * are right.
 */
static void test_read_many(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct py_layout l = layout_of(0x30c);
	uint8_t got[200 * 16];
	uint64_t addr[200];
	struct heap h;

	assert_ptr_not_equal(p, MAP_FAILED);
	memset(p, 0xaa, page);
	assert_int_equal(mprotect(p + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < 200; i++)
		addr[i] = i % 3 == 0 ? (uintptr_t)p + page - 8 : i % 3 == 1 ? (uintptr_t)p : 1;
	heap_init(&h, getpid(), &l);
	heap_read_many(&h, addr, 200, 16, got);
	for (size_t i = 0; i < sizeof(got); i++)
		assert_int_equal(got[i], i / 16 % 3 == 1 ? 0xaa : 0);
	/* when the budget is used up, nothing more is read */
	h.budget = 100;
	heap_read_many(&h, addr, 200, 16, got);
	assert_int_equal(got[16], 0);
	assert_int_equal(heap_ptr(&h, (uintptr_t)p), 0);
	munmap(p, 2 * page);
}

static void test_unknown_version(void **state)
{
	struct py_layout l = layout_of(0x310);
	struct py_thread_names names = {};
	struct py_where where = {.interp_head = (uintptr_t)&where};

	assert_int_equal(py_thread_names(getpid(), &l, &where, NULL, 0, &names), -ENOTSUP);
	py_thread_names_fini(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_threads),
		cmocka_unit_test(test_random_classes),
		cmocka_unit_test(test_read_many),
		cmocka_unit_test(test_unknown_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
