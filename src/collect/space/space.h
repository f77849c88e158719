/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a process has native code: its mappings, as they were read at a time. */
#ifndef COLLECT_SPACE_H
#define COLLECT_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/native/native.h"
#include "collect/process/process.h"
#include "proc/maps.h"

struct collect;
struct process;

/* Where a process has native code, as it was read once. */
struct space_map {
	uint64_t start, end;
	uint64_t vaddr;	 /* of start in the file */
	uint32_t file;	 /* for native_file_at(), 0 = nothing is known of it */
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

struct space {
	uint32_t version, process;
	uint32_t users;		      /* stacks that wait for names: it isn't forgotten */
	uint64_t unmaps;	      /* as before it was read */
	uint64_t read_ns;	      /* when that began */
	uint64_t since_ns, remade_ns; /* the last and the first one of its mappings */
	VEC(struct space_map) maps;   /* ascending */
};

/* A part of a mapping that has an unwind table of its own. */
struct space_part {
	uint64_t start, end;
	uint32_t table;
};

/*
 * Who knows code that lies in no file. Such code is known above this room, which is told of each
 * mapping that is read.
 */
struct space_code {
	/* @m of @proc, which is @p, is read. */
	void (*met)(struct collect *c, struct process *p, const struct proc *proc,
		    const struct mapping *m, const char *path, bool is_file);
	/* The part of @m that begins at @at ends there: each part may have another table. */
	uint64_t (*until)(const struct process *p, const struct mapping *m, uint64_t at);
	/* Sets @part->table, and what belongs to it, if the code of @part has one. */
	void (*table)(struct collect *c, struct process *p, const struct mapping *m,
		      struct space_map *part);
	/* The first such part in [start, end) of a mapping without a table; NULL: there is none. */
	const struct space_part *(*next)(const struct process *p, uint64_t start, uint64_t end);
};

struct spaces {
	struct map by_version; /* -> struct space * */
	uint32_t last;	       /* version */
	const struct space_code *code;
};

/* False: out of memory. */
_must_use_ bool spaces_init(struct collect *c, const struct space_code *code);
void spaces_fini(struct collect *c);

/* Reads the mappings of the process now. */
void space_read(struct collect *c, struct process *p);
/* Reads what has changed; once a flush. */
void space_read_stale(struct collect *c);
/* When there is more to read, CLOCK_MONOTONIC; UINT64_MAX: nothing. */
uint64_t space_due_ns(const struct collect *c);
void space_forget(struct collect *c, struct process *p);
/*
 * The file at native address @pc of @process in space @version, and the address in the file; NULL
 * if not known. NO_PROCESS: only what that reading itself says.
 */
#define NO_PROCESS UINT32_MAX
struct native_file *space_find(const struct collect *c, uint32_t version, uint32_t process,
			       uint64_t pc, uint64_t *vaddr);

/* A stack with addresses of this version waits for names, or doesn't any more. */
void space_pin(struct collect *c, uint32_t version);
void space_unpin(struct collect *c, uint32_t version);

/* The latest reading of @p, and any by its version; NULL: none. */
const struct space *space_latest(const struct collect *c, const struct process *p);
const struct space *space_at(const struct collect *c, uint32_t version);
/* @table is freed when the kernel program has mappings without it. */
void space_retire_table(struct process *p, uint32_t table);
void space_free_tables(struct collect *c, struct process *p);
const struct space_map *space_map_at(const struct space *s, uint64_t pc);
/* Something in [start, end) was made executable at @time_ns, since the latest reading or before. */
void space_made_executable(struct collect *c, struct process *p, uint64_t start, uint64_t end,
			   uint64_t time_ns);

#endif
