/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native code that lies in no file. There are several kinds of it, and each kind is a code_source:
 * it finds the code's names and unwind rows, and knows when these may have changed.
 */
#ifndef COLLECT_MADECODE_MADE_H
#define COLLECT_MADECODE_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/work/slice.h"
#include "base/vec.h"
#include "collect/common/raw.h"
#include "collect/space/space.h"
#include "profile/remake/rebase.h"
#include "unwind/rows/rows.h"

/* The name of code that lies at some address. */
struct made_name {
	/*
	 * name that the process gives to the code; NULL: the process gives none, or the name is in
	 * .symbol
	 */
	const char *text;
	/*
	 * name that is a symbol of an ELF file which the process registered; NULL: there is no such
	 * symbol
	 */
	const char *symbol;
	uint64_t start; /* address where the named function begins */
	/* the code has no name, and is machinery of the interpreter (functions that are hidden) */
	bool machinery;
	bool pythons; /* CPython made the code to run Python functions */
};

/* One kind of code made at run time. A function that a kind doesn't need is NULL. */
struct code_source {
	/*
	 * init() makes the state of this kind for all processes; false: out of memory. fini() frees
	 * it.
	 */
	bool (*init)(struct collect *c);
	void (*fini)(struct collect *c);
	/*
	 * Called when a process's mappings are read. struct space_code has functions of the same
	 * names and describes them.
	 */
	void (*met)(struct collect *c, struct process *p, const struct proc *proc,
		    const struct mapping *m, const char *path, bool is_file);
	uint64_t (*until)(const struct process *p, const struct mapping *m, uint64_t at);
	void (*table)(struct collect *c, struct process *p, const struct mapping *m,
		      struct space_map *part);
	const struct space_part *(*next)(const struct process *p, uint64_t start, uint64_t end);
	/*
	 * Stack @raw has code at @pc, or broke off there. Does this kind know all about that code
	 * that it can find out? The stack gets its name only once all kinds say yes.
	 */
	bool (*ready)(struct collect *c, const struct raw_stack *raw, uint64_t pc);
	/* Sets *ret, and returns true, if this kind knows the code at @pc in stack @raw. */
	bool (*name)(struct collect *c, const struct raw_stack *raw, uint64_t pc,
		     struct made_name *ret);
	/*
	 * names of this kind may hold for only some samples of a stack; dated_stack() tells for
	 * which
	 */
	bool dated;
	/*
	 * A stack broke off at @pc, which lies in no file of space @version (a reading of the
	 * mappings): asks this kind to look at the code there.
	 */
	void (*want)(struct collect *c, uint32_t version, uint64_t pc);
	/*
	 * expect() and begin() are called before sampling. expect() notes whether @p, whose
	 * mappings were read, may have such code. begin() is called when all is prepared. begin()
	 * makes the next readings due at once, however long earlier readings took.
	 */
	void (*expect)(struct collect *c, struct process *p);
	void (*begin)(struct collect *c);
	/*
	 * wanted(): may @p have code of this kind? unread(): may @p have such code, and was nothing
	 * of it read yet?
	 */
	bool (*wanted)(const struct process *p);
	bool (*unread)(const struct process *p);
	/* Called when collect_flush() begins: sets how much work may be done in this call. */
	void (*flush)(struct collect *c);
	/*
	 * Called at the end of each collect_flush(): reads again what may have changed, of at least
	 * one process, and of further processes until @until_ns (CLOCK_MONOTONIC).
	 */
	void (*refresh)(struct collect *c, uint64_t until_ns);
	/*
	 * Called when @table was dropped from the kernel's maps: finds out whether it was a table
	 * of this kind.
	 */
	void (*given_up)(struct collect *c, uint32_t table);
	/*
	 * bytes(): how many bytes are kept of a process that could be freed and read again.
	 * read_at(): how often collect_flush() had been called (collect.flushes) when these bytes
	 * were read. give_up(): frees these bytes to make room; they are read again some seconds
	 * later.
	 */
	size_t (*bytes)(const struct process *p);
	uint32_t (*read_at)(const struct process *p);
	void (*give_up)(struct collect *c, struct process *p);
	/* Adds to *ret how much of @p's code was malformed, dropped or not read. */
	void (*stats)(const struct process *p, struct collect_stats *ret);
	/*
	 * Frees what is kept of a process. Called when the process is forgotten, and again when its
	 * entry is reused or the collector ends.
	 */
	void (*close)(struct collect *c, struct process *p);
};

/*
 * The kinds of code made at run time. If several kinds know some code, the first kind in this list
 * names the code.
 */
extern const struct code_source jit_source, trampoline_source, registered_source, executors_source,
	guarded_source;

/* The functions below call the functions of the same names in struct code_source, for all kinds. */
extern const struct space_code made_code_of_spaces;
bool made_ready(struct collect *c, const struct raw_stack *raw, uint64_t pc);
/*
 * Finds the name of code. @plain: kinds with .dated (names that may hold for only some samples)
 * aren't asked. *dated is set if a kind with .dated named the code.
 */
void made_name(struct collect *c, const struct raw_stack *raw, uint64_t pc, bool plain,
	       struct made_name *ret, bool *dated);
void made_want(struct collect *c, uint32_t version, uint64_t pc);
void made_expect(struct collect *c, struct process *p);
void made_begin(struct collect *c);
bool made_wanted(const struct process *p);
bool made_unread(const struct process *p);
void made_flush(struct collect *c);
void made_refresh(struct collect *c, uint64_t until_ns);
void made_given_up(struct collect *c, uint32_t table);
size_t made_bytes(const struct process *p);
void made_stats(const struct process *p, struct collect_stats *ret);
void made_close(struct collect *c, struct process *p);
/*
 * Frees what one kind of code keeps of one process: the kind and process whose data was read
 * longest ago. Returns how many bytes were freed; 0: nothing is kept.
 */
size_t made_give_up(struct collect *c);

/*
 * Trampolines: with -X perf, CPython enters Python functions through copies of one stub
 * (trampoline.c).
 */
#define TRAMPOLINE_BYTES (64u << 10) /* bytes of one block of trampolines */

#define GUARDED_WANTED	 16

/* An executor: a piece of code that the JIT compiler of CPython 3.14 made; see executors.c. */
struct executor {
	uint64_t start;
	size_t bytes;
	uint64_t check; /* check_bytes() of the executor's code */
	struct unwind_rows rows;
};
typedef VEC(struct executor) executor_vec;
/* A range of code of CPython's JIT compiler that has unwind rows. */
struct compiled_code {
	uint64_t start, end;
};

#define REGISTERED_LISTS 4

/*
 * What one reading of a process found: code that the process had registered for gdb, and code of
 * CPython's JIT compiler; see registered.c.
 */
struct reading {
	struct gdb_jit *jit; /* the registered code; NULL: this struct holds no reading */
	/* ranges of code of CPython's JIT compiler, ascending, not overlapping */
	VEC(struct compiled_code) compiled;
	/* addresses of gdb's lists that were known at this reading; unused entries are 0 */
	uint64_t lists[REGISTERED_LISTS];
	/* some code of CPython's JIT compiler wasn't analysed */
	bool partial;
	uint64_t from_ns, to_ns;
	/*
	 * the mappings that the process had when the reading ended, as far as their code can't
	 * change without a report by perf (mapping_is_lasting()); and which offsets their code has
	 * in .rows
	 */
	VEC(struct unwind_place) code;
	struct unwind_rows rows; /* unwind rows of the code in .code */
	uint32_t table;		 /* number of the table that has .rows; 0: none */
};
struct registered {
	bool wanted; /* a stack has code without a name, so krait has to read gdb's lists */
	/* version of the mappings (space) whose files were all searched for a list of gdb's */
	uint32_t searched;
	/* addresses of the descriptors of gdb's lists, in the process */
	uint64_t at[REGISTERED_LISTS];
	size_t n;
	struct reading readings[2]; /* the two latest readings, the latest first */
	/* the executors (pieces of JIT code) that the latest reading found */
	executor_vec executors;
	uint64_t due_ns;
	/* stats.lists_cut has counted this process already: a list was too long to be read whole */
	bool cut;
	unsigned tries; /* how many readings have failed since the last one that succeeded */
	/*
	 * how often collect_flush() had been called (collect.flushes) when all registered code of
	 * the process was last read
	 */
	uint32_t read_at;
};

/*
 * The guarded code of a process (code that lies in no file, whose unwind rows hold only as long as
 * its bytes stay the same), and where more guarded code may be; see guarded.c.
 */
struct guarded {
	/* guarded functions, each as whole pages; they don't overlap; the oldest is first */
	VEC(struct space_part) code;
	/* addresses at which stacks broke off, where guarded code may be */
	uint64_t wanted[GUARDED_WANTED];
	size_t n_wanted;
	uint64_t due_ns; /* .wanted isn't looked at before this time (CLOCK_MONOTONIC) */
};

/* The perf map and the jitdumps of a process; see jit.c. */
struct jit {
	struct perf_map *map; /* contents of the files; NULL: no file was found (yet) */
	uint64_t looked_ns;   /* when the files were last looked for or read, CLOCK_MONOTONIC */
	uint8_t tries;	      /* how often a perf map was looked for in vain */
	uint64_t due_ns;      /* the files aren't read again before this time (CLOCK_MONOTONIC) */
	size_t bytes;	      /* how many bytes of .map are counted in collect.kept.maps */
	/*
	 * .refused: the perf map may not be used; .dumped: a mapped jitdump was found, and krait
	 * tried to open it
	 */
	bool refused, dumped;
};

/* What is known of one process's code that lies in no file. */
struct made_code {
	struct jit jit;
	struct registered registered;
	struct guarded guarded;
};

/* Stacks whose names hold for only some of their samples (code_source.dated). */
struct dated {
	/*
	 * the id that records have for a stack (wire id) -> what dated.c notes of the stack, packed
	 * into 64 bits
	 */
	struct map by_stack;
	bool rows; /* the kernel's maps have had unwind rows of such code at some time */
};

/* The state of each kind of code made at run time, for all processes together. */
struct made {
	struct dated dated;
	struct jit_reading *maps;	   /* state of jit.c */
	struct registered_all *registered; /* state of registered.c */
	struct trampolines *trampolines;   /* state of trampoline.c */
};

struct registered_all {
	/* the process whose registered code is read next, as an index into processes.live */
	size_t turn;
	uint64_t due_ns; /* registered code isn't read before this time (CLOCK_MONOTONIC) */
};

/* Makes the state of this folder. False: out of memory. */
_must_use_ bool made_init(struct collect *c);
void made_fini(struct collect *c);

/*
 * jit.c: returns the name that @p gives to the code at @pc, valid until the next call; NULL: it has
 * no name. *start: where that code begins.
 */
const char *jit_name(struct collect *c, struct process *p, uint64_t pc, uint64_t *start);
/*
 * dated.c: returns how many of @raw's innermost native frames were unwound without a table of
 * registered code; 0: all of them.
 */
size_t dated_until(const struct collect *c, const struct raw_stack *raw);
/*
 * Does krait know for each sample of @raw whether the unwind tables that programs register with gdb
 * for their generated code were valid when the sample was taken?
 */
bool dated_can_hold(const struct collect *c, const struct raw_stack *raw);
/*
 * Notes that the name of stack @raw depends on registered code. @plain: the plain stack, which has
 * neither names nor unwind rows of registered code; @outcome: how its native part ended. @never:
 * all samples get the plain stack. 0 or -ENOMEM.
 */
_must_use_ int dated_note(struct collect *c, const struct raw_stack *raw, uint32_t plain,
			  enum native_outcome outcome, bool never);

/*
 * Returns the stack that sample @w gets: @named, or the plain stack (without names of registered
 * code) if the code may have been registered only after the sample was taken. For the plain stack,
 * *native is set to the outcome of its native part. 0: that can't be decided yet.
 */
uint32_t dated_stack(struct collect *c, const struct waiting *w, uint32_t named, uint8_t *native);
/* Forgets what dated_note() has noted for the stack that has @id in records (its wire id). */
void dated_forget(struct collect *c, uint64_t id);
/*
 * Replaces the profile ids that dated_note() keeps by the profile's new ids (collect_rebase()).
 * False: out of memory.
 */
_must_use_ bool dated_rebase(struct collect *c, struct rebase *r);

/*
 * reading.c. reading_read(): reads gdb's lists within a slice (a bound of work). If the slice ends
 * early, the next readings go on from there. A list that is too long even for several readings is
 * cut, which is counted once for each process. 0 or -errno.
 */
_must_use_ int reading_read(struct collect *c, struct process *p, struct reading *ret);
/* Do the process's lists of registered code still look as they did when reading @r was made? */
bool reading_looks_same(const struct process *p, const struct reading *r);
size_t reading_bytes(const struct reading *r);
void reading_fini(struct reading *r);
/*
 * reading_map(): returns the mapping with the code at @pc of stack @raw if registered code may lie
 * in it, else NULL; *s: the reading of the mappings (space) that has it. reading_of(): returns the
 * latest reading of @p whose names hold for the code at @pc in mapping @m; NULL: none.
 * reading_of_stack(): returns the reading for the code at @pc of stack @raw, in the mapping that
 * reading_map() finds.
 */
const struct space_map *reading_map(struct collect *c, const struct raw_stack *raw, uint64_t pc,
				    const struct space **s);
const struct reading *reading_of(const struct process *p, const struct space_map *m, uint64_t pc);
const struct reading *reading_of_stack(struct collect *c, const struct raw_stack *raw, uint64_t pc);

/* executors.c: tells whether the process may have code of CPython 3.14's JIT compiler. */
bool executors_possible(const struct collect *c, const struct process *p);
/*
 * Adds the executors found in @ret->code to @ret, and their rows to @files. The process keeps
 * ownership of the rows. 0 or -ENOMEM.
 */
_must_use_ int executors_read(struct collect *c, struct process *p, struct reading *ret,
			      unwind_rows_vec *files);
/*
 * Does the code at @pc belong to an executor (piece of JIT code) that has unwind rows? *start:
 * where the range of code with rows begins.
 */
bool executors_hold(const struct reading *r, uint64_t pc, uint64_t *start);
void executors_close(struct process *p);

#endif
