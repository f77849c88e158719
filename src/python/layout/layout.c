/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How CPython 2.7 and 3.6-3.12 lay out their structures. These releases don't describe their own
 * structures, so the tables in this file have an entry for each version, for x86-64 and AArch64
 * alike. tests/layout/check.sh compares every number with the compiler's result for each installed
 * interpreter's headers.
 *
 * All released headers of a minor version agree (2.7-2.7.18 and 3.6.0-3.12.x were compared), except
 * that _PyRuntime grew in 3.7.4.
 */
#include "python/layout/tables.h"

/* clang-format off */
/*
 * Offsets in the headers of Python objects. They are the same since 3.6, except that PyASCIIObject
 * lost wstr in 3.12 (PEP 623).
 */
#define OBJECTS_3_6                                                                                \
	.ob_type = 8, .type_name = 24, .tuple_items = 24, .bytes_data = 32, .str_length = 16,      \
	.str_hash = 24, .str_state = 32, .str_kind_shift = 2
#define STRINGS_3_6  OBJECTS_3_6, .str_ascii = 48, .str_compact = 72
#define STRINGS_3_12 OBJECTS_3_6, .str_ascii = 40, .str_compact = 56

/*
 * The capabilities (PY_CAPABILITIES) of the versions: one macro for each row of the table of
 * layouts.
 */
#define CAN_2_7                                                                                    \
	(PY_CAN(OLD_CLASSES) | PY_CAN(PLAIN_INTS) | PY_CAN(OPEN_DICTS) | PY_CAN(LOCK_GIL) |        \
	 PY_CAN(LISTED_STATES) | PY_CAN(LNOTAB) | PY_CAN(FRAME_A_LOOP) | PY_CAN(TRACE_REFS))
#define CAN_3_6                                                                                    \
	(PY_CAN(GIL_STATICS) | PY_CAN(LNOTAB) | PY_CAN(SIGNED_LINES) |                             \
	 PY_CAN(FRAME_A_LOOP) | PY_CAN(TRACE_REFS))
#define CAN_3_7                                                                                    \
	(PY_CAN(RUNTIME) | PY_CAN(GIL_IN_RUNTIME) | PY_CAN(LNOTAB) | PY_CAN(SIGNED_LINES) |        \
	 PY_CAN(FRAME_A_LOOP) | PY_CAN(TRACE_REFS))
#define CAN_3_8 (CAN_3_7 | PY_CAN(PREINIT) | PY_CAN(NATIVE_ID))
#define CAN_3_10                                                                                   \
	(PY_CAN(RUNTIME) | PY_CAN(GIL_IN_RUNTIME) | PY_CAN(PREINIT) | PY_CAN(NATIVE_ID) |          \
	 PY_CAN(LINE_RANGES) | PY_CAN(FRAME_A_LOOP) | PY_CAN(TRACE_REFS))
#define CAN_3_11                                                                                   \
	(PY_CAN_FROM_3_11 | PY_CAN(GIL_IN_RUNTIME) | PY_CAN(TRACE_REFS) | PY_CAN(VALUES_BEFORE))
#define CAN_3_12                                                                                   \
	(PY_CAN_FROM_3_12 | PY_CAN(GIL_ACTIVE) | PY_CAN(TRACE_REFS) | PY_CAN(VALUES_TAGGED) |      \
	 PY_CAN(COUNTER_SYMBOL))

/*
 * The first fields of PyInterpreterState and PyThreadState, whose offsets are equal from 3.6 to
 * 3.10.
 */
#define STATES_3_6                                                                                 \
	.walk = PY_WALK_OBJECT, .interp_next = 0, .interp_tstate_head = 8, .tstate_next = 8,       \
	.tstate_interp = 16, .tstate_frame = 24, .frame_back = 24, .frame_code = 32,               \
	.frame_globals = 48
/* clang-format on */

static const struct py_layout layouts[] = {
	{
		.version = 0x0207,
		.can = CAN_2_7,
		.walk = PY_WALK_OBJECT,
		.interp_next = 0,
		.interp_tstate_head = 8,
		.tstate_next = 0,
		.tstate_interp = 8,
		.tstate_frame = 16,
		.interp_modules = 16,
		.tstate_thread_id = 144,
		.frame_back = 24,
		.frame_code = 32,
		.frame_globals = 48,
		.frame_lasti = 120,
		.frame_locals = 376,
		.code_argcount = 16,
		.code_flags = 28,
		.code_varnames = 56,
		.code_filename = 80,
		.code_name = 88,
		.code_firstlineno = 96,
		.code_linetable = 104,
		.ob_type = 8,
		.type_name = 24,
		.tuple_items = 24,
		.bytes_data = 36,
		.str_length = 16,
		.str_hash = 24,
		.str_ascii = 36,
	},
	{
		.version = 0x0306,
		.can = CAN_3_6,
		STATES_3_6,
		STRINGS_3_6,
		.interp_modules = 16,
		.tstate_thread_id = 152,
		.frame_lasti = 120,
		.frame_locals = 376,
		.code_argcount = 16,
		.code_flags = 32,
		.code_firstlineno = 36,
		.code_varnames = 64,
		.code_filename = 96,
		.code_name = 104,
		.code_linetable = 112,
	},
	{
		.version = 0x0307,
		.can = CAN_3_7,
		STATES_3_6,
		STRINGS_3_6,
		.interp_modules = 40,
		.tstate_thread_id = 176,
		.frame_lasti = 104,
		.frame_locals = 360,
		.code_argcount = 16,
		.code_flags = 32,
		.code_firstlineno = 36,
		.code_varnames = 64,
		.code_filename = 96,
		.code_name = 104,
		.code_linetable = 112,
	},
	{
		.version = 0x0308, /* since 3.8 code objects have co_posonlyargcount */
		.can = CAN_3_8,
		STATES_3_6,
		STRINGS_3_6,
		.interp_modules = 56,
		.tstate_thread_id = 176,
		.frame_lasti = 104,
		.frame_locals = 360,
		.code_argcount = 16,
		.code_flags = 36,
		.code_firstlineno = 40,
		.code_varnames = 72,
		.code_filename = 104,
		.code_name = 112,
		.code_linetable = 120,
	},
	{
		.version = 0x0309,
		.can = CAN_3_8,
		STATES_3_6,
		STRINGS_3_6,
		.interp_collecting = 816,
		.interp_modules = 856,
		.tstate_thread_id = 176,
		.frame_lasti = 104,
		.frame_executing = 116,
		.frame_locals = 360,
		.code_argcount = 16,
		.code_flags = 36,
		.code_firstlineno = 40,
		.code_varnames = 72,
		.code_filename = 104,
		.code_name = 112,
		.code_linetable = 120,
	},
	{
		/* since 3.10 f_lasti counts code units, and co_linetable replaces co_lnotab */
		.version = 0x030a,
		.can = CAN_3_10,
		STATES_3_6,
		STRINGS_3_6,
		.interp_collecting = 816,
		.interp_modules = 856,
		.tstate_thread_id = 176,
		.frame_lasti = 96,
		.frame_locals = 352,
		.code_argcount = 16,
		.code_flags = 36,
		.code_firstlineno = 40,
		.code_varnames = 72,
		.code_filename = 104,
		.code_name = 112,
		.code_linetable = 120,
	},
	{
		.version = 0x030b,
		.can = CAN_3_11,
		STRINGS_3_6,
		.walk = PY_WALK_CFRAME,
		.interp_next = 0,
		.interp_tstate_head = 16,
		.tstate_next = 8,
		.tstate_interp = 16,
		.tstate_frame = 56,
		.interp_collecting = 848,
		.interp_modules = 888,
		.tstate_thread_id = 152,
		.tstate_native_thread_id = 160,
		.tstate_datastack_top = 304,
		.tstate_exc_info = 120,
		.tstate_exc_state = 320,
		.tstate_root_cframe = 336,
		.cframe_current_frame = 8,
		.frame_code = 32,
		.frame_globals = 8,
		.frame_back = 48,
		.frame_lasti = 56,
		.frame_is_entry = 68,
		.frame_owner = 69,
		.frame_locals = 72,
		.frame_more = 1,
		.frame_func = 0,
		.func_code = 48,
		.func_version = 128,
		.code_flags = 48,
		.code_argcount = 56,
		.code_firstlineno = 72,
		.code_varnames = 96,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_stacksize = 68,
		.code_firsttraceable = 168,
		.code_adaptive = 184,
	},
	{
		.version = 0x030c,
		.can = CAN_3_12,
		STRINGS_3_12,
		.walk = PY_WALK_CFRAME,
		.interp_next = 0,
		.interp_tstate_head = 72,
		.tstate_next = 8,
		.tstate_interp = 16,
		.tstate_frame = 56,
		.interp_collecting = 312,
		.interp_modules = 944,
		.tstate_thread_id = 136,
		.tstate_native_thread_id = 144,
		.tstate_datastack_top = 240,
		.tstate_exc_info = 104,
		.tstate_exc_state = 256,
		.tstate_root_cframe = 272,
		.interp_gil = 384,
		.tstate_gil = 24, /* the offset of PyThreadState._status in 3.12 */
		.gil_bit = 1 << 4,
		.cframe_current_frame = 0,
		.frame_code = 0,
		.frame_globals = 24,
		.frame_back = 8,
		.frame_lasti = 56,
		.frame_owner = 70,
		.frame_locals = 72,
		.code_flags = 48,
		.code_argcount = 52,
		.code_firstlineno = 68,
		.code_version = 92,
		.code_varnames = 96,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_stacksize = 64,
		.code_firsttraceable = 176,
		.code_adaptive = 192,
	},
};

/*
 * .tss_key is the offset of Py_tss_t._key, which is 4 bytes into autoTSSkey. 3.13 and 3.14 need no
 * .interp_head, because their debug offsets have it (interpreters_head).
 */
static const struct py_runtime_row runtimes[] = {
	{0x0307, 0, 3, .size = 1424, .interp_head = 24, .tstate_current = 1392, .tss_key = 1420,
	 .finalizing = 8},
	{0x0307, 4, 99, .size = 1520, .interp_head = 24, .tstate_current = 1480, .tss_key = 1508,
	 .finalizing = 8},
	{0x0308, 0, 99, .size = 1464, .interp_head = 32, .tstate_current = 1368, .tss_key = 1396,
	 .finalizing = 16},
	{0x0309, 0, 99, .size = 656, .interp_head = 32, .tstate_current = 568, .tss_key = 588,
	 .finalizing = 16},
	{0x030a, 0, 99, .size = 672, .interp_head = 32, .tstate_current = 568, .tss_key = 588,
	 .finalizing = 16},
	{0x030b, 0, 99, .size = 166688, .interp_head = 40, .tstate_current = 576, .tss_key = 596,
	 .finalizing = 24},
	{0x030c, 0, 99, .size = 459944, .interp_head = 40, .tss_key = 1548, .finalizing = 24},
	{0x030d, 0, 99, .size = 0, .tss_key = 2164},
	{0x030e, 0, 99, .size = 0, .tss_key = 2340},
};

const struct py_layout *py_layout_table(unsigned version, unsigned patch)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].version == version)
			return &layouts[i];
	}
	return NULL;
}

const struct py_runtime_row *py_runtime_table(unsigned version, unsigned patch)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (runtimes[i].version == version && patch >= runtimes[i].patch_first &&
		    patch <= runtimes[i].patch_last)
			return &runtimes[i];
	}
	return NULL;
}

const struct py_runtime_row *py_runtime_by_size(uint64_t size)
{
	for (size_t i = 0; size && i < ARRAY_SIZE(runtimes); i++) {
		if (runtimes[i].size == size)
			return &runtimes[i];
	}
	return NULL;
}

struct py_runtime_row py_runtime_grow(const struct py_runtime_row *row, unsigned growth)
{
	struct py_runtime_row r = *row;

	if (r.size)
		r.size += growth;
	/*
	 * up to 3.11 both fields lie after the GIL in _PyRuntime, so their offsets grow with the
	 * GIL
	 */
	if (r.tstate_current) {
		r.tstate_current += growth;
		r.tss_key += growth;
	}
	return r;
}

/*
 * With Py_TRACE_REFS (pydebug up to 3.7, --with-trace-refs up to 3.12) the pointers _ob_next and
 * _ob_prev come before each object's header.
 */
void py_layout_trace_refs(struct py_layout *l)
{
	uint16_t *const fields[] = {
		&l->ob_type,	    &l->type_name,	  &l->tuple_items,   &l->bytes_data,
		&l->str_length,	    &l->str_hash,	  &l->str_ascii,     &l->code_argcount,
		&l->code_flags,	    &l->code_firstlineno, &l->code_filename, &l->code_name,
		&l->code_linetable, &l->code_varnames,
	};
	uint16_t *const optional[] = {
		&l->str_state,		 &l->str_compact,     &l->code_qualname, &l->code_adaptive,
		&l->code_firsttraceable, &l->code_version,    &l->func_code,	 &l->func_version,
		&l->code_stacksize,	 &l->frame_executing,
	};
	uint16_t *const frame[] = {&l->frame_code, &l->frame_back, &l->frame_globals,
				   &l->frame_lasti, &l->frame_locals};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		*fields[i] += 16;
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		*optional[i] += *optional[i] ? 16 : 0;
	/* Up to 3.10 frames are also objects, so the offsets of frames' fields also grow. */
	for (size_t i = 0; i < ARRAY_SIZE(frame) && l->walk == PY_WALK_OBJECT; i++)
		*frame[i] += 16;
}

/*
 * Offsets in builds with a GIL. In free-threaded builds the header, and so each offset, is 16
 * larger.
 */
static const struct py_heap_row heaps[] = {
	{0x207, 0, 0, 16, 64, 0},	{0x306, 848, 856, 16, 72, 104},
	{0x307, 848, 856, 16, 72, 104}, {0x308, 864, 872, 16, 72, 104},
	{0x309, 856, 864, 16, 72, 104}, {0x30a, 864, 872, 48, 88, 40},
	{0x30b, 864, 872, 48, 88, 40},	{0x30c, 872, 880, 48, 88, 40},
	{0x30d, 872, 880, 48, 88, 40},	{0x30e, 872, 880, 48, 88, 40},
	{0x30f, 880, 888, 48, 88, 40},
};

const struct py_heap_row *py_heap_table(unsigned version)
{
	for (size_t i = 0; i < ARRAY_SIZE(heaps); i++) {
		if (heaps[i].version == version)
			return &heaps[i];
	}
	return NULL;
}

uint64_t py_can(unsigned version)
{
	const struct py_layout *l = py_layout_table(version, 0);

	return l ? l->can : py_debug_can(version);
}
