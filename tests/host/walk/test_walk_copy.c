/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In free-threaded builds since 3.14, each thread has its own copies of bytecode
 * (bpf/python/copy.bpf.h). An instruction's offset must be that in the copy where the instruction
 * is, whatever index the frame has. If the instruction is in no copy, the frame has no line, but
 * the stack is whole.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "walk_tests.h"

static struct plan plan;
static struct expected expected;
static uint64_t code;

/*
 * Builds @n frames of one function, all in its main copy. Returns false if the release has no
 * copies of bytecode.
 */
static bool build(size_t n)
{
	if (!image.l->code_tlbc)
		return false;
	code = image_code("f");
	plan.n = 0;
	for (size_t i = 0; i < n; i++)
		plan_add(&plan, i ? CALL : FROM_C, code, 0);
	chain_build(&plan, &expected);
	return true;
}

/* Makes frame @i execute the instruction at @instr, with the index of copy @index. */
static void put_frame(size_t i, uint64_t instr, uint32_t index)
{
	put_u64(expected.addr[i] + image.l->frame_lasti, instr);
	put_u32(expected.addr[i] + image.l->frame_tlbc_index, index);
}

static uint64_t copy(uint64_t i)
{
	return get_u64(image_copy_entry(code, i));
}

/*
 * Walks the stack, and checks that the whole stack was found. Returns .lasti of frame @i: an
 * offset, or LASTI_UNKNOWN.
 */
static int lasti_of(size_t i)
{
	assert_int_equal(image_walk(), WALK_OK);
	assert_int_equal(host.w->n, expected.n);
	assert_int_equal(host.out->frame[i].code, code);
	return host.out->frame[i].lasti;
}

static int lasti_at(uint64_t instr, uint32_t index)
{
	put_frame(0, instr, index);
	return lasti_of(0);
}

/* For each instruction of each copy, the stack walk finds the offset in that copy. */
static void own_copy(void)
{
	if (!build(1))
		return;
	for (unsigned i = 0; i < IMAGE_COPIES; i++)
		for (int at = 0; at < 2 * IMAGE_UNITS; at += 2)
			assert_int_equal(lasti_at(copy(i) + (unsigned)at, i), at);
}

/*
 * RESUME moves a frame to another copy with two stores: the index, and the instruction's address.
 * The thread may be between the two, in either order. (With index 0, an instruction in a copy just
 * behind the main one gives an offset that has no line.)
 */
static void index_disagrees(void)
{
	if (!build(1))
		return;
	put_u64(image_copy_entry(code, 3), image_alloc(1 << 20) + (1 << 19));
	for (unsigned i = 0; i < IMAGE_COPIES; i++)
		for (unsigned k = 0; k < IMAGE_COPIES; k++)
			if (k || copy(i) - copy(0) >= MAIN_BYTES)
				assert_int_equal(lasti_at(copy(i) + 6, k), 6);
			else
				assert_int_equal(lasti_at(copy(i) + 6, k), copy(i) + 6 - copy(0));
}

/* More threads have copies of the function than the stack walk tries one by one. */
static void many_copies(void)
{
	if (!build(1))
		return;
	image_make_copies(code, 200);
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(lasti_at(copy(i) + 8, i), 8);
		assert_int_equal(lasti_at(copy(i) + 8, 150),
				 i == 150 || i < COPIES_TRIED ? 8 : LASTI_UNKNOWN);
	}
}

/* The frame's instruction is in no copy. */
static void nowhere(void)
{
	const uint64_t addrs[] = {0, 0x1000, IMAGE_HEAP, UINT64_MAX, 1ull << 63};

	if (!build(3))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
		for (uint32_t k = 0; k < 3; k++)
			assert_int_equal(lasti_at(addrs[i], k - 1), LASTI_UNKNOWN);
	assert_int_equal(lasti_at(copy(1) - 2, 1), LASTI_UNKNOWN);
	assert_int_equal(lasti_at(copy(1) + 2 * IMAGE_UNITS, 1), LASTI_UNKNOWN);
	/*
	 * the stack walk doesn't check where the main copy ends, but the line table has no line for
	 * such an offset
	 */
	assert_int_equal(lasti_at(copy(0) + 2 * IMAGE_UNITS, 0), 2 * IMAGE_UNITS);
	put_frame(0, copy(2) + 4, 2);
	put_u64(image_copy_entry(code, 2), 0); /* as if the thread's copies had been freed */
	assert_int_equal(lasti_of(0), LASTI_UNKNOWN);
	assert_int_equal(host.out->frame[1].lasti, 0);
}

/* The code object claims a wrong length, or wrong copies. */
static void lies(void)
{
	const uint64_t values[] = {0, 1, 0x1000, 1ull << 32, 1ull << 62, UINT64_MAX};
	const uint64_t instr = 0x600000000000;

	if (!build(2))
		return;
	put_frame(0, instr, 1);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		put_u64(code + image.l->str_length, values[i]);
		assert_int_equal(lasti_of(0), LASTI_UNKNOWN);
		put_u64(code + image.l->str_length, IMAGE_UNITS);
		put_u64(image_copy_entry(code, 0) - 8, values[i]);
		assert_int_equal(lasti_of(0), LASTI_UNKNOWN);
		put_u64(image_copy_entry(code, 0) - 8, IMAGE_COPIES);
	}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		put_u64(code + image.l->code_tlbc, values[i]);
		assert_int_equal(lasti_of(0), LASTI_UNKNOWN);
	}
}

/*
 * Two long functions: for one, an instruction's offset can't be found without a read; the other is
 * too long to be kept in w->proofs.
 */
static void long_functions(void)
{
	const uint64_t sizes[] = {3 * MAIN_BYTES, 1 << 17, 1 << 18};

	if (!build(1))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t other = image_alloc(sizes[i]);

		put_u64(code + image.l->str_length, sizes[i] / 2);
		put_u64(image_copy_entry(code, 1), other);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(lasti_at(copy(0) + MAIN_BYTES + 2, 0), MAIN_BYTES + 2);
			assert_int_equal(lasti_at(other + sizes[i] - 2, 1), sizes[i] - 2);
			assert_int_equal(lasti_at(other + sizes[i], 1), LASTI_UNKNOWN);
		}
	}
}

static uint64_t reads(void)
{
	host.reads = 0;
	image_walk();
	return host.reads;
}

/* Builds 40 frames of 40 functions, all in copy @index. */
static void build_forty(uint32_t index)
{
	plan.n = 0;
	for (int i = 0; i < 40; i++)
		plan_add(&plan, i ? CALL : FROM_C, image_code("f"), 8 + 2 * (int)index);
	chain_build(&plan, &expected);
}

/* the most reads that are repeated because entries of w->proofs were overwritten by others */
#define FEW 12

/*
 * The stack walk reads once where the copies are, and again after a thread has begun or ended (the
 * generation changes). Then copies may be elsewhere: those of an ended thread are freed, and a new
 * thread takes its index.
 */
static void kept(void)
{
	uint64_t interp = image_alloc(1 << 16), warm;

	if (!image.l->code_tlbc)
		return;
	put_u64(image.tstate + image.l->tstate_interp, interp);
	image_count_codes(9000);
	put_u64(image.where.interp_head, interp);
	build_forty(1);
	reads();
	warm = reads();
	assert_int_equal(chain_compare(&expected), 40);
	put_u32(interp + image.l->interp_tlbc_generation, 1);
	assert_true(reads() > warm + 40);
	assert_int_equal(chain_compare(&expected), 40);
	assert_in_range(reads(), warm, warm + FEW);
	for (size_t i = 0; i < 40; i++)
		put_frame(i, expected.frame[i].code + image.l->code_adaptive + 10, 0);
	/*
	 * main copies are found without a read; for others a sample needs one read, of
	 * tlbc_generation
	 */
	assert_in_range(reads(), warm - 1, warm - 1 + FEW);
	assert_int_equal(chain_compare(&expected), 40);
}

/*
 * A freed copy is replaced by a new one that has the same index and overlaps the old one. As the
 * generation has changed, the stack walk finds the new copy.
 */
static void moved(void)
{
	uint64_t interp = image_alloc(1 << 16);

	if (!build(1))
		return;
	put_u64(image.tstate + image.l->tstate_interp, interp);
	image_count_codes(9000);
	put_u64(image.where.interp_head, interp);
	for (uint32_t i = 1; i < 20; i++) {
		assert_int_equal(lasti_at(copy(1) + 10, 1), 10);
		put_u64(image_copy_entry(code, 1), copy(1) + 4);
		put_u32(interp + image.l->interp_tlbc_generation, i);
		assert_int_equal(lasti_at(copy(1) + 10, 1), 10);
		/* as while RESUME moves the frame from copy 1 to copy 3 */
		assert_int_equal(lasti_at(copy(3) + 6, 1), 6);
	}
	/* without a count of code objects, nothing is kept from one sample to the next */
	image.where.codes_made = 0;
	for (uint32_t i = 1; i < 20; i++) {
		put_u64(image_copy_entry(code, 1), copy(1) + 4);
		assert_int_equal(lasti_at(copy(1) + 10, 1), 10);
	}
}

/* Whichever read fails, an instruction's offset is right or unknown. */
static void failing(void)
{
	if (!image.l->code_tlbc)
		return;
	build_forty(2);
	for (int keep = 0; keep < 2; keep++) {
		host.keep_on_fault = keep;
		for (host.fail_nth = 1; host.fail_nth < 200; host.fail_nth++) {
			image_walk();
			for (size_t i = 0; i < host.w->n; i++)
				if (host.out->frame[i].lasti != LASTI_UNKNOWN)
					assert_int_equal(host.out->frame[i].lasti, 12);
		}
		host.fail_nth = 0;
	}
	host.keep_on_fault = false;
}

/*
 * In a deep stack, the stack walk stops looking for copies when that has taken too long. The stack
 * is still whole.
 */
static void late(void)
{
	if (!build(ABI_MAX_FRAMES))
		return;
	for (size_t i = 0; i < ABI_MAX_FRAMES; i++)
		put_frame(i, 0x1000, (uint32_t)i);
	host.tick_ns = 10000;
	assert_int_equal(lasti_of(ABI_MAX_FRAMES - 1), LASTI_UNKNOWN);
	host.tick_ns = 0;
	assert_true(host.reads < 2000);
}

/* clang-format off */
#define TESTS(X) \
	X(own_copy) X(index_disagrees) X(many_copies) X(nowhere) X(lies) X(long_functions) \
	X(kept) X(moved) X(failing) X(late)
/* clang-format on */
TESTS(RELEASE_TEST)

WALK_MAIN("walk_copy", TESTS(RELEASE_ENTRY))
