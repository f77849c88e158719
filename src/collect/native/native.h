/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with native code: their rows, names and debug files, and who makes these. */
#ifndef COLLECT_NATIVE_H
#define COLLECT_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/common/state.h"
#include "collect/interp/image.h"
#include "collect/process/root.h"
#include "unwind/cache.h"

struct collect;

/* A file with native code that processes map: its rows and names, by device and inode. */
struct native_file {
	uint64_t dev, ino;
	struct file_version version;
	char *path;
	int fd;		/* open as long as rows or names may still be needed; -1 = can't be */
	uint32_t index; /* for native_file_at() */
	int root;	/* of a process that maps it, for its debug file: in natives.roots, or -1 */
	uint32_t table;
	uint32_t mapping;	     /* profile id, 0 = not made yet */
	uint64_t base;		     /* of keys: page of its lowest executable vaddr */
	VEC(struct elf_load) loads;  /* executable ones */
	VEC(struct unwind_fde) fdes; /* ascending */
	struct elf_names *names;
	uint32_t used_at;	      /* flush at which a name was asked for last */
	struct dwarf_file *lines;     /* NULL: none, or not wanted */
	struct method_names *methods; /* of functions without a symbol, or NULL */
	struct function_parts *parts; /* of those, or NULL */
	uint32_t mapped;	      /* so often by processes that were examined beforehand */
	bool looked;		      /* through its exported functions: the next two are known */
	bool met;		      /* a process has mapped it: it wasn't only foreseen */
	bool interpreter;	      /* CPython itself: names of its machinery mean something */
	uint64_t exit;		      /* exit(), if it is the C library; 0 */
	enum { NAMES_NONE, NAMES_ASKED, NAMES_TRIED } named;
	enum { LIST_NONE, LIST_ASKED, LIST_TRIED } list_found;
	uint64_t list; /* vaddr of its list of code made at run time (symbol/gdb_jit.h), 0 = none */
	enum { ROWS_NONE, ROWS_ASKED, ROWS_THERE, ROWS_REFUSED } rows;
	bool proving;  /* more rows are to come: native_rows_prove() */
	bool uncached; /* the cache of rows on disk doesn't have it: native_rows_want_cached() */
	uint64_t retry_ns; /* not compiled again before, CLOCK_MONOTONIC */
	uint32_t tries;	   /* how often that was so */
	uint64_t again_ns; /* its file system didn't answer: it is met again from then on; 0 */
};

/* What is known of such files, and who works on them. */
struct natives {
	VEC(struct native_file *) files;
	size_t open;		    /* of which .fd was kept */
	struct map index;	    /* file_key() -> index + 1 of the latest one */
	root_vec roots;		    /* of containers whose processes map them */
	struct worker *worker;	    /* NULL: no native frames */
	struct kernel *kernel;	    /* kernel.c */
	struct known_places *known; /* known.c */
};

/* 0 or -errno. */
_must_use_ int natives_init(struct collect *c);
/*
 * Ends the work on files. False: a job still runs, and the files and what else it reads must stay.
 * Then natives_fini() may not be called.
 */
_must_use_ bool native_work_fini(struct collect *c);
void natives_fini(struct collect *c);
void native_file_free(struct native_file *f);

static inline struct native_file *native_file_at(const struct collect *c, uint32_t index)
{
	return c->natives->files.v[index - 1];
}

/* native_file.c: the file behind @m, opened when it is met first; NULL if it can't be. */
struct native_file *native_file_of(struct collect *c, const struct proc *proc,
				   const struct mapping *m, const char *path, uint32_t *index);
/*
 * File @fd (borrowed), which no process maps yet. Mappings will show it with @m's .dev and .ino,
 * in krait's own root directory. NULL if it is known already, or isn't a file with code.
 */
struct native_file *native_file_foresee(struct collect *c, const struct mapping *m, int fd,
					const char *path);
/*
 * Was the file written to since it was opened (cp over it)? Then what was read of it belongs to
 * no mapping. Threads may call this.
 */
bool native_file_changed(const struct native_file *f);

bool native_file_vaddr(const struct native_file *f, uint64_t offset, uint64_t *vaddr);
/* What is at an address. */
struct native_name {
	const char *text; /* NULL: no name; valid as long as the file */
	bool symbol;	  /* it is the file's symbol, else what Python code calls it */
	/* If .symbol, what Python code calls it; NULL: it doesn't call it, or that isn't sure. */
	const char *called;
	uint64_t
		start; /* vaddr that stands for the function: itself, or its beginning if unnamed */
};
struct native_name native_file_name(struct native_file *f, uint64_t vaddr);

/* Which functions at @vaddr matter for merging stacks: a set, 0 = none. */
enum native_is {
	IS_MACHINERY = 1 << 0, /* machinery.h, in a file that holds an interpreter */
	IS_EVAL_2 = 1 << 1,
	IS_EVAL_3 = 1 << 2,
	IS_GREENLET_START = 1 << 3, /* greenlet.h */
	IS_GREENLET_SWITCH = 1 << 4,
	IS_GREENLET_EXPOSING = 1 << 5,
	IS_NAMELESS = 1 << 6, /* a function of an interpreter that nothing names */
	IS_KNOWN = 1 << 7,    /* always */
};
uint8_t native_file_is(struct collect *c, struct native_file *f, uint64_t vaddr);

/* Did a C library without unwind tables (musl) call main() here? Reads the file. */
bool native_file_called_main(const struct native_file *f, uint64_t vaddr);

/* Profile location of the code at @vaddr; in a stack its .outer ones follow it. */
uint32_t native_file_location(struct collect *c, struct native_file *f, uint64_t vaddr);

/* What is compiled from a file. */
typedef VEC(struct unwind_fde) fde_vec;
struct native_rows {
	struct unwind_rows rows;
	fde_vec eval;  /* of the evaluation loop */
	bool compiled; /* they weren't in the cache */
	bool partial;  /* there is much code without unwind information: native_rows_prove() */
	struct unwind_cache_key key; /* .compiled, and there is a cache: of the file before, ... */
	struct elf_reads reads;	     /* ... and what was read of it */
};

/* native_rows.c: a stack needs its rows. */
void native_rows_want(struct collect *c, struct native_file *f);
/* It may need them: they are taken from the cache on disk if it has them, and not made. */
void native_rows_want_cached(struct collect *c, struct native_file *f);
/* They are being made, or more of them. */
static inline bool native_rows_coming(const struct native_file *f)
{
	return f->rows == ROWS_ASKED || f->proving;
}

/*
 * The work itself, in a thread. Reads only what never changes of @f. @cache may be NULL. 0 or
 * -errno + message.
 */
_must_use_ int native_rows_compile(const struct native_file *f, struct unwind_cache *cache,
				   struct native_rows *ret);
/* The same, from the cache alone: -ENOENT if it doesn't have them. */
_must_use_ int native_rows_load(const struct native_file *f, struct unwind_cache *cache,
				struct native_rows *ret);
void native_rows_fini(struct native_rows *r);
/* Adds to partial ones what instructions prove, in a thread. 0 or -errno + message. */
_must_use_ int native_rows_prove(const struct native_file *f, struct native_rows *rows);
/* Hands them to the kernel program; in a thread too, with .fills_aside. 0 or -errno + message. */
_must_use_ int native_rows_fill(const struct collect_config *config, const struct native_file *f,
				const struct native_rows *rows);
/* Puts them into the cache, in a thread. 0 or -errno + message. */
_must_use_ int native_rows_keep(const struct native_file *f, struct unwind_cache *cache,
				struct native_rows *rows);
/* Takes note of what came of that; @why: message for @r. */
void native_rows_take(struct collect *c, struct native_file *f, struct native_rows *rows, int r,
		      const char *why);
/* The same of rows that were partial, and were filled as such. */
void native_rows_take_proven(struct collect *c, struct native_file *f, struct native_rows *rows,
			     int r, const char *why);
/* @table was given up. If it is a file's, the file needs its rows again. */
void native_rows_given_up(struct collect *c, uint32_t table);

/* native_work.c: a thread compiles, or reads symbols; taken over by native_work_take(). */
void native_work_rows(struct collect *c, struct native_file *f);
void native_work_cached_rows(struct collect *c, struct native_file *f);
void native_work_names(struct collect *c, struct native_file *f);
void native_work_list(struct collect *c, struct native_file *f);
/* The kernel's symbols, for kernel_take(). At once where there is no thread. */
void native_work_kernel(struct collect *c);
/*
 * What has been done; once a flush. @all: waits until everything is, or collect_config.wait says
 * that it is enough.
 */
void native_work_take(struct collect *c, bool all);

/*
 * kernel.c: kernel_ready(): are the names of the kernel's code at @pc[@n] there, or known to be
 * missing? If not they are being read. kernel_take(): @names were read; NULL: they couldn't be,
 * and @why says why ("": nothing to say).
 */
struct kernel_names;
_must_use_ bool kernel_init(struct collect *c);
void kernel_fini(struct collect *c);
bool kernel_ready(struct collect *c, const uint64_t *pc, size_t n);
/* Are some missing that can be read? *ask: nobody reads them yet; the caller does. */
bool kernel_lacks(struct collect *c, const uint64_t *pc, size_t n, bool *ask);
void kernel_take(struct collect *c, struct kernel_names *names, const char *why);
/* Are they being read? */
bool kernel_is_asked(const struct collect *c);
/* Profile location of the kernel's code at @pc. */
uint32_t kernel_location(struct collect *c, uint64_t pc);

/* known.c: what was found of a place; an entry is zero but for its key where nothing is known. */
struct known_native {
	uint64_t vaddr;
	uint32_t file;	   /* its .index */
	uint32_t location; /* profile id */
	uint8_t is;	   /* set of enum native_is */
};
_must_use_ bool known_natives_init(struct collect *c);
struct known_native *known_native(struct collect *c, const struct native_file *f, uint64_t vaddr);
/* Profile ids have changed, or what names come from. */
void known_natives_forget(struct collect *c);

#endif
