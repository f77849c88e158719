/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the walkers, which find a thread's Python frames, on memory images of interpreters: whole
 * stacks in every version, with known frames. Failures are tested in test_walk_outcome.c, records
 * in test_walk_code.c.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "walk_tests.h"

static struct plan plan;
static struct expected expected;

static void start(void)
{
	plan.n = 0;
}

static void assert_stack(enum walk_outcome outcome, size_t n)
{
	chain_build(&plan, &expected);
	assert_int_equal(image_walk(), outcome);
	assert_int_equal(host.w->n, n);
	assert_int_equal(chain_compare(&expected), n);
}

/*
 * Builds a stack that uses five code objects. One of them is also called from C, and is run as a
 * generator.
 */
static void mixed(size_t n)
{
	uint64_t code[5];

	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		code[i] = image_code("function");
	for (size_t i = 0; i < n; i++) {
		enum link link = i == 0 || i % 11 == 10 ? FROM_C : i % 5 == 4 ? GENERATOR : CALL;

		plan_add(&plan, link, code[i * 7 % 5], (int)(2 * (i % 40)));
		plan.frame[i].new_chunk = i % 37 == 36;
	}
}

static void one_frame(void)
{
	start();
	mixed(1);
	assert_stack(WALK_OK, 1);
}

static void some_frames(void)
{
	start();
	mixed(17);
	assert_stack(WALK_OK, 17);
}

/* Some frames cross the end of a page, and the data stack has several chunks. */
static void many_frames(void)
{
	start();
	mixed(600);
	assert_stack(WALK_OK, 600);
}

static void deepest(void)
{
	start();
	mixed(ABI_MAX_FRAMES);
	assert_stack(WALK_OK, ABI_MAX_FRAMES);
}

/* A stack that is too deep is cut off at its root: the innermost 1,024 frames stay. */
static void too_deep(void)
{
	start();
	mixed(ABI_MAX_FRAMES + 1);
	assert_stack(WALK_TRUNCATED, ABI_MAX_FRAMES);
	start();
	mixed(3000);
	assert_stack(WALK_TRUNCATED, ABI_MAX_FRAMES);
}

/*
 * Each function calls the next one through sorted(key=f), so that from 3.12 on there is a shim (a
 * frame of the evaluation loop itself) for each frame.
 */
static void all_from_c(size_t n, enum walk_outcome outcome)
{
	uint64_t code = image_code("key");

	start();
	for (size_t i = 0; i < n; i++)
		plan_add(&plan, FROM_C, code, 4);
	assert_stack(outcome, MIN(n, (size_t)ABI_MAX_FRAMES));
}

static void deep_through_c(void)
{
	all_from_c(ABI_MAX_FRAMES, WALK_OK);
	all_from_c(ABI_MAX_FRAMES + 1, WALK_TRUNCATED);
	all_from_c(1500, WALK_TRUNCATED);
}

/* Puts a frame at every position in a page, including across the page's end. */
static void every_position(void)
{
	uint64_t code = image_code("f");

	if (image.l->walk == PY_WALK_OBJECT)
		return;
	for (uint64_t at = 0; at < HOST_PAGE; at += 8) {
		image.stack = IMAGE_STACK + 16 * HOST_PAGE * (at / 8) + at;
		start();
		for (int i = 0; i < 4; i++)
			plan_add(&plan, i ? CALL : FROM_C, code, 2 * i);
		assert_stack(WALK_OK, 4);
	}
}

/*
 * All frames are those of generators, on the heap. Each is read alone, even where a few bytes of it
 * were read with another frame.
 */
static void generators_only(void)
{
	uint64_t code = image_code("gen");

	start();
	for (int i = 0; i < 100; i++)
		plan_add(&plan, i ? GENERATOR : FROM_C, code, 2 * i);
	assert_stack(WALK_OK, 100);
}

static uint64_t id_of(void)
{
	chain_build(&plan, &expected);
	assert_int_equal(image_walk(), WALK_OK);
	assert_int_equal(chain_compare(&expected), plan.n);
	assert_int_not_equal(host.w->hash, 0);
	return host.w->hash;
}

/*
 * The same frames at other addresses have the same stack id. Any other difference changes the id.
 */
static void ids(void)
{
	uint64_t id, code = image_code("other");

	start();
	mixed(40);
	id = id_of();
	assert_int_equal(id_of(), id);
	for (size_t i = 0; i < plan.n; i++) {
		struct planned was = plan.frame[i];

		plan.frame[i].lasti += 2;
		assert_int_not_equal(id_of(), id);
		plan.frame[i] = was;
		plan.frame[i].code = code;
		assert_int_not_equal(id_of(), id);
		plan.frame[i] = was;
		if (i && image.l->walk != PY_WALK_OBJECT) {
			plan.frame[i].link = was.link == FROM_C ? CALL : FROM_C;
			assert_int_not_equal(id_of(), id);
			plan.frame[i] = was;
		}
	}
	plan.n--;
	assert_int_not_equal(id_of(), id);
	plan.n++;
	assert_int_equal(id_of(), id);
}

/* The same stack in another process has another id, even with all addresses equal. */
static void ids_of_processes(void)
{
	uint64_t id;

	start();
	mixed(3);
	id = id_of();
	host.w->proc.tgid++;
	walk_python(host.w, &host.layout);
	assert_int_not_equal(host.w->hash, id);
	host.w->proc.tgid--;
	host.w->proc.exec_id++;
	walk_python(host.w, &host.layout);
	assert_int_not_equal(host.w->hash, id);
}

/*
 * The stack's id changes if the code object at the same address has another file, name, line table
 * or first line.
 */
static void ids_of_contents(void)
{
	const struct py_layout *l = image.l;
	uint64_t id, code;

	start();
	mixed(2);
	id = id_of();
	code = plan.frame[1].code;
	for (int i = 0; i < 4; i++) {
		uint32_t field =
			(const uint16_t[]){l->code_filename, l->code_qualname ?: l->code_name,
					   l->code_linetable, l->code_firstlineno}[i];
		uint64_t was = get_u64(code + field);

		if (l->code_version && i == 0)
			/*
			 * this field isn't compared, because an equal co_version proves that it is
			 * the same
			 */
			continue;
		put_u64(code + field, i == 2   ? image_bytes("\x80\0\2\4\7", 5, NO_HASH)
				      : i == 3 ? was + 1
					       : image_text("something else"));
		assert_int_not_equal(id_of(), id);
		put_u64(code + field, was);
	}
	assert_int_equal(id_of(), id);
	if (l->code_version) {
		put_u32(code + l->code_version, 77777);
		assert_int_not_equal(id_of(), id);
	}
}

#define NEIGHBOURS 60

/*
 * Returns the check (identifying value) of the code object at @code, which the only frame of a
 * stack runs.
 */
static uint64_t check_alone(uint64_t code)
{
	start();
	plan_add(&plan, FROM_C, code, 2);
	assert_stack(WALK_OK, 1);
	return host.out->frame[0].check;
}

static void make_neighbours(uint64_t *code)
{
	const uint64_t file = image_text("/srv/app.py");
	uint64_t name[NEIGHBOURS], table[NEIGHBOURS];

	for (int i = 0; i < NEIGHBOURS; i++)
		name[i] = image_str("name", 4, 1, true, (uint64_t)i);
	for (int i = 0; i < NEIGHBOURS; i++)
		table[i] = image_bytes(&i, sizeof(i), NO_HASH);
	for (int i = 0; i < NEIGHBOURS; i++) {
		code[i] = image_code_of(file, name[i], table[i], i);
		/*
		 * the objects are as close together as real ones, unless copies of bytecode lie
		 * between them
		 */
		if (!image.l->code_tlbc)
			image.heap = code[i] + image.l->code_linetable + 64;
	}
}

/*
 * Up to 3.10, several neighbouring code objects are read at once. Their checks (identifying values)
 * are those that reading each alone gives.
 */
static void neighbours(void)
{
	uint64_t reads, code[NEIGHBOURS];
	struct wire_frame frame[NEIGHBOURS];

	start();
	make_neighbours(code);
	for (size_t i = 0; i < NEIGHBOURS; i++)
		plan_add(&plan, FROM_C, code[i], 2);
	assert_stack(WALK_OK, NEIGHBOURS);
	reads = host.reads;
	memcpy(frame, host.out->frame, sizeof(frame));
	for (size_t i = 0; i < NEIGHBOURS; i++)
		assert_int_equal(frame[i].check, check_alone(frame[i].code));
	if (image.l->walk == PY_WALK_OBJECT)
		assert_in_range(reads, NEIGHBOURS, host.reads + NEIGHBOURS * 2);
}

/*
 * Walks stacks that run two groups of neighbouring code objects in turn, while reads of one group
 * fail. What a failed read leaves in the buffer must not be used.
 */
static void neighbours_that_fail(void)
{
	struct wire_frame frame[NEIGHBOURS];
	uint64_t code[NEIGHBOURS];

	start();
	make_neighbours(code);
	for (size_t i = 0; i < NEIGHBOURS; i++)
		plan_add(&plan, FROM_C, code[i / 4 * 2 + i % 2 + (i % 4 > 1 ? NEIGHBOURS / 2 : 0)],
			 2);
	assert_stack(WALK_OK, NEIGHBOURS);
	memcpy(frame, host.out->frame, sizeof(frame));
	for (host.fail_nth = 2; host.fail_nth < 200; host.fail_nth++) {
		image_walk();
		assert_true(host.w->n <= NEIGHBOURS);
		for (size_t i = 0; i < host.w->n && image.l->walk == PY_WALK_OBJECT; i++)
			assert_int_equal(host.out->frame[i].check, frame[i].check);
	}
	host.fail_nth = 0;
}

/*
 * Puts another code object at the same address without raising the count of code objects. Returns
 * whether the stack walk notices it.
 */
static bool notices(uint64_t code, uint32_t *version)
{
	uint64_t before = id_of();

	put_u32(code + image.l->code_version, ++*version);
	return id_of() != before;
}

/*
 * Builds frames in a process that counts the code objects it makes. Sets *@code to the second
 * frame's code object, and *@counter to the address of the count.
 */
static bool start_counted(uint64_t *code, uint64_t *counter)
{
	if (!image.l->code_version)
		return false;
	start();
	mixed(3);
	*code = plan.frame[1].code;
	*counter = image_count_codes(9000);
	return true;
}

/* As long as the process makes no new code object, the stack walk reads none again. */
static void counted(void)
{
	uint32_t version = 2000;
	uint64_t code, counter;

	if (!start_counted(&code, &counter))
		return;
	assert_false(notices(code, &version));
	put_u32(counter, 9001);
	/* the count hasn't changed, so the stack walk doesn't notice the other code object */
	assert_false(notices(code, &version));
	/* not above the version of an existing code object, so this can't be the count */
	put_u32(counter, version);
	assert_true(notices(code, &version));
	put_u32(counter, 0); /* 0 means that all versions have been given out */
	assert_true(notices(code, &version));
	put_u32(counter, 9002);
	put_u64(image.where.interp_head + PY_NEXT_ID, 2);
	assert_true(notices(code, &version));
	put_u64(image.where.interp_head + PY_NEXT_ID, 1);
	assert_false(notices(code, &version));
	image.where.codes_made = 0x1000; /* an address at which nothing can be read */
	assert_true(notices(code, &version));
}

/*
 * When the process has made another code object, the stack walk reads all of them again, and
 * notices a change.
 */
static void counted_anew(void)
{
	uint64_t code, counter, id;

	if (!start_counted(&code, &counter))
		return;
	id = id_of();
	put_u32(code + image.l->code_version, 9000);
	put_u32(counter, 9001);
	assert_int_not_equal(id_of(), id);
}

/*
 * The part of a frame that stack walks read contains all fields that they need, in every version.
 */
static void fields_are_read(void)
{
	const struct py_layout *l = image.l;

	if (l->walk != PY_WALK_OBJECT) {
		assert_true(l->frame_back + 8 <= FRAME_BYTES && l->frame_code + 8 <= FRAME_BYTES);
		assert_true(l->frame_lasti + 8 <= FRAME_BYTES && l->frame_owner < FRAME_BYTES);
		assert_true(l->frame_tlbc_index + 4 <= FRAME_BYTES);
	}
	assert_true(l->tstate_thread_id + 8u <= PY_TSTATE_BYTES &&
		    l->tstate_frame < l->tstate_thread_id);
	assert_true(l->code_linetable + 8u <= l->code_block + (unsigned)CODE_BLOCK_BYTES);
	assert_true(l->code_qualname + 8u <= l->code_block + (unsigned)CODE_BLOCK_BYTES);
	assert_true(l->code_version + 4u <= l->code_block + (unsigned)CODE_BLOCK_BYTES);
}

/* clang-format off */
#define TESTS(X) \
	X(one_frame) X(some_frames) X(many_frames) X(deepest) X(too_deep) \
	X(deep_through_c) X(every_position) X(generators_only) X(ids) X(ids_of_processes) \
	X(ids_of_contents) X(neighbours) X(neighbours_that_fail) X(counted) \
	X(counted_anew) X(fields_are_read)
/* clang-format on */
TESTS(RELEASE_TEST)

WALK_MAIN("walk_image", TESTS(RELEASE_ENTRY))
