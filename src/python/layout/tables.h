/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What krait knows about each CPython version: how it lays out its structures and where its roots
 * lie in _PyRuntime. A release up to 3.12 is a row of a table; from 3.13 on _Py_DebugOffsets in
 * the interpreter says it, read here and checked.
 */
#ifndef PYTHON_TABLES_H
#define PYTHON_TABLES_H

#include "base/util.h"
#include "layout.h"

/*
 * The layout of a release up to 3.12 (from 3.13 the file's own _Py_DebugOffsets decide).
 * @version is major << 8 | minor, @patch the third number. NULL: none is known.
 */
const struct py_layout *py_layout_table(unsigned version, unsigned patch);

/*
 * Layout from the bytes of `_PyRuntime` (3.13+, starts with the cookie "xdebugpy"), with @n bytes
 * readable. 0; -ENOTSUP with a message saying what couldn't be validated.
 */
_must_use_ int py_layout_from_debug_offsets(const uint8_t *runtime, size_t n,
					    struct py_layout *ret);

/*
 * Where things lie in _PyRuntime of a release; 0 = not there, or said by the debug offsets. On
 * AArch64 with glibc the two mutexes of the GIL are 8 bytes larger (48): there the size, and up to
 * 3.11 what follows the GIL (tstate_current, tss_key), is 16 more (@growth below).
 */
struct py_runtime_row {
	uint16_t version;
	uint8_t patch_first, patch_last;
	uint32_t size; /* of the release build; 0 = varies */
	uint32_t interp_head, tstate_current, tss_key;
	/*
	 * A PyThreadState * that Py_FinalizeEx() sets for good, behind the flags that say how far the
	 * start got (pycore_runtime.h). 3.13+: the debug offsets say it.
	 */
	uint32_t finalizing;
};

/* @row where the mutexes are together @growth bytes larger. */
struct py_runtime_row py_runtime_grow(const struct py_runtime_row *row, unsigned growth);

/* 3.7-3.11: address of the GIL, which ends where struct _gilstate_runtime_state begins. */
static inline uint64_t py_gil_before(uint64_t tstate_current, unsigned growth)
{
	return tstate_current - 8 - PY_GIL_WAIT_BYTES - growth - PY_GIL_WAIT;
}

/* NULL: not known. */
const struct py_runtime_row *py_runtime_table(unsigned version, unsigned patch);
const struct py_runtime_row *py_runtime_by_size(uint64_t size);

#define PY_COOKIE     "xdebugpy" /* first 8 bytes of _PyRuntime from 3.13 on */
#define PY_DEBUG_READ 1024	 /* bytes to read of it; _Py_DebugOffsets has 888 in 3.15 */

/* What _Py_DebugOffsets says, checked. */
struct py_debug_offsets {
	struct py_layout layout;
	uint32_t hex_version;
	bool free_threaded;
	uint64_t runtime_size, interp_size, interp_head, finalizing;
	uint8_t gil; /* enum py_gil */
};

/* From the first @n bytes of _PyRuntime; -ENOTSUP with a message if they can't be believed. */
_must_use_ int py_debug_offsets(const uint8_t *runtime, size_t n, struct py_debug_offsets *ret);

/* Adds the two pointers that Py_TRACE_REFS puts before every object (up to 3.12). */
void py_layout_trace_refs(struct py_layout *layout);

/* Beyond the walker's py_layout; bytes from the object's start. */
struct py_heap_row {
	uint16_t version;
	uint16_t ht_qualname, ht_cached_keys;	      /* PyHeapTypeObject; 0 in 2.7 */
	uint16_t func_code, func_dict, func_qualname; /* PyFunctionObject */
};

/* NULL: not known. */
const struct py_heap_row *py_heap_table(unsigned version);

/* What every version from 3.11 or 3.12 on can. */
#define PY_CAN_FROM_3_11                                                                           \
	(PY_CAN(RUNTIME) | PY_CAN(PREINIT) | PY_CAN(RUNTIME_READY) | PY_CAN(NATIVE_ID) |           \
	 PY_CAN(LOG2_KEYS) | PY_CAN(MANAGED_DICTS))
#define PY_CAN_FROM_3_12                                                                           \
	(PY_CAN_FROM_3_11 | PY_CAN(TSS_ARGUMENT) | PY_CAN(SHIM_FRAMES) | PY_CAN(INIT_CLEANUP) |    \
	 PY_CAN(TAGGED_INTS) | PY_CAN(TRAMPOLINES))

/* The capabilities of @version (major << 8 | minor); of one newer than krait those of the newest. 0: not known. */
uint64_t py_can(unsigned version);
uint64_t py_debug_can(unsigned version); /* the same from 3.13 on */

#endif
