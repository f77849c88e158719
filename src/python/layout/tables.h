/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What krait knows of each CPython version: the layout of its structures, and where in _PyRuntime
 * the variables are at which a walk of the frames starts. For releases up to 3.12 there are tables.
 * Since 3.13 the interpreter's own _Py_DebugOffsets are read and checked.
 */
#ifndef PYTHON_LAYOUT_TABLES_H
#define PYTHON_LAYOUT_TABLES_H

#include "base/util.h"
#include "layout.h"

/* The version of Python (and its third number) of the only PyPy with which krait was tried. */
#define PY_PYPY_TRIED 0x030b
#define PY_PYPY_PATCH 11

/*
 * Returns the layout of a release up to 3.12; since 3.13 the file's own _Py_DebugOffsets decide.
 * @version is major << 8 | minor, @patch the third number. NULL: not known.
 */
const struct py_layout *py_layout_table(unsigned version, unsigned patch);

/*
 * Makes a layout from the first @n bytes of `_PyRuntime` (3.13+; it begins with the cookie
 * "xdebugpy"). 0; -ENOTSUP with a message that says which check failed.
 */
_must_use_ int py_layout_from_debug_offsets(const uint8_t *runtime, size_t n,
					    struct py_layout *ret);

/*
 * Offsets in _PyRuntime of a release; 0: the field isn't there, or the debug offsets have it. On
 * AArch64 with glibc each of the GIL's two mutexes is 8 bytes larger (48). In such a build .size is
 * 16 more and, up to 3.11, the offsets of the fields after the GIL (tstate_current, tss_key) are 16
 * more; see py_runtime_grow().
 */
struct py_runtime_row {
	uint16_t version;
	uint8_t patch_first, patch_last;
	uint32_t size; /* size of _PyRuntime in a release build; 0: the size varies */
	uint32_t interp_head, tstate_current, tss_key;
	/*
	 * Offset of the PyThreadState * that Py_FinalizeEx() sets for good. The flags that say how
	 * far initialisation got come right before it (pycore_runtime.h). 3.13+: the debug offsets
	 * have this offset.
	 */
	uint32_t finalizing;
};

/* Returns a copy of @row for a build whose mutexes are @growth bytes larger together. */
struct py_runtime_row py_runtime_grow(const struct py_runtime_row *row, unsigned growth);

/*
 * Returns the address of the GIL of 3.7-3.11, which ends where struct _gilstate_runtime_state
 * begins.
 */
static inline uint64_t py_gil_before(uint64_t tstate_current, unsigned growth)
{
	return tstate_current - 8 - PY_GIL_WAIT_BYTES - growth - PY_GIL_WAIT;
}

/* Returns the row of a version in the table of _PyRuntimes; NULL: the table has no such row. */
const struct py_runtime_row *py_runtime_table(unsigned version, unsigned patch);
const struct py_runtime_row *py_runtime_by_size(uint64_t size);

#define PY_COOKIE     "xdebugpy" /* the first 8 bytes of _PyRuntime from 3.13 on */
#define PY_DEBUG_READ 1024	 /* how many bytes of _Py_DebugOffsets are read; 3.15's has 888 */

/* The contents of _Py_DebugOffsets that krait uses. They have been checked. */
struct py_debug_offsets {
	struct py_layout layout;
	uint32_t hex_version;
	bool free_threaded;
	uint64_t runtime_size, interp_size, interp_head, finalizing;
	uint8_t gil; /* enum py_gil: what proves that a thread holds the GIL */
};

/*
 * Reads *@ret from the first @n bytes of _PyRuntime. -ENOTSUP with a message: a check of the debug
 * offsets failed.
 */
_must_use_ int py_debug_offsets(const uint8_t *runtime, size_t n, struct py_debug_offsets *ret);

/*
 * Adds 16 to the offsets, for the two pointers that Py_TRACE_REFS puts before every object (up to
 * 3.12).
 */
void py_layout_trace_refs(struct py_layout *layout);

/*
 * Offsets that krait needs to read objects, but not to walk frames; in bytes from the object's
 * start.
 */
struct py_heap_row {
	uint16_t version;
	/* offsets of fields of PyHeapTypeObject; 0 in 2.7 */
	uint16_t ht_qualname, ht_cached_keys;
	uint16_t func_code, func_dict, func_qualname; /* offsets of fields of PyFunctionObject */
};

/*
 * Returns the row of a version; NULL: krait doesn't know how objects of that version are laid out.
 */
const struct py_heap_row *py_heap_table(unsigned version);

/*
 * PY_CAN_FROM_3_11: the capabilities that all versions since 3.11 have. PY_CAN_FROM_3_12: the
 * capabilities that all versions since 3.12 have.
 */
#define PY_CAN_FROM_3_11                                                                           \
	(PY_CAN(RUNTIME) | PY_CAN(PREINIT) | PY_CAN(RUNTIME_READY) | PY_CAN(NATIVE_ID) |           \
	 PY_CAN(LOG2_KEYS) | PY_CAN(MANAGED_DICTS))
#define PY_CAN_FROM_3_12                                                                           \
	(PY_CAN_FROM_3_11 | PY_CAN(TSS_ARGUMENT) | PY_CAN(SHIM_FRAMES) | PY_CAN(INIT_CLEANUP) |    \
	 PY_CAN(TAGGED_INTS) | PY_CAN(TRAMPOLINES))

/*
 * Capabilities of @version (major << 8 | minor). A version that is newer than krait knows gets the
 * capabilities of the newest version that krait knows. 0: the version isn't known.
 */
uint64_t py_can(unsigned version);
/*
 * Returns the capabilities of a version from 3.13 on, which describes its own structures by debug
 * offsets.
 */
uint64_t py_debug_can(unsigned version);

#endif
