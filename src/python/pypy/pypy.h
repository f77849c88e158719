/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the Python functions of a PyPy's threads from outside, while the threads are blocked.
 *
 * PyPy has two lists of the functions that a thread is in. One links the frames of its interpreter
 * (PyFrame), each with its code object and instruction. The other one is for PyPy's own profiler,
 * vmprof: it has the number of each code object, and an entry of another kind where the thread is
 * in code that the JIT made. A thread's functions are certain if the thread doesn't have PyPy's
 * GIL, if both lists have the same code objects in the same order, and if they are the same when
 * they are read again. While a thread is in code of the JIT, its frames aren't up to date, so its
 * functions can't be read. A thread without the GIL doesn't execute Python, and can't be in the
 * midst of a change from one kind of code to the other. Other threads run meanwhile, and their
 * garbage collector may move objects; that is why everything is read twice.
 *
 * PyPy is translated from RPython, and no symbol says where a field is. pypy_open() finds the
 * offsets in the process: only the right ones make both lists agree. The process may be hostile,
 * so all reading is bounded.
 */
#ifndef PYTHON_PYPY_PYPY_H
#define PYTHON_PYPY_PYPY_H

#include <sys/types.h>

#include "base/vec.h"
#include "proc/read/maps.h"
#include "python/heap/tids.h"

/* Offsets of fields, in bytes. */
struct pypy_offsets {
	/* in a thread's block, struct pypy_threadlocal_s */
	uint16_t ident;		    /* pthread_self() of the thread */
	uint16_t context;	    /* pointer to the thread's ExecutionContext */
	uint16_t vmprof;	    /* pointer to the innermost entry of vmprof's list */
	uint16_t top;		    /* in the ExecutionContext: pointer to the innermost PyFrame */
	uint16_t back, lasti, code; /* in a PyFrame: f_backref, last_instr, pycode */
	/*
	 * in a PyCode: its number in vmprof's list, and pointers to RPython strings, among them
	 * the bytecode (co_code)
	 */
	uint16_t id, name, qualname, filename, firstlineno, bytecode, linetable;
	/* in a PyCode: a byte that isn't 0 if PyPy leaves the function out of its own tracebacks */
	uint16_t hidden;
	/* the number of a type, the low 32 bits of an object's header: of PyFrame and of strings */
	uint32_t frame_type, string_type;
};

struct pypy {
	pid_t pid;
	uint64_t gil;	  /* address of the word that holds the GIL (py_image.pypy_gil) */
	uint64_t threads; /* address of the head of the list of the threads' blocks */
	/*
	 * After this time (CLOCK_MONOTONIC) nothing more is read; the caller may set it anew. A
	 * hostile process could make reading take very long.
	 */
	uint64_t until_ns;
	struct pypy_offsets at;
};

/*
 * Finds the list of threads and the offsets in process @pid. @maps: all its mappings. @gil: the
 * address of its GIL. @until_ns: see struct pypy. 0; -ENOENT: they weren't found, which may be
 * different a moment later; other -errno. Sets no message.
 */
_must_use_ int pypy_open(struct pypy *ret, pid_t pid, const struct maps *maps, uint64_t gil,
			 const struct py_tids *tids, uint64_t until_ns);

struct pypy_thread {
	uint64_t block; /* address of the thread's struct pypy_threadlocal_s */
	uint64_t ident; /* pthread_self() of the thread */
	pid_t tid;	/* in krait's PID namespace; 0: there is no such thread */
};
typedef VEC(struct pypy_thread) pypy_threads;

/*
 * Reads which threads PyPy knows. The caller zeroes *ret and frees it with vec_fini() in any case.
 * 0 or -errno.
 */
_must_use_ int pypy_threads_read(const struct pypy *p, const struct py_tids *tids,
				 pypy_threads *ret);

struct pypy_frame {
	uint64_t addr, code; /* addresses of the PyFrame and of its PyCode */
	int32_t lasti;	     /* offset of the last instruction in bytes; -1: none was executed */
	uint32_t reserved;   /* 0 */
};
typedef VEC(struct pypy_frame) pypy_frames;

/* the most frames that are read of a thread, the innermost */
#define PYPY_FRAMES 1024

/*
 * Reads the thread's frames once, the innermost first, into *ret, which the caller frees with
 * vec_fini(). 1: all frames. 0: only the innermost PYPY_FRAMES. -EBUSY: the thread has the GIL.
 * -EOPNOTSUPP: it is in code of the JIT. -EAGAIN: the two lists differ. Other -errno: memory can't
 * be read. Two readings with the same frames are a proof, see above.
 */
_must_use_ int pypy_frames_read(const struct pypy *p, const struct pypy_thread *t,
				pypy_frames *ret);

struct pypy_text {
	uint64_t addr;	/* address of the RPython string */
	uint32_t len;	/* length of the string in the process */
	uint32_t bytes; /* how many bytes of it are in .v: fewer if the string is very long */
	uint8_t *v;
};

struct pypy_code {
	int32_t firstlineno;
	bool hidden; /* PyPy leaves the function out of its own tracebacks */
	struct pypy_text filename, name, qualname;
	/* the line table in the form that CPython 3.11 has (python/code/linetable.h) */
	struct pypy_text linetable;
};

/*
 * Reads the code object at @addr. 0: the caller frees *ret with pypy_code_fini(). -EAGAIN: the
 * object changed while it was read, or there is no code object. -ENOMEM; -errno of peek(). After an
 * error there is nothing to free.
 */
_must_use_ int pypy_code_read(const struct pypy *p, uint64_t addr, struct pypy_code *ret);
void pypy_code_fini(struct pypy_code *code);

/*
 * Converts the line table @table of @n bytes, as PyPy has it, to CPython 3.11's form. @units, if
 * not NULL, is set to the number of instructions that the table describes; -1: the table is
 * broken, and only what lies before the fault is converted. *ret is to be freed. 0 or -ENOMEM.
 */
struct pypy_bytes {
	uint8_t *v;
	size_t n;
};
_must_use_ int pypy_lines_convert(const uint8_t *table, size_t n, struct pypy_bytes *ret,
				  long *units);

#endif
