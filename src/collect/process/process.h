/* SPDX-License-Identifier: BSD-2-Clause */
/* Process images: one each, found by the records' keys, forgotten when nothing comes of them any more. */
#ifndef COLLECT_PROCESS_H
#define COLLECT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/slice.h"
#include "base/vec.h"
#include "collect/process/absent.h"
#include "collect/madecode/runtime_code.h"
#include "collect/process/several.h"
#include "collect/space/space.h"
#include "python/code/code.h"
#include "records.h"

struct collect;

/* One image of one process. Stays for a while after its end: its samples may still be on the way. */
struct process {
	struct proc_key key;
	enum proc_state state;
	bool expected; /* examined, not met: .key has only .tgid, or is an image's that may be another one */
	bool eager;	  /* its mappings are read as often as they change, until .eager_ns */
	bool walked;	  /* a sample had Python frames */
	bool reported;	  /* counted among the unsupported ones */
	bool unwanted;	  /* not to be shown */
	bool foreign;	  /* because it is another user's */
	bool headless;	  /* others of its threads go on than the first, of which .ended is */
	bool replaced;	  /* by an exec: it has ended, its number hasn't */
	uint16_t version; /* major << 8 | minor of its interpreter */
	char *name, *cgroup, *container;
	char *entry;	   /* packages that it was told to run, see proc/entry.h; NULL: not read */
	char *launched;	   /* the package that its console script imports; NULL: there is none */
	char *directory;   /* its working directory as it was met first; NULL: not known, or / */
	bool name_is_said; /* in its first record: .name holds, whatever /proc says now */
	char comm[PROC_COMM_BYTES]; /* of its first thread; "" = it wasn't met yet */
	char unsupported[128];
	uint64_t eager_ns;
	uint32_t mapping; /* profile id of "[python 3.12]" */
	uint64_t samples;
	struct py_where where;	      /* state PROC_PYTHON: absolute addresses */
	struct proc_several *several; /* with .where; NULL: there is no other interpreter */
	struct later_look later;      /* is another interpreter initialised by then? */
	struct image_place place;     /* if .expected: of the image that was examined */
	uint32_t slot;		      /* of its mappings, 0 = none */
	uint32_t reads;		      /* how often they were read for code that isn't known */
	enum space_stale space_stale;
	struct perf_map *jit; /* NULL: not found (yet) */
	uint64_t jit_ns;      /* when it was looked at last */
	uint8_t jit_tries;    /* to open one that isn't there */
	uint64_t jit_due_ns;  /* not before that again */
	size_t jit_bytes;     /* of .jit, as counted */
	struct budget looked; /* at files that it maps */
	struct budget upkeep;
	uint32_t user;	       /* whose budget for new processes it is of, see crowd.h; 0: none */
	uint64_t new_until_ns; /* for so long */
	bool crowded;	       /* it was counted only for a while */
	bool upkeep_waits;     /* something was put off, and not done since */
	bool upkeep_named;     /* it is counted among those of which that was */
	bool jit_refused, jit_dumped; /* a jitdump that it had mapped was looked at */
	struct registered registered;
	struct guarded guarded;
	struct absent_spent absent;
	VEC(uint32_t)
	old_tables;	      /* that the kernel program may know until it has its mappings anew */
	uint64_t space_ns;    /* when they were read last */
	uint64_t read_ns;     /* CPU time that it took; the kernel may let it wait, too */
	VEC(uint32_t) spaces; /* versions, the latest last */
	struct made_executable {
		uint64_t start, end, time_ns;
		uint32_t version; /* the latest reading, before it */
	} made;			/* the last thing that was: what lay there is known to have gone */
	uint64_t seen_ns;	/* time of its latest record */
	uint64_t start_boot_ns; /* /proc's start time: the number isn't another process's */
	/* When it is asked next whether it is still where it was, and .samples when it was last. */
	uint64_t facts_due_ns, facts_samples;
	/* When names of threads were looked for, 0 = never; the next time, 0 = no thread was met; and then? */
	uint64_t names_looked_ns, names_due_ns, names_apart_ns;
	uint64_t names_samples; /* that were met, and again while they wait */
	VEC(struct py_code *) codes;
	struct map code_index; /* code_key() -> index + 1 in codes */
	uint8_t ended;	       /* flushes since its end, 0 = it runs */
	struct map threads;    /* tid -> index + 1 in collect.threads */
};

static inline bool process_has_ended(const struct process *p)
{
	return p->ended && !p->headless;
}

/* Are its native stacks unwound? */
static inline bool has_stacks(const struct process *p)
{
	return p->state == PROC_PYTHON || p->state == PROC_NATIVE || p->state == PROC_UNSUPPORTED;
}

/* A process that has ended: its place is another's when nothing can refer to it any more. */
struct forgotten {
	uint32_t process;
	uint64_t at_ns;
};

/* process_table.c: the process of @key, made if it is new; index or negative. */
long process_of(struct collect *c, const struct proc_key *key);

/* The newest image of process @tgid, or NULL. */
struct process *process_newest(const struct collect *c, uint32_t tgid);

/* All its threads have ended, or another image has its number. */
bool process_is_gone(const struct process *p);

/* After each flush: forgets what only a process that has ended needed. */
void process_forget_ended(struct collect *c);

/* What it holds; its place can be another's then. */
void process_fini(struct collect *c, struct process *p);

/* The kernel met process @i: what it knows of it, or is asked. */
void process_met(struct collect *c, uint32_t i, const struct rec_proc *rec);

/*
 * Finds out what process @i runs and tells the kernel programs. @exe: its executable's key, or
 * NULL. 1 Python, 0 not (yet), -ENOTSUP, -errno.
 */
int process_examine(struct collect *c, uint32_t i, const struct exe_key *exe);

/* Profile id of the mapping that frames of this version have; 0 = no memory. */
uint32_t process_mapping_of(struct collect *c, uint16_t version);

/* Its frames are of this Python: told by its record, or by a code object that came before that. */
void process_is_python(struct collect *c, struct process *p, uint16_t version);

/* The command has begun, of which nothing was sampled yet: its interpreter is at @where. Its mappings are read now. */
struct proc_stat;
void process_expect_first(struct collect *c, const struct proc *proc, const struct py_where *where,
			  const struct proc_stat *stat, uint16_t version);

/* @proc is the same process as @p, not another one with its number. */
bool process_is(const struct process *p, const struct proc *proc);

/* Is each process still wanted, or is it now, and in which control group? Looks once a second. */
void process_look_again(struct collect *c);

/* Key of a code object among its process's. */
static inline uint64_t code_key(uint64_t code, uint64_t check)
{
	return code ^ check * 0x9e3779b97f4a7c15ull;
}

#endif
