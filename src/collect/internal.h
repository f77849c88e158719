/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of src/collect share: the process images, threads, stacks and waiting samples. */
#ifndef COLLECT_INTERNAL_H
#define COLLECT_INTERNAL_H

#include <sys/mman.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "elf/elf_dynamic.h"
#include "elf/unwind_rows.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "python/code.h"
#include "python/image.h"

/*
 * A file as stat() tells it, and its contents. In mappings several files of an overlayfs may have one device and
 * inode.
 */
struct file_version {
	uint64_t dev, ino;
	int64_t mtime_ns, bytes;
};

/* What was found in one ELF file, by device and inode. */
struct image_file {
	uint64_t dev, ino;
	int fd; /* -1: not held open */
	struct file_version version;
	bool is_python;
	struct py_image image; /* if is_python */
	struct elf_dynamic dynamic;
	uint64_t text_start, text_offset; /* of the executable PT_LOAD with the lowest p_vaddr */
	bool exec_fixed;		  /* ET_EXEC */
};

/* A file with native code that processes map: its rows and names, by device and inode. */
struct native_file {
	uint64_t dev, ino;
	struct file_version version;
	char *path;
	int fd;		/* open as long as rows or names may still be needed; -1 = can't be */
	uint32_t index; /* its place in collect.natives + 1 */
	int root;	/* of a process that maps it, for its debug file: in collect.roots, or -1 */
	uint32_t table;
	uint32_t mapping;	     /* profile id, 0 = not made yet */
	uint64_t base;		     /* of keys: page of its lowest executable vaddr */
	VEC(struct elf_load) loads;  /* executable ones */
	VEC(struct unwind_fde) fdes; /* ascending */
	struct elf_names *names;
	struct dwarf_file *lines;     /* NULL: none, or not wanted */
	struct method_names *methods; /* of functions without a symbol, or NULL */
	uint32_t mapped;	      /* so often by processes that were examined beforehand */
	bool interpreter;	      /* CPython itself: names of its machinery mean something */
	enum { NAMES_NONE, NAMES_ASKED, NAMES_TRIED } named;
	enum { LIST_NONE, LIST_ASKED, LIST_TRIED } list_found;
	uint64_t list; /* vaddr of its list of code made at run time (symbol/gdb_jit.h), 0 = none */
	enum { ROWS_NONE, ROWS_ASKED, ROWS_THERE, ROWS_REFUSED } rows;
	bool proving;	   /* more rows are to come: native_rows_prove() */
	uint64_t retry_ns; /* not compiled again before, CLOCK_MONOTONIC */
	uint32_t tries;	   /* how often that was so */
};

/* A root directory that isn't krait's own: a container's. Stays open when the container is gone. */
struct target_root {
	uint64_t mount, ino; /* the mount's number: it isn't used again while .fd is open */
	int fd;
};

/* Copies of a stub that CPython enters Python functions through; see trampoline.c. */
#define TRAMPOLINE_BYTES (64u << 10) /* of a block of them */
struct trampoline {
	uint8_t bytes[64], n;
	uint16_t period;
	uint32_t table;
};

/* Where a process has native code, as it was read once. */
struct space_map {
	uint64_t start, end;
	uint64_t vaddr;	 /* of start in the file */
	uint32_t file;	 /* index + 1 in collect.natives, 0 = nothing is known of it */
	uint32_t table;	 /* without a file: its unwind table, 0 = none, ... */
	uint32_t key;	 /* ... and where in it .start is */
	bool registered; /* .table is of what the process registered: it holds until .remade_ns */
	bool lasting;	 /* mapping_is_lasting() */
	/* If .lasting: from when on one code was in it, and until when. UINT64_MAX: it still is. */
	uint64_t since_ns, remade_ns;
};

/* Other code comes there only when something is made executable, which the side band tells. */
static inline bool mapping_is_lasting(const struct mapping *m)
{
	return !m->ino && !m->shared && !(m->prot & PROT_WRITE);
}

/* Are a process's mappings to be read? In this order of urgency. */
enum space_stale {
	SPACE_FRESH,
	SPACE_ODD,   /* code was met that isn't known */
	SPACE_GROWN, /* something was mapped */
	SPACE_GONE,  /* nothing is known, or something was unmapped: nothing can be unwound */
};

struct space {
	uint32_t version, process;
	uint64_t unmaps;	      /* as before it was read */
	uint64_t read_ns;	      /* when that began */
	uint64_t since_ns, remade_ns; /* the last and the first one of its mappings */
	VEC(struct space_map) maps;   /* ascending */
};

#define GUARDED_WANTED 16

/* What a process had registered for gdb; see registered.c. */
struct reading {
	struct gdb_jit *jit; /* NULL: none */
	uint64_t from_ns, to_ns;
	VEC(struct unwind_place) code; /* what was lasting at the end */
	struct unwind_rows rows;       /* of that */
	uint32_t table;		       /* with them, 0 = none */
};
struct registered {
	bool wanted;	   /* code without a name was met */
	uint32_t searched; /* version of the mappings whose files were looked into for lists */
	uint64_t at[4];	   /* their descriptors */
	size_t n;
	struct reading readings[2]; /* the latest first */
	uint64_t due_ns;
	unsigned tries;	  /* that failed, since one succeeded */
	uint32_t read_at; /* flush at whose end all was known */
};

/* Code of a process that lies in no file, unwound as its bytes say; see guarded.c. */
struct guarded_code {
	uint64_t start, end; /* whole pages */
	uint32_t table;
};
struct guarded {
	VEC(struct guarded_code) code;	 /* not overlapping; the oldest first */
	uint64_t wanted[GUARDED_WANTED]; /* addresses at which a stack broke off */
	size_t n_wanted;
	uint64_t due_ns; /* when it may be looked at again */
};

/* One image of one process. Stays for a while after its end: its samples may still be on the way. */
struct process {
	struct proc_key key;
	enum proc_state state;
	bool expected; /* examined, not met: .key has only .tgid, or is an image's that may be another one */
	bool walked;	  /* a sample had Python frames */
	bool reported;	  /* counted among the unsupported ones */
	bool unwanted;	  /* not to be shown */
	bool replaced;	  /* by an exec: it has ended, its number hasn't */
	uint16_t version; /* major << 8 | minor of its interpreter */
	char *name, *cgroup, *container;
	bool name_is_said;	    /* in its first record: .name holds, whatever /proc says now */
	char comm[PROC_COMM_BYTES]; /* of its first thread; "" = it wasn't met yet */
	char unsupported[128];
	uint32_t mapping; /* profile id of "[python 3.12]" */
	uint64_t samples;
	struct py_where where;	  /* state PROC_PYTHON: absolute addresses */
	struct image_place place; /* if .expected: of the image that was examined */
	uint32_t slot;		  /* of its mappings, 0 = none */
	uint32_t reads;		  /* how often they were read for code that isn't known */
	enum space_stale space_stale;
	struct perf_map *jit; /* NULL: not found (yet) */
	uint64_t jit_ns;      /* when it was looked at last */
	uint64_t jit_due_ns;  /* not before that again */
	size_t jit_bytes;     /* of .jit, as counted */
	bool jit_refused;
	struct registered registered;
	struct guarded guarded;
	VEC(uint32_t)
	old_tables;	      /* that the kernel program may know until it has its mappings anew */
	uint64_t space_ns;    /* when they were read last */
	uint64_t read_ns;     /* how long that took */
	VEC(uint32_t) spaces; /* versions, the latest last */
	uint64_t seen_ns;     /* time of its latest record */
	uint64_t start_boot_ns; /* /proc's start time: the number isn't another process's */
	/* When it is asked next whether it is still where it was, and .samples when it was last. */
	uint64_t facts_due_ns, facts_samples;
	/* When names of threads were looked for, 0 = never; the next time, 0 = no thread was met; and then? */
	uint64_t names_looked_ns, names_due_ns, names_apart_ns;
	VEC(struct py_code *) codes;
	struct map code_index; /* code_key() -> index + 1 in codes */
	uint8_t ended;	       /* flushes since its end, 0 = it runs */
	struct map threads;    /* tid -> index + 1 in collect.threads */
};

/* Are its native stacks unwound? */
static inline bool has_stacks(const struct process *p)
{
	return p->state == PROC_PYTHON || p->state == PROC_NATIVE;
}

struct thread {
	uint32_t tid;			/* 0: free */
	uint32_t process;		/* index */
	uint32_t labels[GIL_STATE_MAX]; /* profile ids, 0 = not made yet */
	bool own[GIL_STATE_MAX];	/* of those: no other thread's samples have it */
	uint64_t first_ns;		/* its CPU time where counting began, 0 = not yet */
	uint64_t last_ns;		/* at its last sample */
	uint64_t came, since;		/* samples from first_ns to last_ns; at last_ns */
	uint64_t ended_ns; /* 0 = it runs: from then on its number is another thread's */
	bool named;	   /* .name is Python's, else the kernel's */
	char name[64];
};

/* A thread ended of which no sample had been handed on: the side band is read before the samples are. */
struct thread_end {
	uint32_t tgid, tid;
	uint64_t time_ns;
};

#define STACK_UNNAMED	   0 /* no profile stack has this id */
#define STACK_NATIVE_SHIFT 32

/* A process that has ended: its place is another's when nothing can refer to it any more. */
struct forgotten {
	uint32_t process;
	uint64_t at_ns;
};

/* A stack whose code objects haven't all arrived. */
struct raw_stack {
	uint64_t id;
	uint32_t process; /* index */
	uint16_t n;
	uint8_t outcome;
	uint32_t flush; /* in which it came */
	struct wire_frame *frames;
	struct raw_native *native; /* NULL: none */
};

/* Native and kernel frames of a stack, as they came. */
struct raw_native {
	uint64_t id;
	uint32_t version; /* of the space that the addresses belong to */
	uint16_t n, n_kernel;
	uint8_t outcome;
	uint64_t pc[]; /* kernel frames, then native ones */
};

struct waiting {
	struct rec_sample rec;
	uint32_t process;
	uint32_t flush; /* in which it came */
};

struct collect {
	struct collect_config config;
	struct profile *profile;
	uint64_t start_boot_ns;		/* CLOCK_BOOTTIME of the profile's time 0 */
	VEC(struct image_file *) files; /* pointers: they stay valid while more are added */
	struct map file_index;		/* hash of dev and ino -> index + 1 */
	struct map taught;		/* executables of processes that there were at the start */
	VEC(struct process) processes;
	VEC(uint32_t) live; /* indices of processes that haven't been forgotten */
	struct map by_key;  /* hash of proc_key -> index + 1 */
	struct map by_tgid; /* -> index + 1 of the newest image */
	struct map execs;   /* tgid -> time of its latest exec that was seen */
	VEC(struct thread) threads;
	VEC(uint32_t) free_threads;	 /* indices */
	VEC(struct thread_end) ends;	 /* the first one first */
	VEC(struct forgotten) forgotten; /* the longest ago first */
	VEC(uint32_t) free_processes;	 /* indices */
	struct ended_threads {
		unsigned n;	       /* all that were given up */
		uint64_t cpu_ns, came; /* what they say of the rate */
		uint64_t at_ns;	       /* side band's time, when it was done last */
	} ended;
	struct sent_stacks *stacks_sent; /* NULL: none yet */
	struct sent_codes *codes_sent;
	uint32_t round;	   /* collect_condense() calls */
	size_t code_bytes; /* of all code objects */
	struct jit_reading {
		uint64_t first_ns, took_ns;
		size_t bytes;
	} jit_reading;	 /* of all processes' perf maps */
	uint64_t serial; /* of the last of them */
	struct known *known;
	struct map
		stacks; /* wire id -> STACK_UNNAMED: it is in raw; else profile stack id, above that native_outcome */
	VEC(struct raw_stack) raw;
	VEC(struct waiting) waiting;
	struct raw_native *native; /* the latest that came: of the stack that comes next */
	VEC(struct native_file *) natives;
	struct map native_index; /* hash of dev and ino -> index + 1 */
	struct map rowless;	 /* wire id of a stack that broke off for want of rows -> file */
	struct map
		registered;   /* wire id of a stack that registered.c knows -> plain one, version */
	bool registered_rows; /* some were ever in use */
	struct map spaces;    /* version -> struct space * */
	VEC(struct target_root) roots;
	uint32_t flushes;
	bool last;	/* it is the last flush */
	bool no_memory; /* for what a record says; the next flush fails */
	unsigned held;	/* image files whose .fd is open */
	VEC(struct trampoline) trampolines;
	uint32_t last_version;
	struct worker *worker; /* NULL: no native frames */
	struct kernel_names *kernel;
	bool kernel_tried;
	uint64_t kernel_retry_ns, kernel_wait_ns; /* its names aren't read again before */
	uint32_t marks;				  /* profile mapping of marks */
	VEC(struct collect_unsupported) unsupported;
	struct collect_stats stats;
};

/* process_table.c: the process of @key, made if it is new; index or negative. */
long process_of(struct collect *c, const struct proc_key *key);

/* The newest image of process @tgid, or NULL. */
struct process *process_newest(const struct collect *c, uint32_t tgid);

/* After each flush: forgets what only a process that has ended needed. */
void process_forget_ended(struct collect *c);

/* What it holds; its place can be another's then. */
void process_fini(struct collect *c, struct process *p);

/* process.c: the kernel met process @i: what it knows of it, or is asked. */
void process_met(struct collect *c, uint32_t i, const struct rec_proc *rec);

/*
 * Finds out what process @i runs and tells the kernel programs. @exe: its executable's key, or
 * NULL. 1 Python, 0 not (yet), -ENOTSUP, -errno.
 */
int process_examine(struct collect *c, uint32_t i, const struct exe_key *exe);

/* Its frames are of this Python: told by its record, or by a code object that came before that. */
void process_is_python(struct collect *c, struct process *p, uint16_t version);

/* @proc is the same process as @p, not another one with its number. */
bool process_is(const struct process *p, const struct proc *proc);

/* Is each process still wanted, or is it now, and in which control group? Looks once a second. */
void process_look_again(struct collect *c);

/* image.c: files are known by device and inode; another file may get the inode. */
uint64_t file_key(uint64_t dev, uint64_t ino);
struct stat;
struct file_version file_version_of(const struct stat *st);
int file_stat_mapping(const struct proc *proc, const struct mapping *m, struct stat *ret);
/*
 * False if @m is of another file than @was, or of other contents. @fd: the file, held open since it was read, or -1;
 * then, without rights for map_files: true.
 */
bool file_unchanged(int fd, const struct proc *proc, const struct mapping *m,
		    const struct file_version *was);

/* image.c: what is in the file behind @m, read once. 0, or as file_open_mapping(). */
_must_use_ int image_of(struct collect *c, const struct proc *proc, const struct mapping *m,
			const char *path, struct image_file **ret);

/* image.c: what is known for certain without a look at a process that maps it; NULL: nothing. */
const struct image_file *image_known(const struct collect *c, const struct mapping *m);

void image_file_free(struct image_file *f);

/* image.c: the key that the kernel knows this file by; -errno where it can't be told. */
int image_key(int fd, struct exe_key *ret);

/*
 * The same of an executable that nobody runs yet, with the key that the kernel will know it by. NULL
 * if the key can't be told, or is known already.
 */
struct image_file *image_of_fd(struct collect *c, int fd, const char *path, struct exe_key *key);

/*
 * The file with the interpreter and its lowest executable mapping: 1; 0 if there is none; -EPERM,
 * -EACCES with a message if none is found, but a file called python can't be looked into.
 */
_must_use_ int image_find(struct collect *c, const struct proc *proc, const struct maps *maps,
			  struct image_file **ret, const struct mapping **at);

/* Tells the kernel programs what running executable @exe means. @f NULL: not Python. */
void image_teach(struct collect *c, const struct proc *proc, const struct maps *maps,
		 const struct exe_key *exe, const struct image_file *f,
		 const struct py_where *where);

/*
 * Is @exe, a path, the interpreter's own program (Programs/python.c)? That initialises it once. Programs
 * with an interpreter in them may do it again, which begins the count of code objects anew.
 */
bool image_runs_once(const char *exe);

/* An executable that may still become Python: it is called so, or linked with libpython. */
bool image_may_come(struct collect *c, const struct proc *proc, const struct maps *maps,
		    const struct exe_key *exe);

/* jit.c: @proc is @p: looks for its perf map. */
void jit_open(struct collect *c, struct process *p, const struct proc *proc);
void jit_close(struct collect *c, struct process *p);
/* What @p calls the code at @pc, which begins at *start; NULL: nothing. Valid until asked again. */
const char *jit_name(struct collect *c, struct process *p, uint64_t pc, uint64_t *start);
/* @symbol: the name as its file has it, NULL = the same. */
uint32_t jit_location(struct collect *c, const char *name, const char *symbol, uint64_t start);

/*
 * registered.c: the symbol that covers the code at @pc in a file that the process registered, and where it
 * begins; NULL: none that is certain.
 */
const char *registered_name(struct collect *c, const struct raw_stack *raw, uint64_t pc,
			    uint64_t *start);
/* Is what there is to know of that known? It will be with one of the next flushes. */
bool registered_ready(struct collect *c, const struct raw_stack *raw, uint64_t pc);
uint32_t registered_location(struct collect *c, const char *symbol, uint64_t start);
/* The unwind table for the code in @m, if the process registered it. */
void registered_table(const struct process *p, struct space_map *m);
void registered_given_up(struct collect *c, uint32_t table);
/* So many of @raw's native frames were found without such a table; 0: all. */
size_t registered_until(const struct collect *c, const struct raw_stack *raw);
/* Whether such a table held can be told for each sample. */
bool registered_can_hold(const struct collect *c, const struct raw_stack *raw);
/*
 * @raw depends on what is registered; @plain: the stack that doesn't. @never: samples have that one. 0
 * or -ENOMEM.
 */
_must_use_ int registered_note(struct collect *c, const struct raw_stack *raw, uint32_t plain,
			       bool never);
/*
 * The stack of a sample whose stack was @named once: it, or the one that depends on nothing, and then
 * @w's outcome is its; 0: that isn't known yet.
 */
uint32_t registered_stack(struct collect *c, struct waiting *w, uint32_t named);
/* Reads what is wanted and may have changed; at the end of each flush. */
void registered_read(struct collect *c);
void registered_close(struct process *p);

/* guarded.c: a stack that was sampled with mappings @version broke off at @pc, which is in no file. */
void guarded_want(struct collect *c, uint32_t version, uint64_t pc);
/* Looks at what is wanted; at the end of each flush. */
void guarded_read(struct collect *c);
/* The first such code that begins in [start, end); NULL: none. */
const struct guarded_code *guarded_next(const struct process *p, uint64_t start, uint64_t end);
void guarded_given_up(struct collect *c, uint32_t table);
void guarded_close(struct process *p);

/* trampoline.c: the unwind table for the block at @start, 0 if it isn't one of trampolines. */
uint32_t trampoline_table(struct collect *c, const struct process *p, uint64_t start);
void trampoline_given_up(struct collect *c, uint32_t table);

/* kernel.c: profile location of the kernel's code at @pc. */
uint32_t kernel_location(struct collect *c, uint64_t pc);

/* space.c: the mappings of the process will be read. */
void space_wanted(struct collect *c, struct process *p, enum space_stale why);
/* Reads them now. */
void space_read(struct collect *c, struct process *p);
/* Reads what has changed; once a flush. */
void space_read_stale(struct collect *c);
void space_forget(struct collect *c, struct process *p);
/*
 * The file and the address in it of @process's native address @pc in space @version; NULL if not known. NO_PROCESS:
 * as that reading has it.
 */
#define NO_PROCESS UINT32_MAX
struct native_file *space_find(const struct collect *c, uint32_t version, uint32_t process,
			       uint64_t pc, uint64_t *vaddr);

/* The latest reading of @p, and any by its version; NULL: none. */
const struct space *space_latest(const struct collect *c, const struct process *p);
const struct space *space_at(const struct collect *c, uint32_t version);
/* @table is freed when the kernel program has mappings without it. */
void space_retire_table(struct process *p, uint32_t table);
void space_free_tables(struct collect *c, struct process *p);
const struct space_map *space_map_at(const struct space *s, uint64_t pc);
/* Something in [start, end) was made executable at @time_ns, since the latest reading or before. */
void space_made_executable(struct collect *c, const struct process *p, uint64_t start, uint64_t end,
			   uint64_t time_ns);

/* known.c: what was found of a place; an entry is zero but for its key where nothing is known. */
struct known_native {
	uint64_t vaddr;
	uint32_t file;	   /* its .index */
	uint32_t location; /* profile id */
	uint8_t is;	   /* set of enum native_is */
};
struct known_python {
	uint64_t code; /* its .serial */
	int32_t lasti;
	uint32_t location;
};
struct known *known_new(void);
struct known_native *known_native(struct collect *c, const struct native_file *f, uint64_t vaddr);
struct known_python *known_python(struct collect *c, const struct py_code *code, int lasti);
/* Profile ids have changed, or what names come from. */
void known_forget(struct collect *c);

/* native_file.c: the file behind @m, opened when it is met first; NULL if it can't be. */
struct native_file *native_file_of(struct collect *c, const struct proc *proc,
				   const struct mapping *m, const char *path, uint32_t *index);
void native_file_free(struct native_file *f);
/* Was it written to since it was opened (cp over it)? What was read of it then belongs to no mapping. Threads may ask. */
bool native_file_changed(const struct native_file *f);

/* root.c: is @fd on the mount of krait's own root directory, which nobody unmounts? */
bool root_has(int fd);

/* root.c: descriptor of the root directory of @proc, kept; -1: krait's own, or there are too many. */
int root_of(struct collect *c, const struct proc *proc);
bool native_file_vaddr(const struct native_file *f, uint64_t offset, uint64_t *vaddr);
/* What is at an address. */
struct native_name {
	const char *text; /* NULL: no name; valid as long as the file */
	bool symbol;	  /* it is the file's symbol, else what Python code calls it */
	uint64_t
		start; /* vaddr that stands for the function: itself, or its beginning if unnamed */
};
struct native_name native_file_name(struct native_file *f, uint64_t vaddr);

/* Which of the functions that matter where stacks are merged is at @vaddr: a set, 0 = none of them. */
enum native_is {
	IS_MACHINERY = 1 << 0, /* machinery.h, in a file that holds an interpreter */
	IS_EVAL_2 = 1 << 1,
	IS_EVAL_3 = 1 << 2,
	IS_GREENLET_START = 1 << 3, /* greenlet.h */
	IS_GREENLET_SWITCH = 1 << 4,
	IS_GREENLET_EXPOSING = 1 << 5,
	IS_KNOWN = 1 << 7, /* always */
};
uint8_t native_file_is(struct collect *c, struct native_file *f, uint64_t vaddr);

/* Profile location of the code at @vaddr; in a stack its .outer ones follow it. */
uint32_t native_file_location(struct collect *c, struct native_file *f, uint64_t vaddr);

/* What is compiled from a file. */
typedef VEC(struct unwind_fde) fde_vec;
struct native_rows {
	struct unwind_rows rows;
	fde_vec eval;  /* of the evaluation loop */
	bool compiled; /* they weren't in the cache */
	bool partial;  /* there is much code without unwind information: native_rows_prove() */
};

/* native_rows.c: a stack needs its rows. */
void native_rows_want(struct collect *c, struct native_file *f);
/* They are being made, or more of them. */
static inline bool native_rows_coming(const struct native_file *f)
{
	return f->rows == ROWS_ASKED || f->proving;
}

/* The work itself, in a thread: reads what never changes of @f. @cache may be NULL. 0 or -errno + message. */
_must_use_ int native_rows_compile(const struct native_file *f, struct unwind_cache *cache,
				   struct native_rows *ret);
void native_rows_fini(struct native_rows *r);
/* Adds to partial ones what instructions prove, in a thread. 0 or -errno + message. */
_must_use_ int native_rows_prove(const struct native_file *f, struct native_rows *rows);
/* Hands them to the kernel program; in a thread too, with .fills_aside. 0 or -errno + message. */
_must_use_ int native_rows_fill(const struct collect_config *config, const struct native_file *f,
				const struct native_rows *rows);
/* Puts them into the cache, in a thread. 0 or -errno + message. */
_must_use_ int native_rows_keep(const struct native_file *f, struct unwind_cache *cache,
				const struct native_rows *rows);
/* Takes note of what came of that; @why: message for @r. */
void native_rows_take(struct collect *c, struct native_file *f, struct native_rows *rows, int r,
		      const char *why);
/* The same of rows that were partial, and were filled as such. */
void native_rows_take_proven(struct collect *c, struct native_file *f, struct native_rows *rows,
			     int r, const char *why);
/* Takes note of rows that were given up; once a flush. */
void native_rows_given_up(struct collect *c);

/* native_work.c: a thread compiles, or reads symbols; taken over by native_work_take(). */
void native_work_rows(struct collect *c, struct native_file *f);
void native_work_names(struct collect *c, struct native_file *f);
void native_work_list(struct collect *c, struct native_file *f);
/* What has been done; once a flush. @all: waits until everything is. */
void native_work_take(struct collect *c, bool all);
void native_work_fini(struct collect *c);

/* merge.c: is what names the native frames of @raw there? It is asked for if not. */
bool merge_ready(struct collect *c, const struct raw_stack *raw);
/* Puts the native and kernel frames of @raw into the list of its Python frames. */
struct merged {
	VEC(uint32_t) loc; /* profile locations, innermost first */
	bool failed;
	bool plain;		    /* set by the caller: without names by registered.c */
	bool registered;	    /* there is one of these */
	enum native_outcome native; /* how the native part ended, as it is shown */
};
/* Adds Python frames [from, to) of the stack. */
typedef void merge_python_fn(void *arg, size_t from, size_t to);
void merge_stack(struct collect *c, const struct raw_stack *raw, bool counted, merge_python_fn *fn,
		 void *arg, struct merged *ret);

/* import.c: a module's body in a list of locations, and what the module is called. */
struct import_body {
	size_t at;
	const char *module;
};
typedef VEC(struct import_body) import_bodies;
/* Of the list @loc: what imported each of @bodies (ascending) becomes one frame, `import NAME`. 0 or -ENOMEM. */
_must_use_ int import_fold(struct collect *c, uint32_t python, const import_bodies *bodies,
			   struct merged *loc);

/* stack.c: a location that is a mark. */
uint32_t stack_mark(struct collect *c, const char *text);

/* Key of a code object among its process's. */
static inline uint64_t code_key(uint64_t code, uint64_t check)
{
	return code ^ check * 0x9e3779b97f4a7c15ull;
}

/* sent.c: a named stack, a code object came or is used: what hasn't been for long is given up. */
void sent_stack(struct collect *c, uint64_t id);
void sent_code(struct collect *c, uint32_t process, uint64_t code, uint64_t check);
/* A code object isn't needed any more: that of @p at @i; its memory alone. */
void sent_drop_code(struct collect *c, struct process *p, size_t i);
void sent_free_code(struct collect *c, struct py_code *code);
void sent_fini(struct collect *c);

/* thread.c: profile labels of the sampled thread; notes what it ran. */
uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec);

/* thread.c: @p's labels aren't what they were. */
void thread_forget_labels(struct collect *c, struct process *p);

/* thread.c: the side band's word on a thread: it ended, the kernel's name of it changed. */
void thread_ended(struct collect *c, const struct process *p, uint32_t tid, uint64_t time_ns);
void thread_comm(struct collect *c, const struct process *p, uint32_t tid, const char *comm);

/* thread.c: adds what the threads ran, and the samples of that time, to cpu_ns and came. */
void thread_runtimes(const struct collect *c, struct collect_stats *ret);

/* thread.c: Python's names for threads met since the last time; @last: once more for all. */
void thread_names(struct collect *c, bool last);

/* thread.c: those that ended long ago make room for others; @now_ns: of a side band's event. */
void thread_give_up(struct collect *c, uint64_t now_ns);
/* thread.c: the process is forgotten. */
void thread_forget_all(struct collect *c, struct process *p);

/* stack.c: profile stack of frames with marks; 0 while a code object is missing and not @last. */
uint32_t stack_name(struct collect *c, const struct raw_stack *raw, bool last,
		    enum native_outcome *native);
uint32_t stack_mark_only(struct collect *c, uint8_t outcome, const struct process *p);

#endif
