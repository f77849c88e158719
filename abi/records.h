/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs send to user space (records in the rings) and get back (map values).
 * Fixed-width fields, sizes asserted. Times are CLOCK_MONOTONIC nanoseconds. tgid and tid are those
 * of krait's own PID namespace.
 */
#ifndef ABI_RECORDS_H
#define ABI_RECORDS_H

#include "layout.h"
#include "marks.h"
#include "unwind.h"

#define ABI_MAX_FRAMES	    1024 /* Python frames in one stack; the outermost are cut off */
#define ABI_MAX_NATIVE	    2048 /* native frames */
#define ABI_MAX_KERNEL	    127	 /* kernel.perf_event_max_stack's default */
#define ABI_MAX_LAYOUTS	    128
#define ABI_NAME_BYTES	    16384 /* copied of one name, at most: raw, 4 bytes a code point */
#define ABI_LINETABLE_BYTES 65536
#define ABI_COMM_BYTES	    16
#define ABI_ARGS_BYTES	    256

/* The thread's relation to the GIL. X(NAME, value of the label `gil`); see bpf/python/gil.bpf.h. */
#define GIL_STATES(X)                                                                              \
	X(UNKNOWN, "unknown") /* not proven */                                                     \
	X(NONE, "none")	      /* no thread state, or no GIL */                                     \
	X(RELEASED, "released")                                                                    \
	X(WAITING, "waiting")                                                                      \
	X(HELD, "held")

enum gil_state {
#define X(name, word) GIL_##name,
	GIL_STATES(X)
#undef X
		GIL_STATE_MAX
};

enum rec_type {
	REC_SAMPLE = 1,
	REC_STACK,
	REC_CODE,
	REC_PROC,
	REC_NATIVE,
	REC_SAMPLE_END,
	REC_ABSENT,
};

/* One image of one process: a reused pid and an exec each make another one. */
struct proc_key {
	__u64 start_ns; /* task_struct.start_time of the group leader: CLOCK_MONOTONIC */
	__u32 tgid;
	__u32 exec_id; /* low half of task_struct.self_exec_id */
};

struct rec_sample {
	__u8 type;    /* REC_SAMPLE; REC_SAMPLE_END: the same from a thread in do_exit() */
	__u8 outcome; /* enum walk_outcome */
	__u8 gil;     /* enum gil_state */
	__u8 native;  /* enum native_outcome */
	__u32 tid;
	__u64 time_ns;
	__u64 stack; /* id of the stack, 0 = no frames */
	struct proc_key proc;
	__u64 weight;	  /* event periods this sample stands for: ns for clocks */
	__u64 runtime_ns; /* CPU time of this thread so far: reveals missing samples */
};

/* One Python frame in a record. */
struct wire_frame {
	__u64 code;  /* address of the code object */
	__u64 check; /* proves which code object that was; equal to rec_code.check */
	__s32 lasti; /* 2.7-3.9: bytes; 3.10: code units; 3.11+: bytes from co_code_adaptive */
	__u32 flags; /* FRAME_* */
};
#define FRAME_ENTRY 1 /* outermost Python frame of its C evaluation loop */
/* From this bit of .flags on: 1 + index of the native frame that is the loop; 0 = not known. */
#define FRAME_OWNER_SHIFT 8

struct rec_stack {
	__u8 type;    /* REC_STACK */
	__u8 outcome; /* as in the samples with this stack */
	__u16 n;      /* frames */
	__u32 reserved;
	__u64 stack;
	struct proc_key proc;
	/* n struct wire_frame follow, innermost first */
};

/* The native and kernel frames of the REC_STACK with the same id. Sent just before that
 * record. */
struct rec_native {
	__u8 type;	/* REC_NATIVE */
	__u8 outcome;	/* enum native_outcome */
	__u16 n;	/* native frames */
	__u16 n_kernel; /* kernel frames */
	__u16 reserved16;
	__u64 stack;
	struct proc_key proc;
	__u32 version; /* of the space that the pcs belong to; 0 = none */
	__u32 reserved;
	/*
	 * n_kernel u64, then n u64, innermost first. An address of a native caller lies inside the
	 * call instruction, so that it names the right function and line.
	 */
};

/*
 * One string, copied from the target: raw code points, not UTF-8. bytes == 0 with len > 0: the
 * string wasn't resident at that moment. User space may read it later at addr if the code object is
 * still the same.
 */
struct wire_text {
	__u64 addr;  /* of the object */
	__u32 len;   /* code points (2.7: bytes), or bytes of a line table, in the target */
	__u32 bytes; /* bytes of it that follow in the record */
	__u8 kind;   /* bytes per code point: 1, 2, 4; 0 = byte string (2.7, line table) */
	__u8 ascii;
	__u8 reserved[6];
};

enum code_text { CODE_FILENAME, CODE_NAME, CODE_QUALNAME, CODE_LINETABLE, CODE_TEXT_MAX };

/* Sent when a code object is met first. The texts' bytes follow in order, each padded to 8. */
struct rec_code {
	__u8 type; /* REC_CODE */
	__u8 reserved;
	__u16 layout; /* index of the layout it was read with */
	__s32 firstlineno;
	__u64 code, check;
	struct proc_key proc;
	__s32 firsttraceable; /* 3.11+, in code units; frames before it are still being set up */
	__u32 version;	      /* co_version, 0 = none */
	__u64 self_obj;	      /* <= 3.10: object in the first local variable of a frame; 0 = none */
	__u64 self_type; /* type of self_obj, which may be freed before user space reads it; 0 = not
			  * readable */
	__u64 globals;	 /* globals dict of a frame that ran it, 0 = not readable */
	struct wire_text text[CODE_TEXT_MAX];
};

/* What kind of memory couldn't be read. */
enum absent_kind { ABSENT_THREAD, ABSENT_FRAME, ABSENT_CODE, ABSENT_NATIVE, ABSENT_MAX };

/*
 * Memory of the process that a walk couldn't read: it is paged out, wasn't touched yet, or isn't
 * mapped. A kernel program can't bring a page in. User space reads the memory once, and later
 * samples find it.
 */
struct rec_absent {
	__u8 type; /* REC_ABSENT */
	__u8 reserved8;
	__u16 layout;
	__u32 reserved;
	struct proc_key proc;
	__u64 tstate; /* PyThreadState of the thread, 0 = not found */
	struct absent_range {
		__u64 addr, bytes; /* addr 0: nothing */
	} range[ABSENT_MAX];	   /* of each kind, the range that was tried last */
};

enum proc_state {
	PROC_PENDING = 1, /* user space was asked what it is */
	PROC_PYTHON,
	PROC_IGNORED,	  /* not wanted, or not Python */
	PROC_UNSUPPORTED, /* Python, but not understood: samples are counted */
	PROC_NATIVE,	  /* not Python, its native stacks are wanted */
	PROC_LINKING,	  /* its executable is linked with a known libpython, which isn't mapped
			   * yet */
	PROC_HOST,	  /* its executable may dlopen a known libpython; as IGNORED until then */
	PROC_CROWDED,	  /* would be shown, but its user begins too many processes: samples are counted */
	PROC_UNASKED,	  /* as CROWDED, of a process that user space would have to examine first */
};

/*
 * An executable file as the kernel identifies it, contents included: nobody can write to the file
 * while it runs, and a write before or after changes mtime_ns.
 */
struct exe_key {
	__u32 dev;	  /* kernel's encoding: major << 20 | minor */
	__u32 generation; /* inode.i_generation: an inode number that is used again */
	__u64 ino;
	__s64 bytes, mtime_ns;
};

/* Sent when the kernel program meets an image for the first time, or asks about it again. */
struct rec_proc {
	__u8 type;    /* REC_PROC */
	__u8 state;   /* enum proc_state it was given */
	__u16 space;  /* slot in map `spaces` that it inherited from its parent, 0 = none */
	__u32 parent; /* tgid */
	struct proc_key proc;
	__u64 time_ns;
	__u32 uid; /* real uid, in the first user namespace */
	__u32 new; /* it began, or called exec, after sampling had begun */
	struct exe_key exe;
	char comm[ABI_COMM_BYTES];
	struct py_where where;	   /* if state is PROC_PYTHON */
	char args[ABI_ARGS_BYTES]; /* beginning of the command line, NUL-separated */
};

/*
 * Tells one image from another in /proc, which doesn't show the exec count: /proc/PID/stat, fields
 * 26 and 28. The code of a non-PIE executable always begins at the same address; the stack's place
 * is random in each exec.
 */
struct image_place {
	__u64 start_code, start_stack; /* mm_struct's */
};

/* Map `procs`: tgid -> state of the process. */
struct proc_entry {
	struct proc_key key; /* start_ns 0: set by user space first; the first sample fills it in */
	struct image_place place; /* of the image that user space examined */
	__u64 asked_ns;		  /* time of the last REC_PROC */
	__u32 asks;
	__u32 space;  /* slot in map `spaces`, 0 = none */
	__u8 state;   /* enum proc_state */
	__u8 several; /* its interpreters are in map `several` */
	__u8 new;     /* as rec_proc.new */
	__u8 reserved[5];
	__u64 space_before_ns; /* !=0: .space is an ancestor's, and only its readings older than
			        * this hold; 0: .space is its own */
	struct py_where where;
};

#define ABI_INTERPRETERS 4 /* of one process, at most */

/*
 * Map `several`: tgid -> the interpreters of a process that has more than one. The first is .where
 * of its proc_entry.
 */
struct proc_several {
	__u32 tgid, n;
	struct py_where where[ABI_INTERPRETERS];
};

/* What running an executable means. */
enum exe_kind {
	EXE_PYTHON = 1, /* the interpreter is in it */
	EXE_LINKED,	/* it is linked with a libpython whose dynamic section is known */
	EXE_HOST,	/* another process with it mapped such a libpython by dlopen() */
	EXE_OTHER,	/* none of these: not Python unless it maps a libpython later */
};

/* Map `exes`: executable file -> interpreter, so that a new process needs no help of user space. */
struct exe_entry {
	struct py_where where; /* addresses as in the file that has the interpreter */
	__u64 start_vaddr;     /* lowest executable p_vaddr: bias = mm.start_code - start_vaddr */
	__u64 debug_slot;      /* EXE_LINKED, HOST: p_vaddr of DT_DEBUG's value in the executable */
	__u64 lib_dynamic;     /* EXE_LINKED, HOST: p_vaddr of libpython's dynamic section */
	__u64 lib_check;       /* EXE_LINKED, HOST: check_dynamic() over its first entries */
	__u8 kind;	       /* enum exe_kind */
	__u8 reserved[7];
};

#define ABI_DYNAMIC_ENTRIES 16 /* of a dynamic section that lib_check covers */

/* Map `counters` (per CPU): X(NAME, words for the closing lines and -v). */
#define BPF_COUNTERS(X)                                                                            \
	X(SAMPLES, "samples taken")                                                                \
	X(RING_FULL, "records lost because the ring was full")                                     \
	X(NO_RING, "records lost on a CPU that came online later")                                 \
	X(STACKS_SENT, "distinct stacks sent")                                                     \
	X(CODES_SENT, "code objects sent")                                                         \
	X(IGNORED, "samples of other processes")                                                   \
	X(EXEC, "samples inside execve")                                                           \
	X(NATIVE_SENT, "native stacks sent")                                                       \
	X(NO_ROOM, "samples of processes for which the kernel's table or the ring had no room")    \
	X(BUSY, "samples lost because another was being taken on the same CPU")

enum bpf_counter {
#define X(name, words) COUNT_##name,
	BPF_COUNTERS(X)
#undef X
		COUNT_MAX
};

_Static_assert(sizeof(struct rec_sample) == 56, "a sample is a few dozen bytes");
_Static_assert(sizeof(struct wire_frame) == 24, "");
_Static_assert(sizeof(struct rec_native) == 40, "");
_Static_assert(sizeof(struct wire_text) == 24, "");
_Static_assert(sizeof(struct py_where) == 96, "");

#endif
