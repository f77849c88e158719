/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Since 3.13 an interpreter describes itself. _PyRuntime begins with _Py_DebugOffsets
 * (Include/internal/pycore_debug_offsets.h; 3.13: pycore_runtime.h): all members are u64, in an
 * order that changes between minor versions. A list for each minor version has the order. The
 * members are used only after the relations that must hold between them were checked. So a list
 * that doesn't fit, for a version yet to come, is refused, and doesn't give wrong stacks.
 */
#include <errno.h>
#include "base/error.h"
#include "python/layout/tables.h"

/* clang-format off */
/*
 * Members of CPython's debug offsets that come in the same order in every version: parts that are
 * shared by the versions' lists of members.
 */
#define HEAD(X)                                                                                    \
	X(cookie) X(version) X(free_threaded)                                                      \
	X(runtime_size) X(runtime_finalizing) X(interpreters_head)
#define INTERP(X)                                                                                  \
	X(gc) X(imports_modules) X(sysdict) X(builtins) X(ceval_gil) X(gil) X(gil_enabled)         \
	X(gil_locked) X(gil_holder)
#define CODE(X)                                                                                    \
	X(code_size) X(co_filename) X(co_name) X(co_qualname) X(co_linetable) X(co_firstlineno)    \
	X(co_argcount) X(co_localsplusnames) X(co_localspluskinds) X(co_code_adaptive)
#define OBJECT(X) X(object_size) X(ob_type)
#define TYPE(X)	  X(type_size) X(tp_name) X(tp_repr) X(tp_flags)
#define TUPLE(X)  X(tuple_size) X(tuple_items) X(tuple_length)
#define LIST(X)	  X(list_size) X(list_items) X(list_length)
#define SET(X)	  X(set_size) X(set_used) X(set_table) X(set_mask)
#define SCALARS(X)                                                                                 \
	X(dict_size) X(ma_keys) X(ma_values) X(float_size) X(ob_fval) X(long_size) X(lv_tag)       \
	X(ob_digit) X(bytes_size) X(bytes_length) X(bytes_data) X(str_size) X(str_state)           \
	X(str_length) X(ascii_size)
#define GC(X) X(gc_size) X(gc_collecting)

#define MEMBERS_3_13(X)                                                                            \
	HEAD(X)                                                                                    \
	X(interp_size) X(interp_id) X(interp_next) X(threads_head) INTERP(X)                       \
	X(thread_size) X(thread_prev) X(thread_next) X(thread_interp) X(current_frame)             \
	X(thread_id) X(native_thread_id) X(datastack_chunk) X(thread_status)                       \
	X(frame_size) X(previous) X(executable) X(instr_ptr) X(localsplus) X(owner)                \
	CODE(X) OBJECT(X) TYPE(X) TUPLE(X) LIST(X) SCALARS(X) GC(X)

#define MEMBERS_3_14(X)                                                                            \
	HEAD(X)                                                                                    \
	X(interp_size) X(interp_id) X(interp_next) X(threads_head) X(threads_main) INTERP(X)       \
	X(code_object_generation) X(tlbc_generation)                                               \
	X(thread_size) X(thread_prev) X(thread_next) X(thread_interp) X(current_frame)             \
	X(thread_id) X(native_thread_id) X(datastack_chunk) X(thread_status)                       \
	X(frame_size) X(previous) X(executable) X(instr_ptr) X(localsplus) X(owner)                \
	X(stackpointer) X(tlbc_index)                                                              \
	CODE(X) X(co_tlbc) OBJECT(X) TYPE(X) TUPLE(X) LIST(X) SET(X) SCALARS(X) GC(X)

/* Members of the newest version's debug offsets. Later versions are tried with this list, too. */
#define MEMBERS_3_15(X)                                                                            \
	HEAD(X)                                                                                    \
	X(interp_size) X(interp_id) X(interp_next) X(threads_head) X(threads_main) INTERP(X)       \
	X(code_object_generation) X(tlbc_generation)                                               \
	X(thread_size) X(thread_prev) X(thread_next) X(thread_interp) X(current_frame)             \
	X(base_frame) X(last_profiled_frame) X(last_profiled_frame_seq)                            \
	X(thread_id) X(native_thread_id) X(datastack_chunk) X(thread_status)                       \
	X(holds_gil) X(gil_requested) X(current_exception) X(exc_state) X(exc_value)               \
	X(frame_size) X(previous) X(executable) X(instr_ptr) X(localsplus) X(owner)                \
	X(stackpointer) X(tlbc_index)                                                              \
	CODE(X) X(co_tlbc) OBJECT(X) TYPE(X) X(tp_basicsize) X(tp_dictoffset)                      \
	X(heap_type_size) X(ht_cached_keys) TUPLE(X) LIST(X) SET(X) SCALARS(X) X(compact_size)     \
	GC(X)
/* clang-format on */

/* Members of the debug offsets. The newest version has all; a member that a version lacks is 0. */
enum member {
#define X(name) M_##name,
	MEMBERS_3_15(X)
#undef X
		M_MAX
};

#define X(name) M_##name,
static const uint8_t order_3_13[] = {MEMBERS_3_13(X)};
static const uint8_t order_3_14[] = {MEMBERS_3_14(X)};
static const uint8_t order_3_15[] = {MEMBERS_3_15(X)};
#undef X

#define CAN_3_15 (PY_CAN_FROM_3_12 | PY_CAN(VALUES_HEAD) | PY_CAN(FREE_THREADED))
#define CAN_3_13 CAN_3_15
#define CAN_3_14 (CAN_3_13 | PY_CAN(HIDDEN_EXECUTORS))

static const struct order {
	uint16_t version;
	uint16_t n;
	const uint8_t *member;
	uint64_t can;
	/* how many bits come before .kind in PyASCIIObject.state of a free-threaded build */
	uint8_t kind_shift;
	/*
	 * Where the thread state says whether the thread holds the GIL: in the u32 that is
	 * .gil_after bytes behind the member .gil_at, in the bits of the mask .gil_bit
	 */
	uint8_t gil_at, gil_after, gil_bit;
	/* bytes from _status to the int that says whether the thread is attached */
	uint8_t state_after;
	bool copies; /* whether each thread has copies of bytecode in a free-threaded build */
} orders[] = {
	{0x030d, ARRAY_SIZE(order_3_13), order_3_13, CAN_3_13, 2, M_thread_status, 0, 1 << 5, 8,
	 false},
	/* in a free-threaded 3.14, the field .interned before .kind became a whole byte */
	{0x030e, ARRAY_SIZE(order_3_14), order_3_14, CAN_3_14, 8, M_thread_status, 4, 1, 12, true},
	{0x030f, ARRAY_SIZE(order_3_15), order_3_15, CAN_3_15, 8, M_holds_gil, 0, 1, 16, true},
};

static const char *const names[] = {
#define X(name) #name,
	MEMBERS_3_15(X)
#undef X
};

/* clang-format off */
/*
 * Relations between members, which hold in every build of every version since 3.13 (with GIL,
 * free-threaded, debug): a == b + delta.
 */
static const struct relation {
	uint8_t a, b;
	int8_t delta;
} relations[] = {
	/* the order is: an object's header, ob_size, the data */
	{ M_ob_type, M_object_size, -8 },
	{ M_tuple_length, M_object_size, 0 },
	{ M_list_length, M_object_size, 0 },
	{ M_bytes_length, M_object_size, 0 },
	{ M_str_length, M_object_size, 0 },
	{ M_ob_fval, M_object_size, 0 },
	{ M_lv_tag, M_object_size, 0 },
	{ M_tp_name, M_object_size, 8 },
	{ M_bytes_data, M_object_size, 16 },
	{ M_str_state, M_object_size, 16 },
	{ M_ascii_size, M_object_size, 24 },
	/* co_flags, co_version and _co_firsttraceable of PyCodeObject follow from these members */
	{ M_co_argcount, M_object_size, 36 },
	{ M_co_firstlineno, M_co_argcount, 16 },
	{ M_co_localsplusnames, M_co_firstlineno, 28 },
	{ M_co_localspluskinds, M_co_localsplusnames, 8 },
	{ M_co_filename, M_co_localspluskinds, 8 },
	{ M_co_name, M_co_filename, 8 },
	{ M_co_qualname, M_co_name, 8 },
	{ M_co_linetable, M_co_qualname, 8 },
	/* PyThreadState begins with prev, next, interp, in this order */
	{ M_thread_next, M_thread_prev, 8 },
	{ M_thread_interp, M_thread_next, 8 },
	{ M_native_thread_id, M_thread_id, 8 },
	/* _PyInterpreterFrame begins with f_executable, previous, and ends with localsplus[1] */
	{ M_previous, M_executable, 8 },
	{ M_frame_size, M_localsplus, 8 },
};

/* A member that must lie inside the structure whose size is .size, at a multiple of .align. */
static const struct inside {
	uint8_t member, size, align;
} insides[] = {
	{ M_interp_next, M_interp_size, 8 },	 { M_threads_head, M_interp_size, 8 },
	{ M_imports_modules, M_interp_size, 8 },
	{ M_thread_interp, M_thread_size, 8 },	 { M_current_frame, M_thread_size, 8 },
	{ M_native_thread_id, M_thread_size, 8 }, { M_instr_ptr, M_frame_size, 8 },
	{ M_localsplus, M_frame_size, 8 },	 { M_owner, M_localsplus, 1 },
	{ M_tlbc_index, M_localsplus, 4 },	 { M_co_linetable, M_co_code_adaptive, 8 },
	{ M_co_code_adaptive, M_code_size, 8 },	 { M_co_tlbc, M_co_code_adaptive, 8 },
	{ M_tuple_items, M_tuple_size, 8 },	 { M_interpreters_head, M_runtime_size, 8 },
	{ M_runtime_finalizing, M_interpreters_head, 8 },
};
/* clang-format on */

static int check_relations(const uint64_t *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(relations); i++) {
		const struct relation *r = &relations[i];

		if (m[r->a] != m[r->b] + (uint64_t)(int64_t)r->delta)
			return err_set(-ENOTSUP,
				       "the interpreter's _Py_DebugOffsets contradict each other: "
				       "%s is %llu, but %s is %llu",
				       names[r->a], (unsigned long long)m[r->a], names[r->b],
				       (unsigned long long)m[r->b]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(insides); i++) {
		const struct inside *in = &insides[i];

		if (m[in->member] >= m[in->size] || m[in->member] % in->align)
			return err_set(-ENOTSUP,
				       "the interpreter's _Py_DebugOffsets have an impossible %s: "
				       "%llu, while %s is %llu",
				       names[in->member], (unsigned long long)m[in->member],
				       names[in->size], (unsigned long long)m[in->size]);
	}
	return 0;
}

static int unusable(const char *bad)
{
	return bad ? err_set(-ENOTSUP, "the interpreter's _Py_DebugOffsets have a wrong %s", bad)
		   : 0;
}

/* Checks what relations[] has no entry for: absolute sizes, and members that may be missing. */
static int check_sizes(const uint64_t *m)
{
	static const struct {
		uint16_t member, least, most;
	} limits[] = {
		{M_free_threaded, 0, 1},	 {M_executable, 0, 0},
		{M_thread_prev, 0, 0},		 {M_interp_next, 0, UINT16_MAX},
		{M_threads_head, 1, UINT16_MAX}, {M_thread_size, 0, UINT16_MAX},
		{M_frame_size, 0, 256},		 {M_code_size, 0, 1024},
		{M_tuple_size, 0, 64},
	};
	const char *bad = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(limits) && !bad; i++)
		if (m[limits[i].member] < limits[i].least || m[limits[i].member] > limits[i].most)
			bad = names[limits[i].member];
	if (bad)
		return unusable(bad);
	if (m[M_object_size] != (m[M_free_threaded] ? 32 : 16))
		bad = "object_size";
	else if (m[M_code_size] - m[M_co_code_adaptive] > 8)
		bad = "co_code_adaptive";
	else if (m[M_current_frame] <= m[M_thread_interp])
		bad = "current_frame";
	else if (m[M_instr_ptr] <= m[M_previous] || m[M_owner] <= m[M_instr_ptr])
		bad = "owner";
	else if (m[M_compact_size] && m[M_compact_size] != m[M_ascii_size] + 16)
		bad = "compact_size";
	return unusable(bad);
}

/*
 * Checks the members for copies of bytecode. co_tlbc is the last member before the bytecode, and
 * tlbc_index comes before the u16 return_offset and owner. In builds without copies both are 0.
 */
static int check_copies(const struct order *order, const uint64_t *m)
{
	bool copies = order->copies && m[M_free_threaded];
	const char *bad = NULL;

	if (m[M_co_tlbc] != (copies ? m[M_co_code_adaptive] - 8 : 0))
		bad = "co_tlbc";
	else if (m[M_tlbc_index] != (copies ? m[M_owner] - 6 : 0))
		bad = "tlbc_index";
	return unusable(bad);
}

/*
 * Checks offsets that no size bounds, by the order of members. In a frame: instr_ptr, stackpointer
 * (3.13: an int), tlbc_index (free-threaded builds only), a u16, owner. In PyThreadState of known
 * versions, ten ints lie between the beginning of _status and current_frame.
 */
static int check_order(const struct order *order, const uint64_t *m)
{
	uint64_t after = m[M_stackpointer] ?: m[M_instr_ptr] + 4;
	bool known = m[M_version] >> 16 == order->version;
	const char *bad = NULL;

	if (m[M_stackpointer] && m[M_stackpointer] != m[M_instr_ptr] + 8)
		bad = "instr_ptr";
	else if (m[M_owner] != after + (m[M_tlbc_index] ? 14 : 10))
		bad = m[M_stackpointer] ? "owner" : "instr_ptr or owner";
	else if ((known && m[M_current_frame] != m[M_thread_status] + 40) ||
		 (m[M_base_frame] && m[M_base_frame] != m[M_current_frame] + 8))
		bad = "current_frame";
	return unusable(bad);
}

/* Checks that the fields which a walk needs are within the bytes that it reads. */
static int check_read(const uint64_t *m)
{
	const char *bad = NULL;

	if (m[M_owner] >= PY_FRAME_BYTES)
		bad = "owner";
	else if (m[M_instr_ptr] + 8 > PY_FRAME_BYTES)
		bad = "instr_ptr";
	else if (m[M_thread_id] + 8 > PY_TSTATE_BYTES)
		bad = "thread_id";
	else if (m[M_current_frame] >= m[M_thread_id])
		bad = "current_frame";
	return unusable(bad);
}

static const struct order *find_order(unsigned version)
{
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		if (orders[i].version == version)
			return &orders[i];
	}
	return version > orders[ARRAY_SIZE(orders) - 1].version ? &orders[ARRAY_SIZE(orders) - 1]
								: NULL;
}

uint64_t py_debug_can(unsigned version)
{
	const struct order *order = find_order(version);

	return order ? order->can : 0;
}

/* Reads the debug offsets' members into @m. Sets *ret to the order of this version's members. */
static int read_members(const uint8_t *runtime, size_t n, uint64_t *m, const struct order **ret)
{
	const struct order *order;
	uint64_t version;

	memset(m, 0, M_MAX * sizeof(*m));
	if (n < 16 || memcmp(runtime, PY_COOKIE, 8) != 0)
		return err_set(-ENOTSUP, "the interpreter has no _Py_DebugOffsets");
	memcpy(&version, runtime + 8, sizeof(version));
	order = version <= UINT32_MAX ? find_order((unsigned)(version >> 16)) : NULL;
	if (!order || version >> 24 != 3)
		return err_set(-ENOTSUP,
			       "the interpreter's _Py_DebugOffsets have the unknown version %llx",
			       (unsigned long long)version);
	if (n < order->n * sizeof(uint64_t))
		return err_set(-ENOTSUP, "the interpreter's _Py_DebugOffsets are cut off");
	for (size_t i = 0; i < order->n; i++)
		memcpy(&m[order->member[i]], runtime + i * sizeof(uint64_t), sizeof(uint64_t));
	*ret = order;
	return 0;
}

static void fill(const struct order *order, const uint64_t *m, struct py_layout *ret)
{
	*ret = (struct py_layout){
		.can = order->can,
		.version = (uint16_t)(m[M_version] >> 16),
		.walk = PY_WALK_CURRENT,
		.str_kind_shift = m[M_free_threaded] ? order->kind_shift : 2,
	};
	/* Free-threaded builds of a version that is newer than this krait were never tested. */
	if (ret->version > order->version)
		ret->can &= ~PY_CAN(FREE_THREADED);
#define TAKE(field, member) ret->field = (uint16_t)m[M_##member]
	TAKE(ob_type, ob_type);
	TAKE(interp_next, interp_next);
	TAKE(interp_tstate_head, threads_head);
	TAKE(interp_modules, imports_modules);
	TAKE(tstate_next, thread_next);
	TAKE(tstate_interp, thread_interp);
	TAKE(tstate_frame, current_frame);
	TAKE(tstate_thread_id, thread_id);
	TAKE(tstate_native_thread_id, native_thread_id);
	TAKE(frame_code, executable);
	TAKE(frame_back, previous);
	TAKE(frame_lasti, instr_ptr);
	TAKE(frame_owner, owner);
	TAKE(frame_locals, localsplus);
	TAKE(frame_tlbc_index, tlbc_index);
	TAKE(code_argcount, co_argcount);
	TAKE(code_firstlineno, co_firstlineno);
	TAKE(code_filename, co_filename);
	TAKE(code_name, co_name);
	TAKE(code_qualname, co_qualname);
	TAKE(code_linetable, co_linetable);
	TAKE(code_varnames, co_localsplusnames);
	TAKE(code_adaptive, co_code_adaptive);
	TAKE(code_tlbc, co_tlbc);
	ret->frame_more = m[M_co_tlbc] != 0;
	TAKE(str_length, str_length);
	TAKE(str_state, str_state);
	TAKE(str_ascii, ascii_size);
	TAKE(bytes_data, bytes_data);
	TAKE(tuple_items, tuple_items);
	TAKE(type_name, tp_name);
#undef TAKE
}

/*
 * Finds the thread state's field that says whether the thread holds the GIL. 3.13: a bit of
 * _status; 3.14: the int after _status; later: the member holds_gil. Only take_gil() and drop_gil()
 * write it. If there is no such member, or the GIL's layout isn't that of bpf/python/gil.bpf.h,
 * krait doesn't report the GIL.
 */
static void derive_gil(const struct order *order, const uint64_t *m, struct py_layout *ret)
{
	uint64_t word = m[order->gil_at] + order->gil_after;
	unsigned shift = m[M_free_threaded] ? 8 : 0;

	if ((m[M_holds_gil] && m[M_holds_gil] != m[M_thread_status] + 4) || !m[order->gil_at] ||
	    word + 4 > m[M_thread_id] || !m[M_ceval_gil] || m[M_ceval_gil] + 8 > m[M_interp_size] ||
	    m[M_ceval_gil] > UINT16_MAX || m[M_gil_locked] - m[M_gil] != PY_GIL_LOCKED + shift ||
	    m[M_gil_holder] - m[M_gil] != PY_GIL_HOLDER + shift)
		return;
	ret->interp_gil = (uint16_t)m[M_ceval_gil];
	ret->tstate_gil = (uint16_t)word;
	ret->gil_bit = order->gil_bit;
	if (m[M_gil_requested] == word + 4)
		ret->tstate_gil_requested = (uint16_t)m[M_gil_requested];
}

/*
 * Finds the fields that say what a thread of a free-threaded build waits for: the int `state`, and
 * the pointer critical_section, which follows native_thread_id and delete_later.
 */
static void derive_parked(const struct order *order, const uint64_t *m, struct py_layout *ret)
{
	uint64_t state = m[M_thread_status] + order->state_after;
	uint64_t section = m[M_native_thread_id] + 16;

	if (!m[M_free_threaded] || !m[M_thread_status] || state + 4 > m[M_thread_id] ||
	    section + 8 > m[M_thread_size])
		return;
	ret->tstate_state = (uint16_t)state;
	ret->tstate_section = (uint16_t)section;
}

/*
 * Finds the field that says whether a garbage collection is running. If there is no such member, or
 * it isn't inside the interpreter's state, krait doesn't know whether a collection is running.
 */
static void derive_collecting(const uint64_t *m, struct py_layout *ret)
{
	uint64_t at = m[M_gc] + m[M_gc_collecting];

	if (m[M_gc] && m[M_gc] < UINT16_MAX && m[M_gc_collecting] % 4 == 0 &&
	    m[M_gc_collecting] < m[M_gc_size] && m[M_gc_size] < UINT16_MAX &&
	    m[M_gc] + m[M_gc_size] <= m[M_interp_size] && at <= UINT16_MAX)
		ret->interp_collecting = (uint16_t)at;
}

/*
 * Finds the number that shows whether a thread's copies of bytecode may have moved. Without that
 * number, krait looks for the copies in each sample.
 */
static void derive_generation(const uint64_t *m, struct py_layout *ret)
{
	uint64_t at = m[M_tlbc_generation];

	if (ret->code_tlbc && at < UINT16_MAX && at % 4 == 0 && at + 4 <= m[M_interp_size])
		ret->interp_tlbc_generation = (uint16_t)at;
}

/*
 * Computes fields that the debug offsets don't have. The result is right for the headers of
 * 3.13-3.15, with GIL and free-threaded (tests/layout/check.sh checks that), and depends on members
 * that are checked above.
 */
static void derive(const struct order *order, const uint64_t *m, struct py_layout *ret)
{
	/* co_flags comes right before co_argcount, which is an int */
	ret->code_flags = ret->code_argcount - 4;
	/* five ints lie between co_firstlineno and co_version */
	ret->code_version = ret->code_firstlineno + 24;
	/* previous and f_funcobj lie between f_executable and f_globals */
	ret->frame_globals = ret->frame_code + 24;
	ret->str_hash = ret->str_length + 8; /* the order is length, hash, state */
	/* utf8_length and utf8 come before the characters of a compact string */
	ret->str_compact = ret->str_ascii + 16;
	derive_gil(order, m, ret);
	derive_parked(order, m, ret);
	derive_collecting(m, ret);
	derive_generation(m, ret);
	/* the order is _co_firsttraceable, co_extra, [co_tlbc,] co_code_adaptive */
	ret->code_firsttraceable = ret->code_adaptive - (m[M_co_tlbc] ? 24 : 16);
}

int py_debug_offsets(const uint8_t *runtime, size_t n, struct py_debug_offsets *ret)
{
	const struct order *order = NULL;
	uint64_t m[M_MAX];
	int r = read_members(runtime, n, m, &order);

	r = r ? r : check_sizes(m);
	r = r ? r : check_copies(order, m);
	r = r ? r : check_relations(m);
	r = r ? r : check_read(m);
	r = r ? r : check_order(order, m);
	if (r)
		return r;
	fill(order, m, &ret->layout);
	derive(order, m, &ret->layout);
	ret->hex_version = (uint32_t)m[M_version];
	ret->free_threaded = m[M_free_threaded];
	if (ret->layout.tstate_gil)
		ret->gil = ret->free_threaded ? PY_GIL_FREE : PY_GIL_HOLDS;
	ret->runtime_size = m[M_runtime_size];
	ret->interp_size = m[M_interp_size];
	ret->interp_head = m[M_interpreters_head];
	ret->finalizing = m[M_runtime_finalizing];
	return 0;
}

int py_layout_from_debug_offsets(const uint8_t *runtime, size_t n, struct py_layout *ret)
{
	struct py_debug_offsets offsets;
	int r = py_debug_offsets(runtime, n, &offsets);

	if (!r)
		*ret = offsets.layout;
	return r;
}
