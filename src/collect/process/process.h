/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process images. A process has one between two execs. Records find it by its key; it is forgotten
 * when nothing comes of it any more.
 */
#ifndef COLLECT_PROCESS_PROCESS_H
#define COLLECT_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/slice.h"
#include "base/vec.h"
#include "collect/common/state.h"
#include "collect/process/absent.h"
#include "collect/process/several.h"
#include "proc/proc.h"
#include "records.h"

struct made_code;
struct py_code;

/* Are a process's mappings to be read? In this order of urgency. */
enum space_stale {
	SPACE_FRESH,
	SPACE_ODD,   /* code was met that isn't known */
	SPACE_GROWN, /* something was mapped */
	SPACE_GONE,  /* nothing is known, or something was unmapped: nothing can be unwound */
};

/*
 * One image of one process. It stays for a while after its end, because samples may still be on
 * the way.
 */
struct process {
	/* Who it is, and what it runs. */
	struct proc_key key;
	enum proc_state state;
	uint16_t version;	/* major << 8 | minor of its interpreter */
	uint32_t mapping;	/* profile id of "[python 3.12]" */
	uint64_t start_boot_ns; /* /proc's start time: the number isn't another process's */
	char unsupported[128];
	struct py_where where;	      /* state PROC_PYTHON: absolute addresses */
	struct proc_several *several; /* with .where; NULL: there is no other interpreter */
	struct later_look later;      /* is another interpreter initialised by then? */

	/* How far it is known. */
	bool expected; /* examined, not met: .key is only .tgid, or that of a former image */
	bool walked;   /* a sample had Python frames */
	bool reported; /* counted among the unsupported ones */
	bool unwanted; /* not to be shown */
	bool foreign;  /* because it is another user's */
	bool headless; /* others of its threads go on than the first, of which .ended is */
	bool replaced; /* by an exec: it has ended, its number hasn't */
	uint8_t ended; /* flushes since its end, 0 = it runs */
	/* Its memory was freed. Its place stays as long as anything refers to it. */
	bool forgotten;
	struct image_place place; /* if .expected: of the image that was examined */
	uint64_t samples;
	uint64_t seen_ns; /* time of its latest record */

	/* What waits for something of it. */
	uint32_t users;	  /* samples and stacks that wait: its place isn't another's */
	uint32_t unnamed; /* stacks that wait for names: it isn't forgotten */

	/* What it is called (facts.c). */
	char *name, *cgroup, *container;
	char *entry;	   /* packages that it was told to run, see proc/entry.h; NULL: not read */
	char *launched;	   /* the package that its console script imports; NULL: there is none */
	char *directory;   /* its working directory as it was met first; NULL: not known, or / */
	bool name_is_said; /* in its first record: .name holds, whatever /proc says now */
	char comm[PROC_COMM_BYTES]; /* of its first thread; "" = it wasn't met yet */
	/* When it is asked next whether it is still where it was, and .samples when it was last. */
	uint64_t facts_due_ns, facts_samples;

	/* What it may cost. */
	struct budget looked; /* at files that it maps */
	struct budget upkeep;
	bool upkeep_waits; /* something was put off, and not done since */
	bool upkeep_named; /* it is counted among those of which that was */
	struct absent_spent absent;
	uint32_t user;	       /* whose budget for new processes it is of, see crowd.h; 0: none */
	uint64_t new_until_ns; /* for so long */
	bool crowded;	       /* it was counted only for a while */

	/* Its threads (thread.c). */
	struct map threads; /* tid -> place of the thread + 1 */
	/*
	 * When names of threads were looked for last (0: never), when next (0: no thread was
	 * met), and how long after that.
	 */
	uint64_t names_looked_ns, names_due_ns, names_apart_ns;
	uint64_t names_samples; /* that were met, and again while they wait */

	/* Its code objects (codes.c). */
	VEC(struct py_code *) codes;
	struct map code_index; /* code_key() -> index + 1 in codes */

	/* Its mappings (space/). */
	uint32_t slot;	/* in the kernel's map, 0 = none */
	uint32_t reads; /* how often they were read for code that isn't known */
	enum space_stale space_stale;
	bool eager; /* they are read as often as they change, until .eager_ns */
	uint64_t eager_ns;
	uint64_t space_ns;    /* when they were read last */
	uint64_t read_ns;     /* CPU time that it took; the kernel may let it wait, too */
	VEC(uint32_t) spaces; /* versions, the latest last */
	VEC(uint32_t)
	old_tables; /* that the kernel program may know until it has its mappings anew */
	struct made_executable {
		uint64_t start, end, time_ns;
		uint32_t version; /* the latest reading, before it */
	} made_executable; /* the last thing that was: what lay there is known to have gone */

	/* Its code that lies in no file (madecode/made.h); NULL: the place is free. */
	struct made_code *made;
};

/* A process that has ended: its place is another's when nothing can refer to it any more. */
struct forgotten {
	uint32_t process;
	uint64_t at_ns;
};

struct processes {
	VEC(struct process) all;
	VEC(uint32_t) live;		 /* indices of processes that haven't been forgotten */
	VEC(struct forgotten) forgotten; /* the longest ago first */
	VEC(uint32_t) free;		 /* indices */
	struct map by_key;		 /* hash of proc_key -> index + 1 */
	struct map by_tgid;		 /* -> index + 1 of the newest image */
	struct map execs;		 /* tgid -> time of its latest exec that was seen */
	struct budget upkeep;		 /* of all (upkeep.c) */
	struct threads *threads;	 /* thread.c */
	struct codes *codes;		 /* codes.c */
	struct look_budgets *look;	 /* look.c */
	struct crowds *crowds;		 /* crowd.c */
	struct packages *packages;	 /* together.c */
	struct absent *absent;		 /* absent.c; NULL: all memory could be read so far */
	size_t made_bytes;		 /* of process.made */
	/*
	 * Frees what the rooms above have of a process. Called when the process is forgotten, and
	 * again at its end.
	 */
	void (*close)(struct collect *c, struct process *p);
};

/* False: out of memory. @made_bytes, @close: see above. */
_must_use_ bool processes_init(struct collect *c, size_t made_bytes,
			       void (*close)(struct collect *c, struct process *p));
/* False: a read of memory doesn't come back (absent_fini()). */
_must_use_ bool processes_fini(struct collect *c);

static inline struct process *process_at(const struct collect *c, uint32_t i)
{
	return &c->processes->all.v[i];
}

/* The @i'th of those that haven't been forgotten. */
static inline struct process *process_live(const struct collect *c, size_t i)
{
	return process_at(c, c->processes->live.v[i]);
}

static inline uint32_t process_index(const struct collect *c, const struct process *p)
{
	return (uint32_t)(p - c->processes->all.v);
}

static inline bool process_has_ended(const struct process *p)
{
	return p->ended && !p->headless;
}

/* Are its native stacks unwound? */
static inline bool has_stacks(const struct process *p)
{
	return p->state == PROC_PYTHON || p->state == PROC_NATIVE || p->state == PROC_UNSUPPORTED;
}

/* space/ reads the mappings of the process soon. */
static inline void space_wanted(struct process *p, enum space_stale why)
{
	p->space_stale = MAX(p->space_stale, why);
}

/* The process of @key, made if it is new; index or negative. */
long process_of(struct collect *c, const struct proc_key *key);

/* Keys of .by_key; takes process @i out of an index, unless another one is there by now. */
uint64_t process_key_hash(const struct proc_key *k);
void process_drop_index(struct map *m, uint64_t key, uint32_t i);

/* The newest image of process @tgid, or NULL. */
struct process *process_newest(const struct collect *c, uint32_t tgid);

/* After its first thread has ended: do others go on? */
bool process_has_threads(const struct process *p);

/* All its threads have ended, or another image has its number. */
bool process_is_gone(const struct process *p);

/* @proc is the same process as @p, not another one with its number. */
bool process_is(const struct process *p, const struct proc *proc);

/*
 * False if it can't be opened. A process that lived for a moment may have ended before it was
 * known; then .ended is set.
 */
bool process_open(struct process *p, struct proc *ret);

/* The side band's word: a thread of @tgid ended, or the process has exec'ed. */
void process_exited(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void process_execed(struct collect *c, uint32_t tgid, uint64_t time_ns);
/* When it exec'ed last, as far as that was seen; 0: not. */
uint64_t process_exec_ns(const struct collect *c, uint32_t tgid);

/* processes.c. After each flush: forgets what only a process that has ended needed. */
void process_forget_ended(struct collect *c);

/* Profile id of the mapping that frames of this version have; 0 = no memory. */
uint32_t process_mapping_of(struct collect *c, uint16_t version);

/* Its frames are of this Python: told by its record, or by a code object that came before that. */
void process_is_python(struct collect *c, struct process *p, uint16_t version);
/* An interpreter of this version was met. */
void process_note_version(struct collect *c, uint16_t version);

/*
 * facts.c: reads what /proc says when a process is met: its names, whose it is. False if it isn't
 * wanted. facts_renew(): the same for a process with samples; false if it isn't wanted any more.
 */
bool facts_read(struct collect *c, struct process *p, const struct proc *proc);
bool facts_renew(struct collect *c, struct process *p);
/* What the kernel program read of it. */
void facts_from_record(struct process *p, const struct rec_proc *rec);
/* Its working directory, and what it was told to run. */
void facts_read_start(struct process *p, const struct proc *proc);

#endif
