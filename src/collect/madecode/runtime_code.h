/* SPDX-License-Identifier: BSD-2-Clause */
/* Native code that lies in no file: what perf maps, gdb's interface and its own bytes say of it. */
#ifndef COLLECT_RUNTIME_CODE_H
#define COLLECT_RUNTIME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/space/space.h"
#include "unwind/rows/rows.h"

struct collect;
struct collect_stats;
struct process;
struct raw_stack;
struct waiting;

/* Copies of a stub that CPython enters Python functions through, from this version on; see trampoline.c. */
#define TRAMPOLINES	 0x30c
#define TRAMPOLINE_BYTES (64u << 10) /* of a block of them */
struct trampoline {
	uint8_t bytes[64], n;
	uint16_t period;
	uint32_t table;
};

#define GUARDED_WANTED 16

/* A piece of what CPython 3.14's compiler made; see executors.c. */
struct executor {
	uint64_t start;
	size_t bytes;
	uint64_t check; /* of them */
	struct unwind_rows rows;
};
typedef VEC(struct executor) executor_vec;
/* A stretch of such code that is understood. */
struct compiled_code {
	uint64_t start, end;
};

#define REGISTERED_LISTS 4

/* What a process had registered for gdb, and its Python compiled; see registered.c. */
struct reading {
	struct gdb_jit *jit;		    /* NULL: none */
	VEC(struct compiled_code) compiled; /* ascending, not overlapping */
	uint64_t lists[REGISTERED_LISTS];   /* that were known, then 0 */
	bool partial;			    /* there is more code of Python's compiler */
	uint64_t from_ns, to_ns;
	VEC(struct unwind_place) code; /* what was lasting at the end */
	struct unwind_rows rows;       /* of that */
	uint32_t table;		       /* with them, 0 = none */
};
struct registered {
	bool wanted;	   /* code without a name was met */
	uint32_t searched; /* version of the mappings whose files were looked into for lists */
	uint64_t at[REGISTERED_LISTS]; /* their descriptors */
	size_t n;
	struct reading readings[2]; /* the latest first */
	executor_vec executors;	    /* of the latest */
	uint64_t due_ns;
	bool cut;	  /* a reading left something out, for want of work */
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

/* jit.c: @proc is @p: looks for its perf map. */
void jit_open(struct collect *c, struct process *p, const struct proc *proc);
/* It has the file @path mapped, at @m: is it a jitdump? */
void jit_mapped(struct collect *c, struct process *p, const struct proc *proc,
		const struct mapping *m, const char *path);
/* What of its map made no sense, added to @ret. */
void jit_stats(const struct process *p, struct collect_stats *ret);
void jit_close(struct collect *c, struct process *p);

/* A flush begins: so much may be read with it. */
void jit_flush(struct collect *c);
/* What @p calls the code at @pc, which begins at *start; NULL: nothing. Valid until asked again. */
const char *jit_name(struct collect *c, struct process *p, uint64_t pc, uint64_t *start);
/*
 * @symbol: the name as its file has it, NULL = the same. @offset: where the function begins in its
 * mapping. Where that is in memory is the process's own affair: a recording may be read by others.
 */
uint32_t jit_location(struct collect *c, const char *name, const char *symbol, uint64_t offset);

/*
 * registered.c: the symbol that covers the code at @pc in a file that the process registered, and where it
 * begins; NULL: none that is certain.
 */
const char *registered_name(struct collect *c, const struct raw_stack *raw, uint64_t pc,
			    uint64_t *start);
/* Is what there is to know of that known? It will be with one of the next flushes. */
bool registered_ready(struct collect *c, const struct raw_stack *raw, uint64_t pc);
uint32_t registered_location(struct collect *c, const char *symbol, uint64_t offset);
/* The unwind table for the code in @m, if the process registered it. */
void registered_table(const struct process *p, struct space_map *m);
void registered_given_up(struct collect *c, uint32_t table);
/* So many of @raw's native frames were found without such a table; 0: all. */
size_t registered_until(const struct collect *c, const struct raw_stack *raw);
/* Whether such a table held can be told for each sample. */
bool registered_can_hold(const struct collect *c, const struct raw_stack *raw);
/*
 * @raw depends on what is registered; @plain: the stack that doesn't, whose native part ended with @outcome. @never:
 * samples have that one. 0 or -ENOMEM.
 */
_must_use_ int registered_note(struct collect *c, const struct raw_stack *raw, uint32_t plain,
			       enum native_outcome outcome, bool never);

/*
 * The stack of a sample whose stack was @named once: it, or the one that depends on nothing; then *native, how that
 * ended, becomes how this one does. 0: that isn't known yet.
 */
uint32_t registered_stack(struct collect *c, const struct waiting *w, uint32_t named,
			  uint8_t *native);
/* Reads what is wanted and may have changed, at the end of each flush: of one process, of others up to @until_ns. */
void registered_read(struct collect *c, uint64_t until_ns);
void registered_close(struct process *p);

/* Memory of what is known of a process's code; all of that is given up for others, and read again some seconds later. */
size_t registered_bytes(const struct process *p);
void registered_give_up(struct collect *c, struct process *p);

/* executors.c: may there be some? */
bool executors_possible(const struct collect *c, const struct process *p);
/* Adds them to @ret, whose .code is read, and their rows, which stay @p's, to @files. 0 or -ENOMEM. */
_must_use_ int executors_read(struct collect *c, struct process *p, struct reading *ret,
			      unwind_rows_vec *files);
/* Is the code at @pc one's? Then where it begins, as far as it is understood. */
bool executors_hold(const struct reading *r, uint64_t pc, uint64_t *start);
void executors_close(struct process *p);

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
/* Is @pc, sampled with mappings @version, in such a block? */
bool trampoline_at(const struct collect *c, uint32_t version, uint64_t pc);
void trampoline_given_up(struct collect *c, uint32_t table);

#endif
