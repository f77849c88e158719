/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native code that lies in no file. Each kind of it is a code_source, which says what the code is
 * called, how it is unwound, and when that may have changed.
 */
#ifndef COLLECT_MADECODE_MADE_H
#define COLLECT_MADECODE_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/vec.h"
#include "collect/common/raw.h"
#include "collect/space/space.h"
#include "profile/condense.h"
#include "unwind/rows/rows.h"

/* What code at some address is called. */
struct made_name {
	const char *text;   /* as its process calls it; NULL: it has no name, or .symbol */
	const char *symbol; /* of a file that its process registered */
	uint64_t start;	    /* of the function, if there is a name */
	bool machinery;	    /* it is the interpreter's own, and has no name */
};

/* One kind of such code. What a kind doesn't do is NULL. */
struct code_source {
	/* A mapping is read; see struct space_code. */
	void (*met)(struct collect *c, struct process *p, const struct proc *proc,
		    const struct mapping *m, const char *path, bool is_file);
	uint64_t (*until)(const struct process *p, const struct mapping *m, uint64_t at);
	void (*table)(struct collect *c, struct process *p, const struct mapping *m,
		      struct space_map *part);
	const struct space_part *(*next)(const struct process *p, uint64_t start, uint64_t end);
	/* A stack of @raw broke off at @pc, or has @pc: is there what is to be known of it? */
	bool (*ready)(struct collect *c, const struct raw_stack *raw, uint64_t pc);
	/* True if it knows the code at @pc of @raw. */
	bool (*name)(struct collect *c, const struct raw_stack *raw, uint64_t pc,
		     struct made_name *ret);
	bool dated; /* a name holds only for some samples: registered_stack() says for which */
	/*
	 * At the end of each flush: reads what may have changed, at least in one process, and in
	 * others until @until_ns.
	 */
	void (*refresh)(struct collect *c, uint64_t until_ns);
	/* The kernel's maps gave up @table, which may be of this kind. */
	void (*given_up)(struct collect *c, uint32_t table);
	/* The process is forgotten. Called again at its end. */
	void (*close)(struct collect *c, struct process *p);
};

/* The first that knows some code names it. */
extern const struct code_source jit_source, trampoline_source, registered_source, executors_source,
	guarded_source;

/* All of them, as the functions above. */
extern const struct space_code made_code_of_spaces;
bool made_ready(struct collect *c, const struct raw_stack *raw, uint64_t pc);
/* @plain: without those that are .dated; *dated: such a source named it. */
void made_name(struct collect *c, const struct raw_stack *raw, uint64_t pc, bool plain,
	       struct made_name *ret, bool *dated);
void made_refresh(struct collect *c, uint64_t until_ns);
void made_given_up(struct collect *c, uint32_t table);
void made_close(struct collect *c, struct process *p);

/* Profile location of the code that is called @name, @offset bytes into its mapping. */
uint32_t made_location(struct collect *c, const struct made_name *name, uint64_t offset);

/* With -X perf CPython enters Python functions through copies of a stub; see trampoline.c. */
#define TRAMPOLINE_BYTES (64u << 10) /* of a block of them */

#define GUARDED_WANTED	 16

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

/* Code that is unwound as its bytes say; see guarded.c. */
struct guarded {
	VEC(struct space_part) code;	 /* whole pages, not overlapping; the oldest first */
	uint64_t wanted[GUARDED_WANTED]; /* addresses at which a stack broke off */
	size_t n_wanted;
	uint64_t due_ns; /* when it may be looked at again */
};

/* A process's perf map and jitdumps; see jit.c. */
struct jit {
	struct perf_map *map; /* NULL: not found (yet) */
	uint64_t looked_ns;   /* when it was looked at last */
	uint8_t tries;	      /* to open one that isn't there */
	uint64_t due_ns;      /* not before that again */
	size_t bytes;	      /* of .map, as counted */
	bool refused, dumped; /* a jitdump that it had mapped was looked at */
};

/* Of a process. */
struct made_code {
	struct jit jit;
	struct registered registered;
	struct guarded guarded;
};

/* Of all of them. */
struct made {
	struct jit_reading *maps;	   /* jit.c */
	struct registered_all *registered; /* registered.c */
	struct trampolines *trampolines;   /* trampoline.c */
};

struct registered_all {
	struct map by_stack; /* wire id of a stack that has such code -> see registered_stacks.c */
	bool rows;	     /* some were ever in use */
	size_t turn;	     /* in .live: whose are read next */
	uint64_t due_ns;     /* not before that */
};

/* False: out of memory. */
_must_use_ bool made_init(struct collect *c);
void made_fini(struct collect *c);
_must_use_ bool jit_init(struct collect *c);
void jit_fini(struct collect *c);
_must_use_ bool registered_init(struct collect *c);
void registered_fini(struct collect *c);
_must_use_ bool trampolines_init(struct collect *c);
void trampolines_fini(struct collect *c);

/* jit.c: what of its map made no sense, added to @ret. */
void jit_stats(const struct process *p, struct collect_stats *ret);
/* A flush begins: so much may be read with it. */
void jit_flush(struct collect *c);
/* What @p calls the code at @pc, which begins at *start; NULL: nothing. Valid until asked again. */
const char *jit_name(struct collect *c, struct process *p, uint64_t pc, uint64_t *start);
/* registered_stacks.c: so many of @raw's native frames were found without such a table; 0: all. */
size_t registered_until(const struct collect *c, const struct raw_stack *raw);
/* Whether such a table held can be told for each sample. */
bool registered_can_hold(const struct collect *c, const struct raw_stack *raw);
/*
 * Notes that the name of @raw depends on registered code. @plain: its stack without that, whose
 * native part ended with @outcome. @never: all samples have the plain stack. 0 or -ENOMEM.
 */
_must_use_ int registered_note(struct collect *c, const struct raw_stack *raw, uint32_t plain,
			       enum native_outcome outcome, bool never);

/*
 * The stack of a sample: @named, or the plain stack if what was registered may not hold for this
 * sample. Then *native becomes how the plain one ended. 0: that isn't known yet.
 */
uint32_t registered_stack(struct collect *c, const struct waiting *w, uint32_t named,
			  uint8_t *native);
/* Stack @id isn't remembered any more. */
void registered_forget_stack(struct collect *c, uint64_t id);
/* Takes the ids that a condensed profile has. False: out of memory. */
_must_use_ bool registered_condense(struct collect *c, struct condense *k);
/* The first reading of all needn't be late because others took long: nothing was sampled yet. */
void registered_begin(struct collect *c);
void registered_close(struct process *p);

/*
 * reading.c: the mapping with the code at @pc of @raw, if what is registered may name it; *s: the
 * space that it belongs to. The latest reading whose names hold for the code at @pc of @m, or of
 * @raw. NULL: none.
 */
const struct space_map *reading_map(struct collect *c, const struct raw_stack *raw, uint64_t pc,
				    const struct space **s);
const struct reading *reading_of(const struct process *p, const struct space_map *m, uint64_t pc);
const struct reading *reading_of_stack(struct collect *c, const struct raw_stack *raw, uint64_t pc);

/*
 * registered.c: bytes that are kept of a process's code. registered_give_up() frees all of that for others; it
 * is read again some seconds later.
 */
size_t registered_bytes(const struct process *p);
void registered_give_up(struct collect *c, struct process *p);

/* executors.c: may there be some? */
bool executors_possible(const struct collect *c, const struct process *p);
/*
 * Adds them to @ret, whose .code was read before, and their rows to @files. The rows stay the
 * process's. 0 or -ENOMEM.
 */
_must_use_ int executors_read(struct collect *c, struct process *p, struct reading *ret,
			      unwind_rows_vec *files);
/* Is the code at @pc one's? Then where it begins, as far as it is understood. */
bool executors_hold(const struct reading *r, uint64_t pc, uint64_t *start);
void executors_close(struct process *p);

/* guarded.c: a stack broke off at @pc, which is in no file of mappings @version. */
void guarded_want(struct collect *c, uint32_t version, uint64_t pc);

#endif
