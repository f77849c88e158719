/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.sh compiles this with an interpreter's own headers. Prints "name offset" for every field of
 * PY_OFFSETS, and for every fact about _PyRuntime that src/python knows. check.sh compares these
 * numbers, which come from the compiler, with those in src/python/layout/layout.c. A field that the
 * version lacks is printed as 0.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>

#define VERSION (PY_VERSION_HEX >> 16)

#if VERSION >= 0x0309
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#elif VERSION == 0x0308
#include "internal/pycore_pystate.h"
#elif VERSION == 0x0307
#include "internal/pystate.h"
#endif
#if VERSION >= 0x030b
#include "internal/pycore_frame.h"
#endif
#if VERSION >= 0x030e
#include "internal/pycore_interpframe_structs.h"
#endif
#if VERSION < 0x0300
#include <code.h>
#endif

/*
 * when compiled for another machine, the offsets go into the assembly text as .ascii "->name
 * offset"
 */
#ifdef OFFSETS_ASM
#define say(name, offset) asm volatile("\n.ascii \"->" name " %c0\"" ::"i"((unsigned long)(offset)))
#else
static void say(const char *name, size_t offset)
{
	printf("%s %zu\n", name, offset);
}
#endif

#define AT(name, type, member) say(name, offsetof(type, member))
#define NO(name)	       say(name, 0)

static void states(void)
{
#if VERSION >= 0x030b
	AT("interp_tstate_head", PyInterpreterState, threads.head);
	AT("tstate_native_thread_id", PyThreadState, native_thread_id);
#if VERSION <= 0x030c
	AT("tstate_datastack_top", PyThreadState, datastack_top);
	AT("tstate_exc_info", PyThreadState, exc_info);
	AT("tstate_exc_state", PyThreadState, exc_state);
	AT("tstate_root_cframe", PyThreadState, root_cframe);
#else
	NO("tstate_datastack_top");
	NO("tstate_exc_info");
	NO("tstate_exc_state");
	NO("tstate_root_cframe");
#endif
#else
	AT("interp_tstate_head", PyInterpreterState, tstate_head);
	NO("tstate_native_thread_id");
	NO("tstate_datastack_top");
	NO("tstate_exc_info");
	NO("tstate_exc_state");
	NO("tstate_root_cframe");
#endif
#if VERSION >= 0x030c
	AT("interp_modules", PyInterpreterState, imports.modules);
#else
	AT("interp_modules", PyInterpreterState, modules);
#endif
#if VERSION >= 0x0309
	AT("interp_collecting", PyInterpreterState, gc.collecting);
#else
	NO("interp_collecting");
#endif
	AT("interp_next", PyInterpreterState, next);
	AT("tstate_next", PyThreadState, next);
	AT("tstate_interp", PyThreadState, interp);
	AT("tstate_thread_id", PyThreadState, thread_id);
#if VERSION >= 0x030d
	AT("tstate_frame", PyThreadState, current_frame);
	NO("cframe_current_frame");
#elif VERSION >= 0x030b
	AT("tstate_frame", PyThreadState, cframe);
	AT("cframe_current_frame", _PyCFrame, current_frame);
#else
	AT("tstate_frame", PyThreadState, frame);
	NO("cframe_current_frame");
#endif
}

/* Finds the mask of a bit field: sets the field, and looks at the bytes. */
static void gil_bit(void)
{
#if VERSION >= 0x030e
	say("gil_bit", 1);
#elif VERSION >= 0x030c && !defined(OFFSETS_ASM)
	static PyThreadState t;
	unsigned mask = 0;

#if VERSION == 0x030c
	t._status.active = 1;
#else
	t._status.holds_gil = 1;
#endif
	memcpy(&mask, &t._status, sizeof(mask));
	say("gil_bit", mask);
#elif VERSION < 0x030c
	NO("gil_bit");
#endif
}

static void gil(void)
{
#if VERSION >= 0x030e
	AT("tstate_gil", PyThreadState, holds_gil);
#elif VERSION >= 0x030c
	AT("tstate_gil", PyThreadState, _status);
#else
	NO("tstate_gil");
#endif
#if VERSION >= 0x030f
	AT("tstate_gil_requested", PyThreadState, gil_requested);
#else
	NO("tstate_gil_requested");
#endif
#if VERSION >= 0x030d && defined(Py_GIL_DISABLED)
	AT("tstate_state", PyThreadState, state);
	AT("tstate_section", PyThreadState, critical_section);
#else
	NO("tstate_state");
	NO("tstate_section");
#endif
#if VERSION >= 0x030c
	AT("interp_gil", PyInterpreterState, ceval.gil);
#else
	NO("interp_gil");
#endif
	gil_bit();
#if VERSION >= 0x0307 && !defined(Py_GIL_DISABLED)
	AT("gil_struct_holder", struct _gil_runtime_state, last_holder);
	AT("gil_struct_locked", struct _gil_runtime_state, locked);
	AT("gil_struct_wait", struct _gil_runtime_state, cond);
	say("gil_struct_wait_bytes",
	    sizeof(struct _gil_runtime_state) - offsetof(struct _gil_runtime_state, cond));
#endif
}

static void frames(void)
{
#if VERSION >= 0x030b
	AT("frame_back", _PyInterpreterFrame, previous);
	AT("frame_owner", _PyInterpreterFrame, owner);
	AT("frame_globals", _PyInterpreterFrame, f_globals);
	AT("frame_locals", _PyInterpreterFrame, localsplus);
#else
	AT("frame_code", PyFrameObject, f_code);
	AT("frame_globals", PyFrameObject, f_globals);
	AT("frame_back", PyFrameObject, f_back);
	AT("frame_lasti", PyFrameObject, f_lasti);
	AT("frame_locals", PyFrameObject, f_localsplus);
	NO("frame_owner");
#endif
#if VERSION == 0x0309
	AT("frame_executing", PyFrameObject, f_executing);
#else
	NO("frame_executing");
#endif
#if VERSION >= 0x030d
	AT("frame_code", _PyInterpreterFrame, f_executable);
	AT("frame_lasti", _PyInterpreterFrame, instr_ptr);
#elif VERSION >= 0x030b
	AT("frame_code", _PyInterpreterFrame, f_code);
	AT("frame_lasti", _PyInterpreterFrame, prev_instr);
#endif
#if VERSION == 0x030b
	AT("frame_is_entry", _PyInterpreterFrame, is_entry);
	AT("frame_func", _PyInterpreterFrame, f_func);
	AT("func_code", PyFunctionObject, func_code);
	AT("func_version", PyFunctionObject, func_version);
#else
	NO("frame_is_entry");
	NO("frame_func");
	NO("func_code");
	NO("func_version");
#endif
#if VERSION >= 0x030e && defined(Py_GIL_DISABLED)
	AT("frame_tlbc_index", _PyInterpreterFrame, tlbc_index);
	AT("code_tlbc", PyCodeObject, co_tlbc);
	AT("interp_tlbc_generation", PyInterpreterState, tlbc_indices.tlbc_generation);
#else
	NO("interp_tlbc_generation");
	NO("frame_tlbc_index");
	NO("code_tlbc");
#endif
}

static void code(void)
{
	AT("code_argcount", PyCodeObject, co_argcount);
	AT("code_flags", PyCodeObject, co_flags);
	AT("code_firstlineno", PyCodeObject, co_firstlineno);
	AT("code_filename", PyCodeObject, co_filename);
	AT("code_name", PyCodeObject, co_name);
#if VERSION >= 0x030b
	AT("code_qualname", PyCodeObject, co_qualname);
	AT("code_varnames", PyCodeObject, co_localsplusnames);
	AT("code_adaptive", PyCodeObject, co_code_adaptive);
	AT("code_firsttraceable", PyCodeObject, _co_firsttraceable);
#else
	NO("code_qualname");
	AT("code_varnames", PyCodeObject, co_varnames);
	NO("code_adaptive");
	NO("code_firsttraceable");
#endif
#if VERSION == 0x030b || VERSION == 0x030c
	AT("code_stacksize", PyCodeObject, co_stacksize);
#else
	NO("code_stacksize");
#endif
#if VERSION >= 0x030a
	AT("code_linetable", PyCodeObject, co_linetable);
#else
	AT("code_linetable", PyCodeObject, co_lnotab);
#endif
#if VERSION >= 0x030c
	AT("code_version", PyCodeObject, co_version);
#else
	NO("code_version");
#endif
}

static void objects(void)
{
	AT("ob_type", PyObject, ob_type);
	AT("tuple_items", PyTupleObject, ob_item);
	AT("type_name", PyTypeObject, tp_name);
#if VERSION >= 0x0300
	AT("str_length", PyASCIIObject, length);
	AT("str_hash", PyASCIIObject, hash);
	AT("str_state", PyASCIIObject, state);
	say("str_ascii", sizeof(PyASCIIObject));
	say("str_compact", sizeof(PyCompactUnicodeObject));
	AT("bytes_data", PyBytesObject, ob_sval);
#else
	AT("str_length", PyVarObject, ob_size);
	AT("str_hash", PyStringObject, ob_shash);
	NO("str_state");
	AT("str_ascii", PyStringObject, ob_sval);
	NO("str_compact");
	AT("bytes_data", PyStringObject, ob_sval);
#endif
}

/* Finds the bit of `kind` in a str's state word: sets the field, and looks at the word. */
static void str_bits(void)
{
#if VERSION >= 0x0300 && !defined(OFFSETS_ASM)
	PyASCIIObject o;
	unsigned v = 0, i;

	memset(&o, 0, sizeof(o));
	o.state.kind = 1;
	memcpy(&v, &o.state, sizeof(v));
	for (i = 0; i < 31 && !(v >> i & 1); i++)
		;
	say("str_kind_shift", i);
#elif VERSION < 0x0300
	NO("str_kind_shift");
#endif
}

static void runtime(void)
{
#if VERSION >= 0x0307
	say("runtime_size", sizeof(_PyRuntimeState));
	AT("runtime_interp_head", _PyRuntimeState, interpreters.head);
#if VERSION >= 0x0309
	AT("runtime_finalizing", _PyRuntimeState, _finalizing);
	/*
	 * bpf/python/thread.bpf.h reads the initialization flags as consecutive words, at a known
	 * distance from _finalizing. Checks that they are there.
	 */
	if (offsetof(_PyRuntimeState, initialized) !=
		    offsetof(_PyRuntimeState, _finalizing) - (VERSION >= 0x030b ? 8 : 4) ||
	    offsetof(_PyRuntimeState, core_initialized) + 4 !=
		    offsetof(_PyRuntimeState, initialized) ||
	    offsetof(_PyRuntimeState, preinitialized) + 8 !=
		    offsetof(_PyRuntimeState, initialized) ||
	    offsetof(_PyRuntimeState, preinitializing) + 12 !=
		    offsetof(_PyRuntimeState, initialized))
		NO("runtime_finalizing");
#elif VERSION >= 0x0307
	AT("runtime_finalizing", _PyRuntimeState, finalizing);
#endif
#endif
#if VERSION >= 0x030c
	say("interpreters_next_id", offsetof(_PyRuntimeState, interpreters.next_id) -
					    offsetof(_PyRuntimeState, interpreters.head));
#endif
#if VERSION >= 0x030d
	say("runtime_codes_made", offsetof(_PyRuntimeState, _main_interpreter) +
					  offsetof(PyInterpreterState, func_state.next_version));
#endif
#if VERSION >= 0x0307 && VERSION < 0x030c
	AT("runtime_tstate_current", _PyRuntimeState, gilstate.tstate_current);
	say("runtime_tss_key",
	    offsetof(_PyRuntimeState, gilstate.autoTSSkey) + offsetof(Py_tss_t, _key));
	AT("runtime_gil_holder", _PyRuntimeState, ceval.gil.last_holder);
	AT("runtime_gil_locked", _PyRuntimeState, ceval.gil.locked);
	AT("runtime_gil_wait", _PyRuntimeState, ceval.gil.cond);
#elif VERSION >= 0x030c && VERSION < 0x030f
	say("runtime_tss_key", offsetof(_PyRuntimeState, autoTSSkey) + offsetof(Py_tss_t, _key));
#endif
}

#ifdef DEBUG_OFFSETS
#include "internal/pycore_debug_offsets.h"
#include "internal/pycore_global_objects.h"

static void debug_offsets(void)
{
	static const _Py_DebugOffsets offsets = _Py_DebugOffsets_INIT(_Py_Debug_Cookie);

	fwrite(&offsets, sizeof(offsets), 1, stdout);
}
#else
static void debug_offsets(void)
{
}
#endif

int main(int argc, char **argv)
{
	if (argc > 1) {
		debug_offsets();
		return 0;
	}
	say("version", VERSION);
	say("patch", PY_MICRO_VERSION);
#ifdef Py_TRACE_REFS
	say("trace_refs", 1);
#endif
	states();
	gil();
	frames();
	code();
	objects();
	str_bits();
	runtime();
	return 0;
}
