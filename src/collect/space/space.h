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

/* An executable mapping of a process, or a part of one. */
struct space_map {
	uint64_t start, end;
	uint64_t vaddr; /* the vaddr in the file that lies at .start */
	/* number of the file for native_file_at(); 0: there is no file, or it isn't known */
	uint32_t file;
	uint32_t table; /* number of the unwind table of a mapping without a file; 0: none */
	uint32_t key;	/* offset that .start has in the code of .table */
	/*
	 * .table has rows of code that the process registered for gdb, and is valid until
	 * .remade_ns
	 */
	bool registered;
	bool lasting; /* mapping_is_lasting() is true for the mapping */
	/*
	 * If .lasting: from when until when (CLOCK_MONOTONIC) it held one and the same code.
	 * .remade_ns UINT64_MAX: it still does.
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
	/* NO_PROCESS: the process was forgotten or has exec'ed; only stacks need the space */
	uint32_t process;
	/* stacks of this version that wait for names; the space isn't freed before this is 0 */
	uint32_t users;
	/* result of collect_unwind_ops.unmaps() just before the mappings were read */
	uint64_t unmaps;
	uint64_t read_ns; /* when the reading of the mappings began, CLOCK_MONOTONIC */
	/* the latest .since_ns and the earliest .remade_ns of all .maps */
	uint64_t since_ns, remade_ns;
	VEC(struct space_map) maps; /* the mappings, ascending by address */
};

/* A part of a mapping that has its own unwind table. */
struct space_part {
	uint64_t start, end;
	uint32_t table;
};

/*
 * Functions of madecode/, the folder that knows code that lies in no file. These are called for
 * each mapping that is read.
 */
struct space_code {
	/*
	 * Mapping @m of process @p (@proc) is being read. @is_file: a file with code is mapped
	 * there.
	 */
	void (*met)(struct collect *c, struct process *p, const struct proc *proc,
		    const struct mapping *m, const char *path, bool is_file);
	/*
	 * Returns where the part of @m ends that begins at @at. Each part may have another table.
	 */
	uint64_t (*until)(const struct process *p, const struct mapping *m, uint64_t at);
	/*
	 * Sets @part->table and the members that describe the table, if the code of @part has a
	 * table.
	 */
	void (*table)(struct collect *c, struct process *p, const struct mapping *m,
		      struct space_map *part);
	/*
	 * The first part with a table in [start, end), where the mapping itself has no table; NULL:
	 * none.
	 */
	const struct space_part *(*next)(const struct process *p, uint64_t start, uint64_t end);
};

struct spaces {
	struct map by_version; /* version of a space -> struct space */
	uint32_t last;	       /* version that the latest reading of mappings got */
	const struct space_code *code;
	struct told *told; /* mappings that the side band has told of (told.h) */
};

/* Makes the state of this folder. False: out of memory. */
_must_use_ bool spaces_init(struct collect *c, const struct space_code *code);
void spaces_fini(struct collect *c);

/* Reads the mappings of a process now. */
void space_read(struct collect *c, struct process *p);
/*
 * Reads the mappings of a process that is open as @proc. If its first thread has ended, @proc may
 * become the directory of another thread.
 */
void space_read_in(struct collect *c, struct process *p, struct proc *proc);
/* Reads the mappings of processes where they may have changed; called once a flush. */
void space_read_stale(struct collect *c);
/* Returns when mappings have to be read next (CLOCK_MONOTONIC); UINT64_MAX: never. */
uint64_t space_due_ns(const struct collect *c);
void space_forget(struct collect *c, struct process *p);
/*
 * The file at native address @pc of @process in space @version; *vaddr: the address in that file.
 * NULL: not known. If @process is NO_PROCESS, only the space itself is searched, not later
 * readings.
 */
struct native_file *space_find(const struct collect *c, uint32_t version, uint32_t process,
			       uint64_t pc, uint64_t *vaddr);

/*
 * space_pin(): keeps a space from being freed, because a stack with its version waits for names.
 * space_unpin(): undoes that when the stack waits no longer.
 */
void space_pin(struct collect *c, uint32_t version);
void space_unpin(struct collect *c, uint32_t version);

/*
 * space_latest(): the latest reading of @p. space_at(): the reading of any process with this
 * version. NULL: there is none.
 */
const struct space *space_latest(const struct collect *c, const struct process *p);
const struct space *space_at(const struct collect *c, uint32_t version);
/*
 * space_retire_table(): hands @table over to be freed by space_free_tables(), which is called once
 * the kernel program has mappings without it.
 */
void space_retire_table(struct process *p, uint32_t table);
void space_free_tables(struct collect *c, struct process *p);
const struct space_map *space_map_at(const struct space *s, uint64_t pc);
/*
 * perf reports that memory in [start, end) was made executable at @time_ns; 0: the time isn't
 * known. @time_ns may be before the latest reading.
 */
void space_made_executable(struct collect *c, struct process *p, uint64_t start, uint64_t end,
			   uint64_t time_ns);

#endif
