/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files with native code: their unwind rows (how to get from code to its caller), names and debug
 * files, and the jobs that make and read these.
 */
#ifndef COLLECT_NATIVE_NATIVE_H
#define COLLECT_NATIVE_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/common/state.h"
#include "collect/interp/image.h"
#include "collect/process/root.h"
#include "unwind/cache.h"

struct collect;

/*
 * A file with native code that processes map, with its unwind rows and names. .dev and .ino are the
 * numbers that mappings of the file show.
 */
struct native_file {
	uint64_t dev, ino;
	struct file_version version;
	char *path;
	/* open as long as unwind rows or names may still be needed; -1: the file can't be opened */
	int fd;
	uint32_t index; /* number of the file for native_file_at(), from 1 on */
	/*
	 * root directory of a process that maps the file, to find the debug file: a descriptor of
	 * natives.roots; -1: krait's own
	 */
	int root;
	uint32_t table;
	uint32_t mapping; /* profile id of the mapping of this file; 0: not made yet */
	/*
	 * address of the page with the file's lowest executable vaddr; offsets in unwind rows count
	 * from this address
	 */
	uint64_t base;
	VEC(struct elf_load) loads; /* the executable segments of the file */
	/* functions with unwind information, ascending; their offsets count from .base */
	VEC(struct unwind_fde) fdes;
	struct elf_names *names;
	/*
	 * how often collect_flush() had been called (collect.flushes) when a name of the file was
	 * last needed
	 */
	uint32_t used_at;
	/* lines from DWARF; NULL: there are no lines, or lines aren't wanted */
	struct dwarf_file *lines;
	/* names of functions that have no symbol, from tables of methods; NULL: there are none */
	struct method_names *methods;
	/*
	 * tells of each split-off part (compilers split functions) which function it belongs to;
	 * NULL: not known
	 */
	struct function_parts *parts;
	/*
	 * how many of the processes that were examined before the recording map the file; 1 more if
	 * krait expects the file to be mapped (native_file_foresee())
	 */
	uint32_t mapped;
	/* the file's exported functions were looked up, so .interpreter and .exit are set */
	bool looked;
	/* a process has mapped the file; false: krait only expects a process to map the file */
	bool met;
	/*
	 * the file has CPython in it, so some of its functions may be machinery (functions that are
	 * hidden)
	 */
	bool interpreter;
	uint64_t exit; /* vaddr of exit() if the file is the C library; else 0 */
	enum { NAMES_NONE, NAMES_ASKED, NAMES_TRIED } named;
	enum { LIST_NONE, LIST_ASKED, LIST_TRIED } list_found;
	/*
	 * vaddr of gdb's list of code made at run time (symbol/madecode/gdb_jit.h); 0: there is
	 * none
	 */
	uint64_t list;
	enum { ROWS_NONE, ROWS_ASKED, ROWS_THERE, ROWS_REFUSED } rows;
	bool proving; /* more unwind rows of the file are being made by native_rows_prove() */
	/* the cache on disk lacks unwind rows of the file: native_rows_want_cached() */
	bool uncached;
	/* unwind rows aren't compiled again before this time (CLOCK_MONOTONIC) */
	uint64_t retry_ns;
	uint32_t tries; /* how often the making of unwind rows was put off until .retry_ns */
	/*
	 * after the file system didn't answer: when the file is tried again (CLOCK_MONOTONIC); 0:
	 * the file system has answered
	 */
	uint64_t again_ns;
};

/* All files with native code, and the worker that reads them. */
struct natives {
	VEC(struct native_file *) files;
	size_t open;	  /* how many files have an open .fd */
	struct map index; /* file_key() -> 1 + index in .files of the latest file with this key */
	/* root directories of containers whose processes map files */
	root_vec roots;
	struct worker *worker;	    /* the worker; NULL: stacks have no native frames */
	struct kernel *kernel;	    /* state of kernel.c */
	struct known_places *known; /* state of known.c */
};

/* Makes the state of this folder. 0 or -errno. */
_must_use_ int natives_init(struct collect *c);
/*
 * Ends the work on files. False: a job still runs. In that case the files and all else that the job
 * reads must stay, and natives_fini() may not be called.
 */
_must_use_ bool native_work_fini(struct collect *c);
void natives_fini(struct collect *c);
void native_file_free(struct native_file *f);

static inline struct native_file *native_file_at(const struct collect *c, uint32_t index)
{
	return c->natives->files.v[index - 1];
}

/*
 * native_file.c: returns the file behind @m, which is opened when a process is first seen to map
 * it; NULL: it can't be opened or has no code. *index: the file's .index; 0: the file isn't known.
 */
struct native_file *native_file_of(struct collect *c, const struct proc *proc,
				   const struct mapping *m, const char *path, uint32_t *index);
/*
 * Adds file @fd (borrowed), which a process is expected to map. Processes whose root directory is
 * krait's will map it with @m's .dev and .ino. NULL: the file is known already, or isn't a file
 * with code.
 */
struct native_file *native_file_foresee(struct collect *c, const struct mapping *m, int fd,
					const char *path);
/*
 * Was the file overwritten since it was opened, as cp does? If so, what krait has read from it
 * doesn't describe what processes map. Any thread may call this function.
 */
bool native_file_changed(const struct native_file *f);

/*
 * Returns the .index of the file that processes map as @path with @m's .dev and .ino, if some
 * process has mapped it before; 0: the file isn't known.
 */
uint32_t native_file_met(const struct collect *c, const struct mapping *m, const char *path);

/* Can native_file_of() tell all about @f without looking at a process that maps the file? */
bool native_file_is_settled(const struct native_file *f);

bool native_file_vaddr(const struct native_file *f, uint64_t offset, uint64_t *vaddr);
/* The name of a function in a file, found by an address in the function. */
struct native_name {
	const char *text; /* name of the function, which the file owns; NULL: none */
	/* .text is a symbol of the file; false: .text is the function's name in Python code */
	bool symbol;
	/*
	 * If .symbol: the function's name in Python code; NULL: the function has no such name, or
	 * the name isn't certain.
	 */
	const char *called;
	/*
	 * vaddr that stands for the function: the address asked for, or the function's beginning if
	 * it has no symbol
	 */
	uint64_t start;
};
struct native_name native_file_name(struct native_file *f, uint64_t vaddr);

/*
 * What the merging of stacks has to know of the function at an address: a set of flags. 0: the
 * function wasn't looked up yet.
 */
enum native_is {
	/*
	 * flag: the function is machinery (hidden functions of the interpreter; machinery.h), and
	 * its file has an interpreter
	 */
	IS_MACHINERY = 1 << 0,
	IS_EVAL_2 = 1 << 1,
	IS_EVAL_3 = 1 << 2,
	/* flags: how greenlet uses the function (greenlet.h); this flag and the next two */
	IS_GREENLET_START = 1 << 3,
	IS_GREENLET_SWITCH = 1 << 4,
	IS_GREENLET_EXPOSING = 1 << 5,
	IS_NAMELESS = 1 << 6, /* flag: the function has no name, and its file has an interpreter */
	IS_KNOWN = 1 << 7,    /* flag, always set once the function was looked up */
};
uint8_t native_file_is(struct collect *c, struct native_file *f, uint64_t vaddr);

/*
 * Is @vaddr the return address of the call of main() in a C library without unwind tables (musl)?
 * Reads the file's code.
 */
bool native_file_called_main(const struct native_file *f, uint64_t vaddr);

/* The unwind rows of a file, and the other results of the job that makes them. */
typedef VEC(struct unwind_fde) fde_vec;
struct native_rows {
	struct unwind_rows rows;
	/*
	 * Set by the caller: the value that native_file.interpreter had when the rows were asked
	 * for. If it is false, .eval may lack the evaluation loop.
	 */
	bool interpreter;
	fde_vec eval;  /* the functions of the evaluation loop in the file */
	bool compiled; /* the unwind rows were compiled; false: they come from the cache on disk */
	/*
	 * much of the file's code has no unwind information; native_rows_prove() makes the rows of
	 * that code
	 */
	bool partial;
	/*
	 * if .compiled and there is a cache: the key under which the cache will keep the rows; it
	 * was made before the file was read
	 */
	struct unwind_cache_key key;
	struct elf_reads reads; /* what was read of the file; set if .key is set */
};

/* native_rows.c: asks for the file's unwind rows because a stack needs them. */
void native_rows_want(struct collect *c, struct native_file *f);
/*
 * Asks for the file's unwind rows before a stack needs them. They are only loaded from the cache on
 * disk, and aren't made if the cache lacks them.
 */
void native_rows_want_cached(struct collect *c, struct native_file *f);
/* Asks for the file's unwind rows anew, because the rows in use are wrong. */
void native_rows_again(struct collect *c, struct native_file *f);
/* Tells whether unwind rows of the file are being made, or completed. */
static inline bool native_rows_coming(const struct native_file *f)
{
	return f->rows == ROWS_ASKED || f->proving;
}

/*
 * Loads or compiles the unwind rows of @f, in a worker's thread. Reads only those parts of @f that
 * never change. @cache: NULL if there is no cache. 0 or -errno + message.
 */
_must_use_ int native_rows_compile(const struct native_file *f, struct unwind_cache *cache,
				   struct native_rows *ret);
/*
 * Loads the unwind rows of @f from the cache. -ENOENT: the cache doesn't have them. Runs in a
 * worker's thread; other errors are those of native_rows_compile().
 */
_must_use_ int native_rows_load(const struct native_file *f, struct unwind_cache *cache,
				struct native_rows *ret);
void native_rows_fini(struct native_rows *r);
/*
 * Completes unwind rows that are .partial by rows that are proved from instructions, in a worker's
 * thread. 0 or -errno + message.
 */
_must_use_ int native_rows_prove(const struct native_file *f, struct native_rows *rows);
/*
 * Hands unwind rows to the kernel program. A worker's thread may call this function if
 * collect_unwind_ops.fills_aside is set. 0 or -errno + message.
 */
_must_use_ int native_rows_fill(const struct collect_config *config, const struct native_file *f,
				const struct native_rows *rows);
/* Writes unwind rows to the cache, in a worker's thread. 0 or -errno + message. */
_must_use_ int native_rows_keep(const struct native_file *f, struct unwind_cache *cache,
				struct native_rows *rows);
/*
 * Uses the unwind rows that native_rows_compile() or native_rows_load() made. @r: what that
 * function returned. @why: the message if @r is an error.
 */
void native_rows_take(struct collect *c, struct native_file *f, struct native_rows *rows, int r,
		      const char *why);
/*
 * Uses unwind rows that native_rows_prove() has completed, as native_rows_take() does. Until now
 * the file's rows were partial.
 */
void native_rows_take_proven(struct collect *c, struct native_file *f, struct native_rows *rows,
			     int r, const char *why);
/*
 * Called when the unwind table @table was dropped from the kernel's maps. If it was the table of a
 * file, the file needs its rows again.
 */
void native_rows_given_up(struct collect *c, uint32_t table);

/*
 * native_work.c: these functions give a worker's thread a job: to compile unwind rows, to load them
 * from the cache, to read names, to find the list of registered code. native_work_take() takes the
 * results.
 */
void native_work_rows(struct collect *c, struct native_file *f);
void native_work_cached_rows(struct collect *c, struct native_file *f);
void native_work_names(struct collect *c, struct native_file *f);
void native_work_list(struct collect *c, struct native_file *f);
/*
 * Reads the kernel's symbols and gives them to kernel_take(): in a worker's thread, or at once if
 * there is no worker.
 */
void native_work_kernel(struct collect *c);
/*
 * Takes the results of jobs that are done; called in each collect_flush(). @all: first waits until
 * all jobs are done, or collect_config.wait ends the wait.
 */
void native_work_take(struct collect *c, bool all);

/*
 * kernel.c. kernel_ready(): was a name looked for at all kernel addresses @pc[@n]? If not, a
 * worker's thread reads the names. kernel_take(): uses @names, which that thread has read. @names
 * NULL: the names couldn't be read. @why: the reason; "": no reason is shown.
 */
struct kernel_names;
_must_use_ bool kernel_init(struct collect *c);
void kernel_fini(struct collect *c);
bool kernel_ready(struct collect *c, const uint64_t *pc, size_t n);
/*
 * Do addresses @pc[@n] lack names that reading the kernel's symbols may find? *ask is set if no
 * thread reads the symbols yet; the caller then has to start that.
 */
bool kernel_lacks(struct collect *c, const uint64_t *pc, size_t n, bool *ask);
void kernel_take(struct collect *c, struct kernel_names *names, const char *why);
/* Tells whether names of the kernel are being read. */
bool kernel_is_asked(const struct collect *c);
/*
 * Returns the name of the kernel's code at @pc; NULL: none is known. *module: the kernel module
 * that the code belongs to.
 */
const char *kernel_name(const struct collect *c, uint64_t pc, const char **module);
/*
 * Returns the address that a recording shows for kernel address @pc; 0: none. It isn't the address
 * in memory, because anybody may read a recording, but only some users may know where the kernel
 * lies.
 */
uint64_t kernel_shown_address(const struct collect *c, uint64_t pc);

/*
 * known.c: what was found at an address of a file. In a new entry everything is 0 except the key
 * (.vaddr, .file).
 */
struct known_native {
	uint64_t vaddr;
	/* native_file.index of the file; or KNOWN_KERNEL, if .vaddr is an address in the kernel */
	uint32_t file;
	/*
	 * profile id of the location, which files of stack/ make; 0: it wasn't made yet, or has no
	 * name
	 */
	uint32_t location;
	uint8_t is; /* bits of enum native_is for the function; 0: not looked up yet */
};
#define KNOWN_KERNEL 0 /* the number of no file, for addresses in the kernel */
_must_use_ bool known_natives_init(struct collect *c);
struct known_native *known_native(struct collect *c, uint32_t file, uint64_t vaddr);
/* Forgets all entries, because profile ids, or the data from which names are made, have changed. */
void known_natives_forget(struct collect *c);

#endif
