/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts of CPython's structures, from the debug offsets of real interpreters, and from the same
 * offsets changed as a future version or a hostile file would have them. Offsets that don't fit are
 * refused. tests/layout/check.sh compares the numbers in krait's tables with headers; here each
 * version only has to be in a table.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/error.h"
#include "debug_offsets.h"
#include "python/layout/tables.h"

static int read_offsets(const uint64_t *v, size_t n, struct py_layout *ret)
{
	return py_layout_from_debug_offsets((const uint8_t *)v, n * sizeof(*v), ret);
}

static void test_versions(void **state)
{
	static const unsigned versions[] = {0x207, 0x306, 0x307, 0x308, 0x309, 0x30a, 0x30b, 0x30c};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct py_layout *l = py_layout_table(versions[i], 3);

		assert_non_null(l);
		assert_int_equal(l->version, versions[i]);
		assert_int_not_equal(l->code_linetable, 0);
	}
	assert_null(py_layout_table(0x305, 0));
	assert_null(py_layout_table(0x30d, 0));
	assert_null(py_layout_table(0x206, 0));
}

/*
 * In 3.7.4 the offsets of the second half of _PyRuntime changed, so 3.7 has two rows in krait's
 * table.
 */
static void test_runtime_rows(void **state)
{
	assert_int_equal(py_runtime_table(0x307, 3)->tstate_current, 1392);
	assert_int_equal(py_runtime_table(0x307, 4)->tstate_current, 1480);
	assert_int_equal(py_runtime_by_size(1424)->patch_last, 3);
	assert_int_equal(py_runtime_by_size(672)->version, 0x30a);
	assert_null(py_runtime_by_size(0));
	/* since 3.15 thread states have no pthread key, so the table has no row */
	assert_null(py_runtime_table(0x30f, 0));
}

/* The numbers expected here come from the headers of 3.13 and 3.15. */
static void test_debug_offsets(void **state)
{
	struct py_layout l;

	assert_int_equal(read_offsets(debug_offsets_3_13, ARRAY_SIZE(debug_offsets_3_13), &l), 0);
	assert_int_equal(l.version, 0x30d);
	assert_int_equal(l.walk, PY_WALK_CURRENT);
	assert_int_equal(l.tstate_frame, 72);
	assert_int_equal(l.tstate_thread_id, 152);
	assert_int_equal(l.frame_owner, 70);
	assert_int_equal(l.code_flags, 48);
	assert_int_equal(l.code_version, 92);
	assert_int_equal(l.code_firsttraceable, 184);
	assert_int_equal(l.str_compact, 56);
	assert_int_equal(l.str_kind_shift, 2);

	assert_int_equal(read_offsets(debug_offsets_3_14, ARRAY_SIZE(debug_offsets_3_14), &l), 0);
	assert_int_equal(l.frame_owner, 74);
	assert_int_equal(l.code_adaptive, 208);

	assert_int_equal(read_offsets(debug_offsets_3_15, ARRAY_SIZE(debug_offsets_3_15), &l), 0);
	assert_int_equal(l.tstate_frame, 72);
	assert_int_equal(l.tstate_thread_id, 176);
	assert_int_equal(l.tuple_items, 32);
	assert_int_equal(l.code_tlbc, 0);
}

static void test_free_threaded(void **state)
{
	struct py_layout l;

	assert_int_equal(read_offsets(debug_offsets_3_13t, ARRAY_SIZE(debug_offsets_3_13t), &l), 0);
	assert_int_equal(l.ob_type, 24);
	assert_int_equal(l.code_firstlineno, 84);
	assert_int_equal(l.code_version, 108);
	assert_int_equal(l.str_state, 48);
	assert_int_equal(l.bytes_data, 48);
	assert_int_equal(l.code_adaptive, 216);
	assert_int_equal(l.code_tlbc, 0);
	assert_int_equal(l.frame_more, 0);
}

/*
 * The offsets by which krait sees what a thread of a free-threaded build waits for. tests/layout
 * compares them with headers.
 */
static void test_parked(void **state)
{
	struct py_layout l;

	assert_int_equal(read_offsets(debug_offsets_3_13t, ARRAY_SIZE(debug_offsets_3_13t), &l), 0);
	assert_int_equal(l.tstate_state, 40);
	assert_int_equal(l.tstate_section, 176);
	assert_int_equal(read_offsets(debug_offsets_3_14t, ARRAY_SIZE(debug_offsets_3_14t), &l), 0);
	assert_int_equal(l.tstate_state, 44);
	assert_int_equal(l.tstate_section, 176);
	assert_int_equal(read_offsets(debug_offsets_3_15t, ARRAY_SIZE(debug_offsets_3_15t), &l), 0);
	assert_int_equal(l.tstate_state, 48);
	assert_int_equal(l.tstate_section, 200);
	assert_int_equal(read_offsets(debug_offsets_3_15, ARRAY_SIZE(debug_offsets_3_15), &l), 0);
	assert_int_equal(l.tstate_state, 0);
	assert_int_equal(l.tstate_section, 0);
}

/* In free-threaded builds since 3.14, each thread has its own copies of bytecode. */
static void test_copies(void **state)
{
	enum { TLBC_GENERATION = 21, TLBC_INDEX = 46, CO_TLBC = 57 };
	uint64_t v[ARRAY_SIZE(debug_offsets_3_15t)];
	struct py_layout l;

	assert_int_equal(read_offsets(debug_offsets_3_14t, ARRAY_SIZE(debug_offsets_3_14t), &l), 0);
	assert_int_equal(l.str_kind_shift, 8);
	assert_int_equal(l.frame_tlbc_index, 72);
	assert_int_equal(l.code_tlbc, 224);
	assert_int_equal(l.code_firsttraceable, 208);
	assert_int_equal(l.interp_tlbc_generation, 17300);
	assert_int_equal(l.frame_more, 1);
	memcpy(v, debug_offsets_3_15t, sizeof(v));
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), 0);
	assert_int_equal(l.frame_tlbc_index, v[TLBC_INDEX]);
	assert_int_equal(l.code_tlbc, v[CO_TLBC]);
	assert_true(PY_HAS(l.can, FREE_THREADED));
	v[1] = 0x031000f0; /* krait refuses this version's free-threaded build (image.c) */
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), 0);
	assert_false(PY_HAS(l.can, FREE_THREADED));
	/* without this offset, krait searches the copies of bytecode again for each sample */
	v[TLBC_GENERATION] = 1 << 20;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), 0);
	assert_int_equal(l.interp_tlbc_generation, 0);
	v[CO_TLBC] = 0;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	assert_non_null(strstr(err_msg(), "co_tlbc"));
	memcpy(v, debug_offsets_3_15t, sizeof(v));
	v[TLBC_INDEX] -= 4;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	assert_non_null(strstr(err_msg(), "tlbc_index"));
	/* a build with a GIL has no copies of bytecode, so this offset is wrong there */
	memcpy(v, debug_offsets_3_15, sizeof(v));
	v[CO_TLBC] = v[CO_TLBC - 1] - 8;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	assert_non_null(strstr(err_msg(), "co_tlbc"));
}

/*
 * Of an unknown version, krait reads the offsets by the newest list of members that it knows. It
 * refuses the version if that list doesn't fit.
 */
static void test_unknown_version(void **state)
{
	uint64_t v[ARRAY_SIZE(debug_offsets_3_15)];
	struct py_layout l;

	memcpy(v, debug_offsets_3_15, sizeof(v));
	v[1] = 0x031000f0;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), 0);
	assert_int_equal(l.version, 0x0310);
	memcpy(v, debug_offsets_3_14, sizeof(debug_offsets_3_14));
	v[1] = 0x031000f0;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	assert_string_equal(err_msg(),
			    "the interpreter's _Py_DebugOffsets have a wrong executable");
	v[1] = 0x030c00f0;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	v[1] = 0x040000f0;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	v[1] = UINT64_MAX;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
}

/*
 * krait notices an inserted or removed member anywhere before the last member that it reads (number
 * 93 in the list of 3.15).
 */
static void test_moved_members(void **state)
{
	enum { FIRST = 6, LAST = 92 };
	uint64_t v[ARRAY_SIZE(debug_offsets_3_15) + 1];
	struct py_layout l;

	for (size_t i = FIRST; i <= LAST; i++) {
		memcpy(v, debug_offsets_3_15, i * sizeof(*v));
		v[i] = 24;
		memcpy(v + i + 1, debug_offsets_3_15 + i,
		       sizeof(debug_offsets_3_15) - i * sizeof(*v));
		if (read_offsets(v, ARRAY_SIZE(v), &l) != -ENOTSUP)
			fail_msg("a member inserted at %zu isn't noticed", i);
		memcpy(v + i, debug_offsets_3_15 + i + 1,
		       sizeof(debug_offsets_3_15) - (i + 1) * sizeof(*v));
		if (read_offsets(v, ARRAY_SIZE(v), &l) != -ENOTSUP)
			fail_msg("a member missing at %zu isn't noticed", i);
	}
}

/* A hostile value is refused if it makes an offset lie outside of its structure. */
static void test_hostile_values(void **state)
{
	static const uint64_t values[] = {0, 1, 7, 0xffff, 0x10000, 0x7fffffffffffffff, UINT64_MAX};
	uint64_t v[ARRAY_SIZE(debug_offsets_3_15)];
	struct py_layout l;

	for (size_t i = 2; i < ARRAY_SIZE(v); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			memcpy(v, debug_offsets_3_15, sizeof(v));
			v[i] = values[k];
			if (read_offsets(v, ARRAY_SIZE(v), &l) < 0)
				continue;
			assert_true(l.tstate_frame < PY_TSTATE_BYTES &&
				    l.tstate_thread_id < PY_TSTATE_BYTES);
			assert_true(l.frame_back < PY_FRAME_BYTES &&
				    l.frame_lasti < PY_FRAME_BYTES &&
				    l.frame_owner < PY_FRAME_BYTES);
			assert_true(l.code_adaptive < 1024 && l.code_linetable < 1024);
			assert_true(l.str_compact < 256 && l.bytes_data < 256);
		}
	}
}

/*
 * Offsets that fit each other are refused if they lie beyond the part of a thread state or of a
 * frame that krait copies.
 */
static void test_further_in(void **state)
{
	enum { THREAD_ID = 30, FRAME_SIZE = 39, INSTR_PTR = 42, LOCALS, OWNER, STACKPOINTER };
	uint64_t v[ARRAY_SIZE(debug_offsets_3_15)];
	struct py_layout l;

	memcpy(v, debug_offsets_3_15, sizeof(v));
	v[THREAD_ID] = 240;
	v[THREAD_ID + 1] = 248;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), 0);
	v[FRAME_SIZE] += 8;
	v[LOCALS] += 8;
	v[INSTR_PTR] += 8;
	v[STACKPOINTER] += 8;
	v[OWNER] += 8;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	assert_string_equal(err_msg(), "the interpreter's _Py_DebugOffsets have a wrong owner");
	memcpy(v, debug_offsets_3_15, sizeof(v));
	v[THREAD_ID] = 248;
	v[THREAD_ID + 1] = 256;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
	v[THREAD_ID] = 72;
	v[THREAD_ID + 1] = 80;
	assert_int_equal(read_offsets(v, ARRAY_SIZE(v), &l), -ENOTSUP);
}

static void test_short_input(void **state)
{
	const uint64_t *v = debug_offsets_3_13;
	struct py_layout l;

	for (size_t n = 0; n < ARRAY_SIZE(debug_offsets_3_13) - 2; n++)
		assert_int_equal(read_offsets(v, n, &l), -ENOTSUP);
	assert_int_equal(
		py_layout_from_debug_offsets((const uint8_t *)"xdebugpx\0\0\0\0\0\0\0", 16, &l),
		-ENOTSUP);
}

/*
 * With Py_TRACE_REFS, each object's members begin 16 bytes later. Thread states and interpreter
 * frames aren't objects, so theirs don't.
 */
static void test_trace_refs(void **state)
{
	struct py_layout l = *py_layout_table(0x307, 0);

	py_layout_trace_refs(&l);
	assert_int_equal(l.ob_type, 24);
	assert_int_equal(l.frame_back, 40);
	assert_int_equal(l.code_qualname, 0);
	assert_int_equal(l.tstate_frame, 24);
	l = *py_layout_table(0x30c, 0);
	py_layout_trace_refs(&l);
	assert_int_equal(l.frame_back, 8);
	assert_int_equal(l.code_version, 108);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),      cmocka_unit_test(test_runtime_rows),
		cmocka_unit_test(test_debug_offsets), cmocka_unit_test(test_free_threaded),
		cmocka_unit_test(test_parked),	      cmocka_unit_test(test_unknown_version),
		cmocka_unit_test(test_moved_members), cmocka_unit_test(test_hostile_values),
		cmocka_unit_test(test_further_in),    cmocka_unit_test(test_short_input),
		cmocka_unit_test(test_trace_refs),    cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
