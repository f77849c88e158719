/* SPDX-License-Identifier: BSD-2-Clause */
/* A space: the executable mappings of a process, as they were read at one time. */
#ifndef COLLECT_SPACE_SPACE_H
#define COLLECT_SPACE_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/native/native.h"
#include "collect/process/process.h"
#include "proc/read/maps.h"

struct collect;
struct process;

/* An executable mapping of a process, or a part of such a mapping. */
struct space_map {
	uint64_t start, end;
	uint64_t vaddr; /* the vaddr in the file that is mapped at .start */
	/* number of the mapped file for native_file_at(); 0: there is no file, or it isn't known */
	uint32_t file;
	uint32_t table; /* number of the unwind table of a mapping without a file; 0: none */
	uint32_t key;	/* offset of .start in the code that .table describes */
	/*
	 * .table has unwind rows of code that the process registered for gdb, and is valid until
	 * .remade_ns
	 */
	bool registered;
	bool lasting; /* mapping_is_lasting() is true for the mapping */
	/*
	 * if .lasting: the times (CLOCK_MONOTONIC) between which the mapping held the same code;
	 * .remade_ns UINT64_MAX: it still does
	 */
	uint64_t since_ns, remade_ns;
};

/*
 * Can the code in the mapping change only by being made executable again, which perf reports? That
 * is so for private memory that isn't writable.
 */
static inline bool mapping_is_lasting(const struct mapping *m)
{
	return !m->ino && !m->shared && !(m->prot & PROT_WRITE);
}

#define NO_PROCESS UINT32_MAX

struct space {
	uint32_t version;
	/*
	 * the process with these mappings; NO_PROCESS: it was forgotten or has exec'ed, and only
	 * stacks need these mappings
	 */
	uint32_t process;
	/*
	 * number of stacks with this space (these mappings) that wait for names; the space isn't
	 * freed before this is 0
	 */
	uint32_t users;
	/* result of collect_unwind_ops.unmaps() just before the mappings were read */
	uint64_t unmaps;
	uint64_t read_ns; /* when the reading of the mappings began, CLOCK_MONOTONIC */
	/* the latest .since_ns and the earliest .remade_ns of all .maps */
	uint64_t since_ns, remade_ns;
	VEC(struct space_map) maps; /* the mappings, ascending by address */
};

/* A part of a mapping, with its own unwind table. */
struct space_part {
	uint64_t start, end;
	uint32_t table;
};

/*
 * Functions that are called for each mapping that is read. They are in madecode/, the folder for
 * code that lies in no file.
 */
struct space_code {
	/*
	 * Called when mapping @m of process @p (@proc) is read. @is_file: the mapping is of a file
	 * with code.
	 */
	void (*met)(struct collect *c, struct process *p, const struct proc *proc,
		    const struct mapping *m, const char *path, bool is_file);
	/*
	 * Returns the end of the part of @m that begins at @at. Each part may have another unwind
	 * table.
	 */
	uint64_t (*until)(const struct process *p, const struct mapping *m, uint64_t at);
	/*
	 * Sets @part->table, and the members that describe the table, if there is an unwind table
	 * for the code of @part.
	 */
	void (*table)(struct collect *c, struct process *p, const struct mapping *m,
		      struct space_map *part);
	/*
	 * Returns the first part of [start, end) that has an unwind table; the mapping itself has
	 * none. NULL: no part has a table.
	 */
	const struct space_part *(*next)(const struct process *p, uint64_t start, uint64_t end);
};

struct spaces {
	struct map by_version; /* version (which reading of the mappings) -> struct space */
	/* version of the latest reading of any process's mappings; it only grows */
	uint32_t last;
	const struct space_code *code;
	struct told *told; /* mappings that perf has reported (told.h) */
};

/* Makes the state of this folder. False: out of memory. */
_must_use_ bool spaces_init(struct collect *c, const struct space_code *code);
void spaces_fini(struct collect *c);

/* Reads the mappings of a process now. */
void space_read(struct collect *c, struct process *p);
/*
 * Reads the mappings of a process that is open as @proc. If the first thread has ended, @proc may
 * be reopened as the directory of another thread.
 */
void space_read_in(struct collect *c, struct process *p, struct proc *proc);
/*
 * Reads the mappings of processes whose mappings may have changed; called in each collect_flush().
 */
void space_read_stale(struct collect *c);
/* Returns when mappings have to be read next (CLOCK_MONOTONIC); UINT64_MAX: never. */
uint64_t space_due_ns(const struct collect *c);
void space_forget(struct collect *c, struct process *p);
/*
 * Returns the file that has the code at native address @pc of @process; NULL: not known. *vaddr:
 * the address in that file. @version: the reading of the mappings (space) with which the stack was
 * unwound. If @process is NO_PROCESS, only this reading is searched, and not later ones.
 */
struct native_file *space_find(const struct collect *c, uint32_t version, uint32_t process,
			       uint64_t pc, uint64_t *vaddr);

/*
 * space_pin(): keeps a reading of the mappings from being freed, because a stack with its version
 * waits for names. space_unpin(): undoes that when the stack waits no longer.
 */
void space_pin(struct collect *c, uint32_t version);
void space_unpin(struct collect *c, uint32_t version);

/*
 * space_latest(): returns the latest reading of @p's mappings. space_at(): returns the reading, of
 * whatever process, that has this version. NULL: there is none.
 */
const struct space *space_latest(const struct collect *c, const struct process *p);
const struct space *space_at(const struct collect *c, uint32_t version);
/*
 * space_retire_table(): notes that @table isn't needed any more. space_free_tables() frees it, and
 * is called as soon as the kernel program has mappings without @table.
 */
void space_retire_table(struct process *p, uint32_t table);
void space_free_tables(struct collect *c, struct process *p);
const struct space_map *space_map_at(const struct space *s, uint64_t pc);
/*
 * Called when perf reports that memory in [start, end) was made executable at @time_ns, which may
 * be before the latest reading; 0: the time isn't known.
 */
void space_made_executable(struct collect *c, struct process *p, uint64_t start, uint64_t end,
			   uint64_t time_ns);

#endif
