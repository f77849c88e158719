/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code objects, names and line tables that are close to each other in memory are read together
 * (bpf/python/near.bpf.h). The test makes random heaps with missing pages and failing reads. The
 * check of each code object (a 64-bit value that identifies it) must be the one that user space
 * computes by reading each object alone (src/python/code/code_fill.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "code_seam.h"
#include "python/code/code.h"
#include "python/find/image.h"
#include "python/layout/tables.h"

#define HEAP_BYTES (48u << 10)
#define CODES	   24
#define HEAPS	   300
#define SAMPLES	   6

static uint8_t *heap;
static size_t top;
static unsigned fail_one_of; /* one of this many reads fails, at random; 0: none fails */
static uint32_t seed;
static unsigned long compared;

/*
 * Returns a random number below @n, by xorshift32, so that the heaps are the same on every machine.
 */
static uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

/* As in the kernel, a read fails if a page isn't resident. Then @dst holds zeros or leftovers. */
walk_inline long read_user(void *dst, __u32 n, __u64 addr)
{
	struct iovec local = {dst, n}, remote = {(void *)(uintptr_t)addr, n};

	if (!(fail_one_of && !below(fail_one_of)) &&
	    process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n)
		return 0;
	if (below(2))
		memset(dst, 0, n);
	return -EFAULT;
}

/*
 * Allocates @n bytes: mostly right after the last object, now and then near the end of a page.
 * Returns NULL if the heap is full.
 */
static uint8_t *take(size_t n)
{
	uint8_t *p;

	if (!below(4))
		top += below(700);
	if (!below(40))
		/* never moves backwards, so objects don't overlap */
		top = MAX(top, (top | 4095) + 1 - below(300));
	top = (top + 7) & ~(size_t)7;
	if (top + n + 16 > HEAP_BYTES)
		return NULL;
	p = heap + top;
	top += n;
	return p;
}

static void put(uint8_t *object, size_t off, uint64_t v, size_t n)
{
	memcpy(object + off, &v, n);
}

static void fill(uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)below(256);
}

static uint64_t hash_or_none(void)
{
	return below(3) ? ~0ull : (uint64_t)below(1u << 31) << 20;
}

/*
 * Makes a str (Python 2.7: a byte string). One of ten isn't compact: its characters are elsewhere
 * nearby.
 */
static uint64_t make_str(void)
{
	unsigned kind = the_layout.str_state ? 1u << below(3) : 1;
	bool ascii = kind == 1 && below(2), compact = !the_layout.str_state || below(10);
	size_t len = below(below(3) ? 90 : 400),
	       data = ascii ? the_layout.str_ascii : the_layout.str_compact;
	uint8_t *s;

	if (!the_layout.str_state)
		data = the_layout.bytes_data;
	s = take(data + len * kind + 1);
	if (!s)
		return 0;
	fill(s + data, len * kind);
	put(s, the_layout.str_length, len, 8);
	put(s, the_layout.str_hash, hash_or_none(), 8);
	if (the_layout.str_state)
		put(s, the_layout.str_state,
		    (kind | compact * 8 | ascii * 16) << the_layout.str_kind_shift, 4);
	if (!compact)
		put(s, the_layout.str_compact, (uintptr_t)heap + below((uint32_t)top), 8);
	return (uintptr_t)s;
}

static uint64_t make_table(void)
{
	size_t len = below(below(3) ? 200 : 900);
	uint8_t *b = take(the_layout.bytes_data + len + 1);

	if (!b)
		return 0;
	fill(b + the_layout.bytes_data, len);
	put(b, the_layout.str_length, len, 8);
	put(b, the_layout.str_hash, hash_or_none(), 8);
	return (uintptr_t)b;
}

static uint64_t make_code(uint64_t file)
{
	uint64_t name = make_str(), table = make_table();
	uint8_t *c = take(200);

	if (!c || !name || !table)
		return 0;
	put(c, the_layout.code_firstlineno, below(1000), 4);
	put(c, the_layout.code_filename, file, 8);
	put(c, the_layout.code_name, name, 8);
	if (the_layout.code_qualname)
		put(c, the_layout.code_qualname, name, 8);
	put(c, the_layout.code_linetable, table, 8);
	return (uintptr_t)c;
}

static size_t make_heap(uint64_t code[CODES])
{
	static const unsigned releases[] = {0x207, 0x306, 0x307, 0x308, 0x309, 0x30a, 0x30b};
	uint64_t file[4];
	size_t n = 0;

	the_layout = *py_layout_table(releases[below(ARRAY_SIZE(releases))], 10);
	py_layout_set_block(&the_layout);
	mprotect(heap, HEAP_BYTES, PROT_READ | PROT_WRITE);
	memset(heap, (int)below(256), HEAP_BYTES);
	/*
	 * begins in the first 5,000 bytes of the mapping, or near enough to its end that the
	 * objects fill it up
	 */
	top = below(3) ? below(5000) : HEAP_BYTES - 4000 - below(8000);
	for (size_t i = 0; i < ARRAY_SIZE(file); i++)
		file[i] = make_str();
	while (n < CODES && (code[n] = make_code(file[below(ARRAY_SIZE(file))])))
		n++;
	if (!below(4))
		mprotect(heap + 4096 * below(HEAP_BYTES / 4096), 4096, PROT_NONE);
	return n;
}

/*
 * Returns the check (identifying value) that user space computes for the code object at @addr; 0:
 * it can't be read.
 */
static uint64_t user_check(uint64_t addr)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;

	return py_code_from_process(getpid(), &the_layout, addr, 0, &code) ? 0 : code->check;
}

static void sample(const uint64_t *code, const uint64_t *want, size_t n)
{
	fail_one_of = below(3) ? 0 : 2 + below(20);
	the_walk.sample++;
	the_walk.hashed = the_walk.n = 0;
	forget_near(&the_walk, &the_layout);
	for (uint32_t k = below(40); n && k; k--) {
		size_t i = below((uint32_t)n);
		__u64 check = 0;

		if (add_frame(0, code[i], &check) && want[i]) {
			assert_true(check == want[i]);
			compared++;
		}
	}
}

static void test_same(void **state)
{
	uint64_t code[CODES], want[CODES];

	heap = mmap(NULL, HEAP_BYTES + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	assert_true(heap != MAP_FAILED);
	mprotect(heap + HEAP_BYTES, 8192, PROT_NONE);
	seed = 2463534242u;
	for (int i = 0; i < HEAPS; i++) {
		size_t n = make_heap(code);

		for (size_t k = 0; k < n; k++)
			want[k] = user_check(code[k]);
		if (!below(8))
			the_walk = (struct walk){};
		for (int k = 0; k < SAMPLES; k++)
			sample(code, want, n);
	}
	munmap(heap, HEAP_BYTES + 8192);
	assert_true(compared > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
