/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How one build of CPython lays out the structures that the walker reads. One X-macro list is the
 * only place where an offset has a name. The struct, the tables per version, the header test and
 * `krait doctor` expand the list. BPF programs and user space include this file, so it has only
 * fixed-width types.
 */
#ifndef ABI_LAYOUT_H
#define ABI_LAYOUT_H

#ifdef __bpf__
#include "kernel.h"
#else
#include <linux/types.h>
#endif

/* How a thread's PyThreadState leads to its innermost Python frame, and a frame to its caller. */
enum py_walk {
	/* 2.7-3.10: tstate.frame is the innermost PyFrameObject; f_back leads to its caller */
	PY_WALK_OBJECT = 1,
	/* 3.11, 3.12: tstate.cframe->current_frame is the innermost _PyInterpreterFrame */
	PY_WALK_CFRAME,
	PY_WALK_CURRENT, /* 3.13+: tstate.current_frame is the innermost _PyInterpreterFrame */
};

/*
 * What differs between versions of Python, apart from offsets: X(NAME). Code asks for the
 * capability that it depends on, and the version's row in src/python/layout says whether the
 * version has it. So a new version of Python only needs a new row, and no other code compares
 * version numbers.
 */
#define PY_CAPABILITIES(X)                                                                         \
	X(OLD_CLASSES)	  /* 2.7: old-style classes have no type; names are mangled */             \
	X(PLAIN_INTS)	  /* 2.7: an int is a C long */                                            \
	X(OPEN_DICTS)	  /* 2.7: a dict is one open hash table */                                 \
	X(LOCK_GIL)	  /* 2.7: the GIL is a lock; _PyThreadState_Current: its holder's state */ \
	X(LISTED_STATES)  /* 2.7: a PyThreadState is found only in its interpreter's list */       \
	X(GIL_STATICS)	  /* 3.6: the GIL consists of static variables of ceval.c */               \
	X(GIL_IN_RUNTIME) /* 3.7-3.11: the GIL is in _PyRuntime */                                 \
	X(GIL_ACTIVE)	  /* 3.12: an interpreter points to its GIL; _status.active: who has it */ \
	X(RUNTIME)	  /* 3.7+: _PyRuntime has the Py_tss_t that leads to a PyThreadState */    \
	X(TSS_ARGUMENT)	  /* 3.12+: PyGILState_GetThisThreadState() gives a callee its Py_tss_t */ \
	X(PREINIT)	  /* 3.8+: flags of _PyRuntime say how far its start has got */            \
	X(RUNTIME_READY)  /* 3.11+: _PyRuntime._initialized is right before PREINIT's flags */     \
	X(LNOTAB)	  /* <= 3.9: co_lnotab has the line numbers, as pairs of bytes */          \
	X(SIGNED_LINES)	  /* 3.6-3.9: co_lnotab may step back to an earlier line */                \
	X(LINE_RANGES)	  /* 3.10: co_linetable has ranges of lines; f_lasti counts code units */  \
	X(NATIVE_ID)	  /* 3.8+: threading.Thread has _native_id, the kernel's thread id */      \
	X(FRAME_A_LOOP)	  /* <= 3.10: an evaluation loop runs one frame, which is an object */     \
	X(TRACE_REFS)	  /* <= 3.12: a build may put two pointers before every object */          \
	X(LOG2_KEYS)	  /* 3.11+: PyDictKeysObject begins with its log2 sizes and its kind */    \
	X(MANAGED_DICTS)  /* 3.11+: an instance's dict or values may lie before or behind it */    \
	X(VALUES_BEFORE)  /* 3.11: before an object: pointers to its values and to its dict */     \
	X(VALUES_TAGGED)  /* 3.12: before an object: pointer to its dict or (bit 0 set) values */  \
	X(VALUES_HEAD)	  /* 3.13+: the first 8 bytes of struct _dictvalues are its sizes */       \
	X(SHIM_FRAMES)	  /* 3.12+: an evaluation loop that C calls has its own frame (a shim) */  \
	X(INIT_CLEANUP)	  /* 3.12+: a code object of CPython itself runs a class's __init__ */     \
	X(TAGGED_INTS)	  /* 3.12+: lv_tag of an int has the int's sign and number of digits */    \
	X(TRAMPOLINES)	  /* 3.12+: with -X perf functions run through copies of a stub */         \
	X(COUNTER_SYMBOL) /* 3.12: symbol _Py_next_func_version counts code objects */             \
	X(FREE_THREADED)  /* 3.13-3.15: krait also reads the free-threaded build */                \
	X(HIDDEN_EXECUTORS) /* 3.14: the JIT doesn't register its code (3.15's JIT does); this code
			       leaves the caller's registers unchanged (3.13's code doesn't) */

enum py_capability {
#define X(name) PY_CAN_##name,
	PY_CAPABILITIES(X)
#undef X
		PY_CAN_MAX
};

#define PY_CAN(name) (1ull << PY_CAN_##name)
/*
 * Tells whether capability @name is among @can, the bits of a layout or a version. Example:
 * PY_HAS(l->can, LNOTAB).
 */
#define PY_HAS(can, name) ((can) >> PY_CAN_##name & 1)

/*
 * Offsets in bytes; 0 means "not in this version" except where 0 is a genuine offset (frame_code
 * from 3.12, cframe_current_frame in 3.12, frame_func). The structures are PyThreadState,
 * PyInterpreterState, _PyCFrame, PyFrameObject or _PyInterpreterFrame, PyCodeObject,
 * PyUnicodeObject (2.7: PyStringObject), PyBytesObject.
 */
#define PY_OFFSETS(X)                                                                              \
	X(ob_type)                                                                                 \
	X(interp_next)                                                                             \
	X(interp_tstate_head)                                                                      \
	X(interp_modules)	  /* the dict sys.modules, which only user space reads */          \
	X(interp_gil)		  /* ceval.gil, pointer to the interpreter's GIL; 3.12+ */         \
	X(interp_collecting)	  /* int gc.collecting, != 0 during a collection; 3.9+ */          \
	X(interp_tlbc_generation) /* u32 tlbc_indices.tlbc_generation; 3.14t+; may be missing */   \
	X(tstate_next)                                                                             \
	X(tstate_interp)                                                                           \
	X(tstate_frame) /* where the innermost frame is found, as py_layout.walk says */           \
	X(tstate_thread_id)                                                                        \
	X(tstate_datastack_top) /* where the frames in the data stack end; 3.11, 3.12 */           \
	X(tstate_exc_info)	/* pointer to the innermost _PyErr_StackItem; 3.11, 3.12 */        \
	X(tstate_exc_state)	/* the thread's own _PyErr_StackItem; 3.11, 3.12 */                \
	X(tstate_root_cframe)	/* the _PyCFrame that belongs to no evaluation loop; 3.11, 3.12 */ \
	X(tstate_native_thread_id)                                                                 \
	X(tstate_gil)		/* u32 with the thread's GIL state: see .gil_bit; 3.12+ */         \
	X(tstate_gil_requested) /* int gil_requested; 3.15+ */                                     \
	X(tstate_state)		/* int `state` of the thread; free-threaded builds */              \
	X(tstate_section)	/* tagged pointer critical_section; free-threaded builds */        \
	X(cframe_current_frame)                                                                    \
	X(frame_code)	 /* pointer to the frame's code: f_code or f_executable */                 \
	X(frame_back)	 /* pointer f_back or previous: the caller's frame */                      \
	X(frame_globals) /* pointer to the frame's globals, f_globals */                           \
	X(frame_lasti) /* the last instruction: int f_lasti, or pointer prev_instr / instr_ptr */  \
	X(frame_executing)  /* char f_executing, 3.9 only */                                       \
	X(frame_owner)	    /* char owner; >= 3: a shim frame, of no function (3.12+) */           \
	X(frame_is_entry)   /* bool is_entry: outermost frame of an evaluation loop; 3.11 */       \
	X(frame_locals)	    /* the local variables: f_localsplus or localsplus */                  \
	X(frame_tlbc_index) /* s32 tlbc_index; 3.14t+ */                                           \
	X(frame_func)	    /* pointer f_func to the function; 3.11 only */                        \
	X(func_code)	    /* pointer func_code of a function; 3.11 only */                       \
	X(func_version)	    /* u32 func_version of a function; 3.11 only */                        \
	X(code_argcount)                                                                           \
	X(code_flags)                                                                              \
	X(code_firstlineno)                                                                        \
	X(code_filename)                                                                           \
	X(code_name)                                                                               \
	X(code_qualname)       /* pointer co_qualname to the qualified name; 3.11+ */              \
	X(code_linetable)      /* pointer to the line table: co_lnotab (<= 3.9) or co_linetable */ \
	X(code_varnames)       /* names of variables: tuple (<= 3.10) or co_localsplusnames */     \
	X(code_version)	       /* u32 co_version of a code object; 3.12+ */                        \
	X(code_adaptive)       /* 3.11+: the instructions, which lie in the code object */         \
	X(code_firsttraceable) /* int _co_firsttraceable; 3.11+ */                                 \
	X(code_stacksize)      /* int co_stacksize, 8 bytes before co_nlocalsplus; 3.11, 3.12 */   \
	X(code_tlbc)	       /* pointer co_tlbc; 3.14t+ */                                       \
	X(str_length)                                                                              \
	X(str_hash)                                                                                \
	X(str_state)   /* u32 bit field `state` of a str; 0 in 2.7, which has byte strings */      \
	X(str_ascii)   /* the bytes of a compact ASCII str; in 2.7 of a byte string */             \
	X(str_compact) /* the characters of a compact str that isn't ASCII */                      \
	X(bytes_data)                                                                              \
	X(tuple_items)                                                                             \
	X(type_name) /* pointer to the name of a type */

struct py_layout {
	__u64 can;     /* the version's capabilities: bits 1 << enum py_capability */
	__u16 version; /* CPython's, major << 8 | minor: 0x0207 .. 0x030f */
	__u8 walk;     /* enum py_walk */
	/*
	 * number of the lowest bit of the field `kind` in the u32 at str_state: 2, or 8 in 3.14t+.
	 * The field `compact` is 3 bits higher, `ascii` 4 bits higher.
	 */
	__u8 str_kind_shift;
	/*
	 * mask of the bit in the u32 at tstate_gil that says whether the thread has the GIL:
	 * _status.active (3.12), holds_gil (3.13+)
	 */
	__u8 gil_bit;
	/*
	 * != 0: of each frame, a walk also needs the function (3.11), or which copy of the bytecode
	 * the frame runs (3.14t+)
	 */
	__u8 frame_more;
#define X(name) __u16 name;
	PY_OFFSETS(X)
#undef X
	/* offset from which on a walk reads a code object, at or before the first needed field */
	__u16 code_block;
	__u16 reserved[2]; /* 0 */
};

_Static_assert(__builtin_offsetof(struct py_layout, reserved) + 2 * sizeof(__u16) ==
		       sizeof(struct py_layout),
	       "layouts are compared byte by byte, so there must be no padding");

/*
 * Sets .code_block so that one read, from that offset on, gets all fields of a code object that its
 * name and its check (check.h) need.
 */
static inline void py_layout_set_block(struct py_layout *l)
{
	__u16 low = l->code_firstlineno < l->code_filename ? l->code_firstlineno : l->code_filename;

	low = l->code_name < low ? l->code_name : low;
	low = l->code_linetable < low ? l->code_linetable : low;
	l->code_block = low & ~7u;
}

/*
 * How many bytes of a structure a walk reads at once, from the structure's start. An interpreter
 * isn't supported if a needed field lies beyond these bytes.
 */
/* bytes read of a _PyInterpreterFrame, which is a frame of 3.11 and later */
#define PY_FRAME_BYTES 80
/*
 * the most bytes that are read of a PyThreadState, up to its last needed field: thread_id or, in
 * 3.11 and 3.12, datastack_limit
 */
#define PY_TSTATE_BYTES 255

/* How the PyThreadState of the current thread is found. */
enum py_tss {
	/*
	 * 2.7: no variable of the thread leads to its thread state. It is found by tstate_current,
	 * or by its thread_id in the list of thread states.
	 */
	PY_TSS_NONE = 0,
	/* a pthread key of glibc: its value lies in a two-level table in struct pthread */
	PY_TSS_KEY_GLIBC,
	PY_TSS_KEY_MUSL,   /* a pthread key of musl: its value lies in the thread's array tsd */
	PY_TSS_TLS_STATIC, /* a TLS variable at a fixed offset: *(thread pointer + tls_offset) */
	/*
	 * a TLS variable with glibc: a pair {module, offset} at tls_got, in the GOT, leads to it
	 * through the DTV, whose slots have 16 bytes
	 */
	PY_TSS_TLS_DTV,
	/* a TLS variable with musl: as PY_TSS_TLS_DTV, but a slot of the DTV has 8 bytes */
	PY_TSS_TLS_DTV_MUSL,
	/*
	 * a TLS variable that is reached through a TLS descriptor (in all shared objects of
	 * aarch64) or as initial-exec: the loader fills the word at tls_got. If that word, as s64,
	 * is below 1 << 31, it is the variable's offset from the thread pointer. Else the word is
	 * the address of a pair {module, offset}, as in PY_TSS_TLS_DTV. tls_offset is added in both
	 * cases.
	 */
	PY_TSS_TLS_WORD,
};

/*
 * What proves that the thread to which a PyThreadState belongs holds the GIL; see
 * bpf/python/gil.bpf.h.
 */
enum py_gil {
	PY_GIL_UNKNOWN = 0,
	PY_GIL_CURRENT, /* <= 3.11: tstate_current points to the thread state */
	/* 3.12: the thread state's gil_bit is set, and the GIL's last_holder is the thread state */
	PY_GIL_ACTIVE,
	PY_GIL_HOLDS, /* 3.13+: the thread state's gil_bit is set */
	/*
	 * free-threaded builds: the thread state's gil_bit is set, if the process uses a GIL at all
	 */
	PY_GIL_FREE,
};

/*
 * Offset of next_id from `head` in _PyRuntime.interpreters (3.12-3.15), whose members are head,
 * main, next_id.
 */
#define PY_NEXT_ID 16

/*
 * Offsets in struct _gil_runtime_state (3.7-3.15). Its members are interval, last_holder, locked,
 * switch_number, and two pairs of a condition and a mutex. Threads that want the GIL sleep on these
 * pairs.
 */
#define PY_GIL_HOLDER 8
#define PY_GIL_LOCKED 16
#define PY_GIL_WAIT   32 /* offset of the two pairs of condition and mutex */
/* size, with padding, of `int enabled`, which free-threaded builds have before all other members */
#define PY_GIL_ENABLED_BYTES 8
/* size of the two pairs of condition and mutex; with glibc on AArch64 it is 16 bytes more */
#define PY_GIL_WAIT_BYTES 176

/*
 * Where one interpreter is in a process. Addresses are absolute in the target's address space, and
 * 0 means none. (For an interpreter in an ELF file, the struct has addresses of the file.)
 */
struct py_where {
	/*
	 * address of the pointer to the current PyThreadState: _PyThreadState_Current,
	 * gilstate.tstate_current
	 */
	__u64 tstate_current;
	/* address of the pointer to the first PyInterpreterState of the list */
	__u64 interp_head;
	/*
	 * address of the int that has the pthread key's number (3.7+: Py_tss_t.key; is_initialized
	 * lies 4 bytes before it)
	 */
	__u64 tss_key;
	/*
	 * address of the word or the two words that the loader fills in for a TLS variable; see
	 * enum py_tss
	 */
	__u64 tls_got;
	/*
	 * With PY_TSS_TLS_STATIC: the variable's offset from the thread pointer. With any other
	 * kind of TLS variable: a number that is added to the offset found at tls_got.
	 */
	__s64 tls_offset;
	/*
	 * offset of a thread's table of pthread keys from the thread pointer: glibc's
	 * specific_1stblock, musl's tsd
	 */
	__s32 tsd_offset;
	/*
	 * pthread_self() minus the thread pointer: 0 on x86-64, -sizeof(struct pthread) on aarch64
	 */
	__s32 self_offset;
	__u16 layout; /* index of the interpreter's struct py_layout in the table of layouts */
	__u8 tss;     /* enum py_tss: how a thread's state is found */
	__u8 gil;     /* enum py_gil: what proves that a thread holds the GIL */
	/*
	 * size of the memory on which threads that want the GIL sleep. It is at .gil_wait or, since
	 * 3.12, in the GIL at offset PY_GIL_WAIT.
	 */
	__u16 gil_wait_bytes;
	/*
	 * != 0: the C library is musl, where a thread that waits for a condition sleeps on a futex
	 * in its own stack
	 */
	__u8 stack_waits;
	/*
	 * != 0: the process runs `python` itself, not a program that embeds Python
	 * (image_runs_once())
	 */
	__u8 own_program;
	/*
	 * <= 3.11: address of the pointer to the PyThreadState that got the GIL last: last_holder
	 * (3.6: gil_last_holder)
	 */
	__u64 gil_holder;
	/*
	 * <= 3.11: address of the int that says whether the GIL is held: locked (3.6: gil_locked)
	 */
	__u64 gil_locked;
	/*
	 * Address of the memory on which threads that want the GIL sleep. 3.6-3.11: the conditions
	 * and mutexes of the GIL; 2.7: the variable that points to the lock.
	 */
	__u64 gil_wait;
	/*
	 * Address of the u32 that counts code objects. 3.12: _Py_next_func_version, 3.13+: the main
	 * interpreter's func_state.next_version. 0: it wasn't found, or the count proves nothing
	 * (docs/decisions/0002).
	 */
	__u64 codes_made;
	/*
	 * 3.7+: address of the member `finalizing` of _PyRuntime; 0 = not known. Right before that
	 * member are the flags that say how far the start of the interpreter got.
	 */
	__u64 finalizing;
};

/*
 * Adds @bias to all addresses of @w: turns addresses in an ELF file into addresses in a process
 * that has loaded it. An address of 0, which means none, stays 0.
 */
static inline __attribute__((always_inline)) void py_where_add_bias(struct py_where *w, __u64 bias)
{
	if (w->tstate_current)
		w->tstate_current += bias;
	if (w->interp_head)
		w->interp_head += bias;
	if (w->tss_key)
		w->tss_key += bias;
	if (w->tls_got)
		w->tls_got += bias;
	if (w->gil_holder)
		w->gil_holder += bias;
	if (w->gil_locked)
		w->gil_locked += bias;
	if (w->gil_wait)
		w->gil_wait += bias;
	if (w->codes_made)
		w->codes_made += bias;
	if (w->finalizing)
		w->finalizing += bias;
}

#endif
