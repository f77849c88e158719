/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs send to user space (records in the rings) and get back (map values). All
 * fields have fixed widths. Times are CLOCK_MONOTONIC nanoseconds. tgid and tid are those of
 * krait's own PID namespace.
 */
#ifndef ABI_RECORDS_H
#define ABI_RECORDS_H

#include "layout.h"
#include "marks.h"
#include "unwind.h"

#define ABI_MAX_FRAMES 1024 /* the most Python frames in one stack; the outermost are cut off */
#define ABI_MAX_NATIVE 2048 /* the most native frames in one stack */
/* the most kernel frames in one stack: the default of kernel.perf_event_max_stack */
#define ABI_MAX_KERNEL	127
#define ABI_MAX_LAYOUTS 128
#define ABI_MAX_SOURCES 16 /* the most events of a recording; rec_sample.source has 4 bits */
/* the most bytes that are copied of one name, where a character takes up to 4 bytes */
#define ABI_NAME_BYTES	    16384
#define ABI_LINETABLE_BYTES 65536
#define ABI_COMM_BYTES	    16
#define ABI_ARGS_BYTES	    256

/* What a thread does with the GIL: X(NAME, value of the label `gil`); see bpf/python/gil.bpf.h. */
#define GIL_STATES(X)                                                                              \
	X(UNKNOWN, "unknown") /* krait doesn't know what the thread does with the GIL */           \
	X(NONE, "none")	      /* the thread has no PyThreadState, or the process has no GIL */     \
	X(RELEASED, "released")                                                                    \
	X(WAITING, "waiting")                                                                      \
	X(HELD, "held")                                                                            \
	X(NONE_STOPPED, "none") /* no GIL; the thread waits while all threads are stopped */       \
	X(NONE_SECTION, "none") /* there is no GIL; the thread waits for a critical section */

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
	REC_WAIT,
	REC_ACCOUNT,
};

/* Identifies one image of a process: each exec begins another, and so does a reused pid. */
struct proc_key {
	/* when the process began: task_struct.start_time of its main thread, CLOCK_MONOTONIC */
	__u64 start_ns;
	__u32 tgid;
	/* how many execs the process has done: low half of task_struct.self_exec_id */
	__u32 exec_id;
};

struct rec_sample {
	__u8 type; /* REC_SAMPLE, or REC_SAMPLE_END for a sample of a thread that is in do_exit() */
	__u8 outcome;	 /* enum walk_outcome: how the walk along the Python frames ended */
	__u8 gil : 4;	 /* enum gil_state: what the thread does with the GIL */
	__u8 source : 4; /* number of the sample's event, among the recording's events */
	__u8 native;	 /* enum native_outcome: how the native unwinding ended */
	__u32 tid;
	__u64 time_ns;
	__u64 stack; /* the stack's id, a hash over its frames; 0: the stack has no frames */
	struct proc_key proc;
	/* how much of the event the sample stands for, in units of the event: ns for clocks */
	__u64 weight;
	/* CPU time of this thread so far, by which user space sees how many samples are missing */
	__u64 runtime_ns;
	/* how long other threads waited for the GIL in sum, while this thread held it */
	__u64 blame_ns;
	/*
	 * Two sums since the recording began, if waits are recorded. .ready_ns: how long this
	 * thread was ready to run, but had no CPU. .stolen_ns: how long this thread had a CPU
	 * without using it, because the machine's host took the CPU away or the kernel handled
	 * interrupts. A wait adds its time to these sums only once its record is sent.
	 */
	__u64 ready_ns, stolen_ns;
};

/* What the first argument of a system call refers to if it is taken as a descriptor. */
enum wait_fd {
	WAIT_FD_NONE, /* no open descriptor */
	WAIT_FD_SOCKET,
	WAIT_FD_PIPE,
	WAIT_FD_FILE,  /* a file or a directory of a file system, or a block device */
	WAIT_FD_OTHER, /* a terminal, another device, an eventfd, an epoll set, ... */
};

/* Which kind of name wait_on.text is. It is the name of what a thread waits for. */
enum wait_on_kind {
	WAIT_ON_NOTHING,
	WAIT_ON_IPV4, /* .text is an address in network byte order; .port is the port */
	WAIT_ON_IPV6, /* as WAIT_ON_IPV4 */
	WAIT_ON_UNIX, /* .text is a path to which the socket or its peer is bound */
	WAIT_ON_FILE, /* .text is the last part of the file's path */
	WAIT_ON_KINDS
};

#define WAIT_ON_BYTES 64
struct wait_on {
	__u8 kind; /* enum wait_on_kind: what .text is */
	/* != 0: the socket has no peer but listens, and .text is the socket's own address */
	__u8 listens;
	__u16 port;
	__s32 fd; /* the descriptor for which the thread waits */
	__u8 text[WAIT_ON_BYTES];
};

/*
 * A wait of a thread. If .flags has WAIT_OPEN, the wait isn't over. The stack of a wait is the one
 * with which the thread left the CPU. sample.time_ns is when the thread got a CPU again.
 * sample.weight says for how many nanoseconds the thread waited. The time in which the thread was
 * ready to run doesn't count.
 *
 * Where there are too many waits, the stacks of only some are taken, chosen at random. .times
 * divided by WAIT_ONE says for how many waits at the same site (struct wait_site) this wait counts:
 * 1 divided by the chance with which its stack was taken. Waits whose stacks weren't taken have no
 * record. .others_ns is the time of such waits since the thread's last record, .gil_others_ns the
 * part of that time that was for the GIL. If .times is 0, the record has only .others_ns and
 * .gil_others_ns, and no wait.
 */
struct rec_wait {
	struct rec_sample sample; /* its .type is REC_WAIT */
	__u64 since_ns;		  /* when the thread left the CPU */
	/*
	 * how long the thread waited for the GIL until it got a CPU again. This includes the time
	 * in which it was ready to run.
	 */
	__u64 gil_ns;
	__u64 others_ns, gil_others_ns;
	__u32 times;
	__u32 cost_ns; /* how long it took to take the stack, which may have made the wait longer */
	__u64 arg[2];  /* the first two arguments of the system call */
	__s32 call;    /* number of the system call in which the thread waits; -1: none */
	__u16 state;   /* state of the task, TASK_* of the kernel */
	__u8 fd;       /* enum wait_fd: what the descriptor .arg[0] refers to */
	__u8 flags;    /* WAIT_* */
	__u32 site;    /* index in wait_entry.sites of the wait's site (struct wait_site) */
	__u32 reserved;
	struct wait_on on;
	/*
	 * The thread that ended a wait for a futex, with its stack at that moment. If that thread
	 * isn't known, its .tid is 0, and the record may end before this field. .weight is 0.
	 */
	struct rec_sample waker;
};
/* size of a struct rec_wait without its .waker */
#define WAIT_BYTES   __builtin_offsetof(struct rec_wait, waker)
#define WAIT_ONE     1024
#define WAIT_SITES   8	/* how many sites (struct wait_site) are kept of a thread; a power of two */
#define WAIT_DISK    1	/* flag: the thread waits for a disk (task_struct.in_iowait) */
#define WAIT_EXITS   2	/* flag: the thread is in do_exit(), or gets another tid by execve() */
#define WAIT_OPEN    4	/* flag: the wait isn't over */
#define WAIT_CGROUP  8	/* flag: the thread is frozen by cgroup v2, or is stopped */
#define WAIT_FOR_GIL 16 /* flag: the wait is for the GIL, as the futex's address shows */
/* flag: the thread is in krait's PID namespace, so process ids mean the same to both */
#define WAIT_NUMBERS 32
/*
 * flag: no stack was taken of this wait. The record has the times of this wait, but all its other
 * fields are from an earlier wait of the thread.
 */
#define WAIT_LEFT 64

/*
 * The account of a thread that has ended, or that is alive when the recording ends. Its
 * sample.weight is 0. Its sample.ready_ns and .stolen_ns are final: no later record of the thread
 * follows. .switches_ns and .kernel_ns measure the same time in two ways: how long the thread
 * waited between the first and the last of its task switches that krait saw.
 */
struct rec_account {
	struct rec_sample sample; /* .type of this sample is REC_ACCOUNT; its .stack may be 0 */
	__u64 switches_ns; /* sum of the thread's waits, each from task switch to task switch */
	/* time from first to last task switch, minus the thread's CPU, ready and stolen time */
	__u64 kernel_ns;
	__u32 exit_status; /* of the process, as waitpid() gives it; 0 if the process goes on */
	__u32 reserved;
};

/* One Python frame, as records carry it. */
struct wire_frame {
	__u64 code;  /* address of the frame's code object */
	__u64 check; /* proves which code object .code is (check.h); equal to rec_code.check */
	/*
	 * offset of the instruction: 2.7-3.9 in bytes; 3.10 in code units; 3.11+ in bytes from
	 * co_code_adaptive (3.14t+: from the beginning of the copy that the frame runs), or
	 * LASTI_UNKNOWN
	 */
	__s32 lasti;
	__u32 flags; /* FRAME_* */
};
#define LASTI_UNKNOWN 0x7fffffff /* krait doesn't know which instruction the frame is at */
#define FRAME_ENTRY   1 /* flag: this is the outermost Python frame of its evaluation loop */
/*
 * The bits of wire_frame.flags from this bit up hold 1 + the index of the native frame that is the
 * evaluation loop of the Python frame. 0 = not known.
 */
#define FRAME_OWNER_SHIFT 8

struct rec_stack {
	__u8 type;    /* REC_STACK */
	__u8 outcome; /* enum walk_outcome: the outcome that all samples with this stack have */
	__u16 n;      /* number of Python frames that come after this head */
	__u32 reserved;
	__u64 stack;
	struct proc_key proc;
	/* After this head come n struct wire_frame, innermost first. */
};

/*
 * The native and kernel frames of a stack. This record is sent just before the REC_STACK with the
 * same id.
 */
struct rec_native {
	__u8 type;	/* REC_NATIVE */
	__u8 outcome;	/* enum native_outcome: how the unwinding ended */
	__u16 n;	/* number of native frames in the record */
	__u16 n_kernel; /* number of kernel frames in the record */
	__u16 reserved16;
	__u64 stack;
	struct proc_key proc;
	/* .version of the struct unwind_space in which addresses were looked up; 0: in none */
	__u32 version;
	__u32 reserved;
	/*
	 * After this head come the addresses of n_kernel kernel frames and then of n native frames,
	 * one u64 each, innermost first. The address of a native caller lies inside the call
	 * instruction, so that it names the right function and line.
	 */
};

/* how many bytes a string of @n bytes takes in a record */
#define WIRE_PADDED(n) (((n) + 7ull) & ~7ull)

/*
 * One string, copied from the target: raw code points, not UTF-8. bytes == 0 with len > 0: the
 * string wasn't resident at that moment. User space may read it later at addr if the code object is
 * still the same.
 */
struct wire_text {
	__u64 addr; /* address of the str or bytes object in the target */
	/*
	 * length in the target: of a string in code points (2.7: bytes), of a line table in bytes
	 */
	__u32 len;
	__u32 bytes; /* how many bytes of the string are in the record */
	/* bytes per code point: 1, 2 or 4; 0: a byte string (2.7's strings, line tables) */
	__u8 kind;
	__u8 ascii;
	__u8 reserved[6];
};

enum code_text { CODE_FILENAME, CODE_NAME, CODE_QUALNAME, CODE_LINETABLE, CODE_TEXT_MAX };

/*
 * Describes a code object. It is sent when a sample has the code object for the first time. The
 * bytes of the texts follow in order, each padded to a multiple of 8.
 */
struct rec_code {
	__u8 type;	 /* REC_CODE */
	__u8 has_module; /* 1: a struct rec_module comes after the texts */
	__u16 layout;	 /* index of the struct py_layout that the code object was read with */
	__s32 firstlineno;
	__u64 code, check;
	struct proc_key proc;
	/* 3.11+: first instruction, as an index, at which a frame is completely set up */
	__s32 firsttraceable;
	__u32 version; /* co_version of the code object; 0: it has no version */
	/* <= 3.10: address of the object in the first local variable of a frame; 0 = none */
	__u64 self_obj;
	/* type of self_obj, which may be freed before user space reads it; 0 = not readable */
	__u64 self_type;
	/* address of the globals dict of a frame that ran the code object, 0 = not readable */
	__u64 globals;
	struct wire_text text[CODE_TEXT_MAX];
};

/*
 * Texts about a module, sent with the code of the module's top level, 3.11+: __name__ and __file__
 * of its globals. The bytes of these texts follow in the record, each padded to a multiple of 8.
 */
enum module_text { MODULE_NAME, MODULE_FILE, MODULE_TEXT_MAX };
struct rec_module {
	struct wire_text text[MODULE_TEXT_MAX];
};

/* What a range of memory that couldn't be read belongs to. */
enum absent_kind { ABSENT_THREAD, ABSENT_FRAME, ABSENT_CODE, ABSENT_NATIVE, ABSENT_MAX };

/*
 * Memory of the process that a walk couldn't read: it is paged out, wasn't touched yet, or isn't
 * mapped. A kernel program can't bring a page in. User space reads the memory once. This brings the
 * memory in, so that later samples can read it.
 */
struct rec_absent {
	__u8 type; /* REC_ABSENT */
	__u8 reserved8;
	__u16 layout;
	__u32 reserved;
	struct proc_key proc;
	__u64 tstate; /* address of the thread's PyThreadState, 0 = not found */
	struct absent_range {
		/* the range of memory that was tried; addr 0: no memory of this kind was absent */
		__u64 addr, bytes;
	} range[ABSENT_MAX]; /* for each enum absent_kind: the last range that couldn't be read */
};

enum proc_state {
	PROC_PENDING = 1, /* user space was asked what the process is, and hasn't answered yet */
	PROC_PYTHON,
	PROC_IGNORED,	  /* the process isn't wanted, or isn't Python */
	PROC_UNSUPPORTED, /* krait doesn't know this version of Python: samples are only counted */
	PROC_NATIVE,	  /* the process isn't Python, but its native stacks are wanted */
	/* the executable is linked with a known libpython, which isn't mapped yet */
	PROC_LINKING,
	/* the executable may dlopen a known libpython; until then treated as PROC_IGNORED */
	PROC_HOST,
	/*
	 * the process would be shown, but its user begins too many processes: its samples are
	 * counted, without stacks
	 */
	PROC_CROWDED,
	/*
	 * the user begins too many processes, as with PROC_CROWDED, but user space hasn't examined
	 * the process, so it isn't known whether the process would be shown
	 */
	PROC_UNASKED,
};

/*
 * Identifies an executable file and its contents, by what the kernel knows of the file. Nobody can
 * write to a file while it runs, and a write before the file runs, or after, changes mtime_ns.
 */
struct exe_key {
	__u32 dev; /* device number in the kernel's encoding: major << 20 | minor */
	/*
	 * inode.i_generation: differs between files that get the same inode number one after
	 * another
	 */
	__u32 generation;
	__u64 ino;
	__s64 bytes, mtime_ns;
};

#define ABI_GROUPS	16 /* the most control group hierarchies of one process */
#define ABI_GROUP_SHIFT 48

/*
 * The control groups and the working directory of a process, as numbers that the kernel uses. If
 * two processes have the same numbers at nearly the same time, /proc shows the same paths for both.
 */
struct proc_place {
	/*
	 * The control group of each hierarchy: the hierarchy's number << ABI_GROUP_SHIFT | the
	 * group's inode; 0: the list has ended. If the first entry is 0, no control group is known.
	 */
	__u64 group[ABI_GROUPS];
	struct place_dir {
		__u64 ino, mount; /* .mount is what statx() gives with STATX_MNT_ID_UNIQUE */
		__u32 dev, generation;
	} dir; /* the working directory; .mount 0: not known */
};

/*
 * Tells user space of a process image. It is sent with the first sample of the image, and again as
 * long as user space doesn't know what the process is.
 */
struct rec_proc {
	__u8 type;  /* REC_PROC */
	__u8 state; /* enum proc_state: the state in which the kernel program put the process */
	/* slot in map `spaces` that the process inherited from its parent, 0 = none */
	__u16 space;
	__u32 parent; /* tgid of the parent process */
	struct proc_key proc;
	__u64 time_ns;
	/* when the process began: start_boottime of its main thread; 0: not known */
	__u64 start_boot_ns;
	__u32 uid; /* real uid of the process, in the first user namespace */
	__u32 new; /* != 0: the process began, or called exec, after sampling had begun */
	struct exe_key exe;
	char comm[ABI_COMM_BYTES];
	struct py_where where; /* the process's interpreter, if .state is PROC_PYTHON */
	__u64 task; /* address of the main thread's task_struct, for on_question(); 0: not known */
	struct proc_place place;   /* all 0: not known */
	char args[ABI_ARGS_BYTES]; /* beginning of the process's command line, NUL-separated */
};

/*
 * Tells one image of a process from another by fields 26 and 28 of /proc/PID/stat. (/proc doesn't
 * show how many execs the process has done.) The code of a non-PIE executable always begins at the
 * same address; the stack's address is random in each exec.
 */
struct image_place {
	__u64 start_code, start_stack; /* mm_struct.start_code and .start_stack of the kernel */
};

/* Map `procs`: tgid -> state of the process. */
struct proc_entry {
	/* .start_ns is 0 if user space made the entry; the process's first sample sets it */
	struct proc_key key;
	struct image_place place; /* where in memory the image lies that user space examined */
	/* when the last REC_PROC, which asks user space, was sent for this process */
	__u64 asked_ns;
	__u32 asks;
	__u32 space;  /* slot of the process's mappings in map `spaces`; 0: it has none */
	__u8 state;   /* enum proc_state: what is known of the process */
	__u8 several; /* != 0: the process has more than one interpreter: see map `several` */
	__u8 new;     /* != 0: the process began, or called exec, after sampling had begun */
	__u8 reserved[5];
	/*
	 * != 0: .space is an ancestor's slot, and is valid only if the mappings in that slot were
	 * read before this time; 0: .space is the process's own slot
	 */
	__u64 space_before_ns;
	struct py_where where;
};

#define ABI_INTERPRETERS 4 /* how many interpreters of one process are followed at most */

/*
 * Map `several`: tgid -> the interpreters of a process that has more than one. The first
 * interpreter is .where of the process's proc_entry.
 */
struct proc_several {
	__u32 tgid, n;
	struct py_where where[ABI_INTERPRETERS];
};

/* In which file the processes of an executable have their interpreter. */
enum exe_kind {
	EXE_PYTHON = 1, /* the executable itself contains the interpreter */
	/* the executable is linked with a libpython whose dynamic section is known */
	EXE_LINKED,
	/* another process of this executable mapped a known libpython by dlopen() */
	EXE_HOST,
	/* not Python, unless a process of the executable maps a libpython later */
	EXE_OTHER,
};

/* Map `exes`: executable file -> interpreter, so that a new process needs no help of user space. */
struct exe_entry {
	/* where the interpreter is; addresses are those in the interpreter's ELF file */
	struct py_where where;
	/* the lowest p_vaddr of the executable's code; load bias = mm.start_code - start_vaddr */
	__u64 start_vaddr;
	/* with EXE_LINKED and EXE_HOST: p_vaddr of DT_DEBUG's value in the executable */
	__u64 debug_slot;
	/* with EXE_LINKED and EXE_HOST: p_vaddr of libpython's dynamic section */
	__u64 lib_dynamic;
	/* with EXE_LINKED and EXE_HOST: check_dynamic() over the first entries at lib_dynamic */
	__u64 lib_check;
	__u8 kind; /* enum exe_kind: how processes of the executable get their interpreter */
	__u8 reserved[7];
};

/* how many entries of libpython's dynamic section lib_check covers */
#define ABI_DYNAMIC_ENTRIES 16

/* Map `counters`, one set per CPU: X(NAME, words for -v and for the end of a recording). */
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
	X(BUSY, "samples lost because another was being taken on the same CPU")                    \
	X(NO_WAIT, "waits of threads for which the kernel's table had no room")                    \
	X(WAITS, "waits")                                                                          \
	X(WAITS_LEFT, "waits of which no stack was taken, to save CPU time")                       \
	X(WAIT_UNSEEN, "waits whose end wasn't seen")                                              \
	X(NO_GIL, "waits for a GIL without a known holder: the kernel's table had no room")

enum bpf_counter {
#define X(name, words) COUNT_##name,
	BPF_COUNTERS(X)
#undef X
		COUNT_MAX
};

_Static_assert(sizeof(struct rec_sample) == 80, "a sample is a few dozen bytes");
_Static_assert(sizeof(struct wire_frame) == 24, "");
_Static_assert(sizeof(struct rec_native) == 40, "");
_Static_assert(sizeof(struct wire_text) == 24, "");
_Static_assert(sizeof(struct py_where) == 96, "");
_Static_assert(sizeof(struct rec_wait) == 304, "");
_Static_assert(sizeof(struct rec_account) == 104, "");

#endif
