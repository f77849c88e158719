/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process images: an image is a process between two execs. Records find an image by its key. An
 * image is forgotten when no more records of it can come.
 */
#ifndef COLLECT_PROCESS_PROCESS_H
#define COLLECT_PROCESS_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/work/slice.h"
#include "base/vec.h"
#include "collect/common/state.h"
#include "collect/process/several.h"
#include "proc/proc.h"
#include "proc/service/service.h"
#include "proc/stamp.h"
#include "records.h"

struct made_code;
struct py_code;
struct waiting;

/* Why the mappings of a process have to be read; the most urgent reason is last. */
enum space_stale {
	SPACE_FRESH,
	SPACE_ODD,   /* a stack has an address that lies in no mapping that is known */
	SPACE_GROWN, /* something was mapped since the mappings were read */
	SPACE_GONE,  /* no mappings are known, or something was unmapped: no stack can be unwound */
};

/* What reading non-resident memory of a process has cost in the current minute. */
struct absent_spent {
	uint64_t since_ns, took_ns;
	size_t pages;
	uint64_t asked_ns;
	bool asked;   /* a read of the process's memory is under way, since .asked_ns */
	bool refused; /* a read was refused at least once; stats.absent.processes has counted it */
};

/*
 * One image of one process. The entry stays for a while after the image's end, because samples of
 * the image may still come.
 */
struct process {
	/* The identity of this image (the process between two execs), and its interpreter. */
	struct proc_key key;
	enum proc_state state;
	uint16_t version; /* version of the process's Python: major << 8 | minor */
	uint32_t mapping; /* profile id of the mapping "[python 3.12]" */
	/*
	 * start time in /proc (CLOCK_BOOTTIME); another process that gets the same number has
	 * another start time
	 */
	uint64_t start_boot_ns;
	char unsupported[128];
	/* where the interpreter is, in absolute addresses; set only if .state is PROC_PYTHON */
	struct py_where where;
	/* the addresses of all interpreters, .where first; NULL: there is only one interpreter */
	struct proc_several *several;
	struct later_look later; /* when krait finds out again which interpreters are initialised */

	/* What krait has found out about the process so far. */
	/*
	 * krait examined the process before its first sample, so .key has only a .tgid, or is the
	 * key before an earlier exec
	 */
	bool expected;
	bool walked;   /* a sample of the process has had Python frames */
	bool reported; /* intake.unsupported has counted the process */
	bool unwanted; /* the process isn't shown, because it isn't wanted or is .foreign */
	bool foreign;  /* the user may not see the process (config.may_see) */
	bool headless; /* the first thread has ended (so .ended is set), but other threads go on */
	bool replaced; /* the process has exec'ed, and has another entry since then */
	/*
	 * 1 + how often process_forget_ended() has found since the process ended that a further
	 * round was over; 0: the process runs
	 */
	uint8_t ended;
	/*
	 * what belonged to the process was freed; this entry stays as long as anything refers to it
	 */
	bool forgotten;
	/* if .expected: where the program that krait examined lies in memory */
	struct image_place place;
	uint64_t samples;
	uint64_t
		/*
		 * time at which the kernel program first saw the process, CLOCK_MONOTONIC; 0: it
		 * hasn't seen the process
		 */
		met_ns;
	/* rec_proc.task of the record that came when the kernel program first saw the process */
	uint64_t task;
	uint64_t seen_ns; /* time of the process's latest record, CLOCK_MONOTONIC */

	/* How many samples and stacks still refer to the process. */
	/*
	 * number of the process's samples and stacks that wait; the entry in the table isn't reused
	 * before this is 0
	 */
	uint32_t users;
	/*
	 * number of stacks of the process that wait for names, and of last records of its threads
	 * that wait; the process isn't forgotten before this is 0
	 */
	uint32_t pins;

	/* The process's names, and the packages that its arguments tell it to run (facts.c). */
	char *name, *cgroup, *container;
	/* packages that the arguments name (proc/entry.h); NULL: not read */
	char *entry;
	/*
	 * package that the process's console script imports; NULL: the process runs no console
	 * script
	 */
	char *launched;
	struct service service;
	/*
	 * 1 + the uid of the user as whom the process runs, if all its uids are the same; 0: not
	 * known, or several users
	 */
	uint64_t runs_as;
	/* working directory when krait first heard of the process; NULL: not known, or / */
	char *directory;
	bool failed; /* collect_config.failed was called for this process */
	/*
	 * .name is from the kernel program's first record, and the name in /proc doesn't replace it
	 */
	bool name_is_said;
	/* name that the kernel has for the first thread; "": not known yet */
	char comm[PROC_COMM_BYTES];
	/*
	 * .facts_due_ns: when name, control group and container are read next (CLOCK_MONOTONIC).
	 * .facts_samples: the value that .samples had when these were last read.
	 */
	uint64_t facts_due_ns, facts_samples;
	/*
	 * .stamp: the process's stamp (proc/stamp.h), which tells cheaply whether a process has
	 * changed; the stamp was read just before name, control group and container were last read.
	 * The times are CLOCK_MONOTONIC. .stamp_since_ns: since when the stamp is the same.
	 * .stamp_due_ns: when it is read next. .stamp_until_ns: until when name, control group and
	 * container needn't be read if the stamp stays the same.
	 */
	struct proc_stamp stamp;
	uint64_t stamp_since_ns, stamp_due_ns, stamp_until_ns;

	/* Budgets: what krait may spend on the process (budget/). */
	struct budget looked; /* CPU time for looking into files that the process maps */
	struct budget upkeep;
	bool upkeep_waits; /* upkeep of the process was put off, and hasn't been done since */
	bool upkeep_named; /* stats.put_off.processes has counted the process */
	struct absent_spent absent;
	/*
	 * the user who pays for this process while it is new: 1 + index in crowds.users; 0: no
	 * user's budget is charged
	 */
	uint32_t user;
	/* until this time (CLOCK_MONOTONIC) the process is new, and .user's budget is charged */
	uint64_t new_until_ns;
	bool crowded; /* stats.crowded.processes has counted the process */

	/* The process's threads (thread/). */
	struct map threads; /* tid -> 1 + index of the thread in threads.all */
	/*
	 * .names_looked_ns: when names of threads were last looked for; 0: never. .names_due_ns:
	 * when they are looked for next; 0: no sample of a thread has come. .names_apart_ns: the
	 * time between the next look and the one after it.
	 */
	uint64_t names_looked_ns, names_due_ns, names_apart_ns;
	/*
	 * how many samples of the process have come; a sample that had to wait counts more than
	 * once
	 */
	uint64_t names_samples;

	/* The process's code objects (code/). */
	VEC(struct py_code *) codes;
	struct map code_index; /* code_key() -> 1 + index of the code object in .codes */

	/* The process's mappings (space/). */
	uint32_t slot; /* slot of the process's mappings in the kernel's map `spaces`; 0: none */
	/*
	 * how many times unknown code was the reason for reading the mappings, since the last pause
	 * (space/read.c)
	 */
	uint32_t reads;
	enum space_stale space_stale;
	/* until .eager_ns the process is eager: its mappings are read as often as they change */
	bool eager;
	uint64_t eager_ns;
	uint64_t space_ns; /* when mappings were last read, CLOCK_MONOTONIC */
	uint64_t read_ns;  /* CPU time that the last reading of mappings took */
	/* versions of the spaces (readings of the mappings) that are kept, the latest last */
	VEC(uint32_t) spaces;
	/*
	 * unwind tables that the kernel program may use as long as it has the process's old
	 * mappings
	 */
	VEC(uint32_t) old_tables;
	struct made_executable {
		uint64_t start, end, time_ns;
		/* version of the latest reading of mappings before .made_executable.time_ns */
		uint32_t version;
		/*
		 * the range of memory that was made executable last; code that was there before is
		 * gone
		 */
	} made_executable;

	/*
	 * The process's code that lies in no file (madecode/made.h); NULL: this entry of the table
	 * is free.
	 */
	struct made_code *made;
};

/*
 * A process that ended and was forgotten. Its entry in the table is reused once nothing can refer
 * to the process any more.
 */
struct forgotten {
	uint32_t process;
	uint64_t at_ns;
};

struct processes {
	VEC(struct process) all;
	VEC(uint32_t) live; /* processes that aren't forgotten yet, as indices in .all */
	/* processes that were forgotten, in the order in which they were forgotten */
	VEC(struct forgotten) forgotten;
	VEC(uint32_t) free; /* indices in .all of entries that can be reused */
	struct map by_key;  /* process_key_hash() -> 1 + index of the process in .all */
	/*
	 * process number -> 1 + index in .all of the newest process with that number, since its
	 * latest exec
	 */
	struct map by_tgid;
	/* process number -> time of the process's latest exec that perf has reported */
	struct map execs;
	uint32_t round;		    /* value of collect.rounds at the last process_forget_ended() */
	struct known_places *known; /* state of known_place.c */
	/*
	 * .mapping: what process_mapping_of() returned last; 0: it has returned no mapping yet.
	 * .mapping_version: the version for which it was called.
	 */
	uint32_t mapping;
	uint16_t mapping_version;
	struct budget upkeep; /* budget for the upkeep of all processes (budget/upkeep.c) */
	/*
	 * size of the state of a process's code made at run time; process.made points to this state
	 */
	size_t made_bytes;
	/*
	 * Frees what other folders keep for a process. Called when the process is forgotten, and
	 * again when its entry is reused or the collector ends.
	 */
	void (*close)(struct collect *c, struct process *p);
};

/*
 * Makes the state of this folder. The arguments become the members of the same names in struct
 * processes. False: out of memory.
 */
_must_use_ bool processes_init(struct collect *c, size_t made_bytes,
			       void (*close)(struct collect *c, struct process *p));
void processes_fini(struct collect *c);

static inline struct process *process_at(const struct collect *c, uint32_t i)
{
	return &c->processes->all.v[i];
}

/* Returns the process that .live has at index @i. */
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

/* Tells whether native stacks of the process are unwound. */
static inline bool has_stacks(const struct process *p)
{
	return p->state == PROC_PYTHON || p->state == PROC_NATIVE || p->state == PROC_UNSUPPORTED;
}

/* Asks space/ to read the mappings of the process soon. */
static inline void space_wanted(struct process *p, enum space_stale why)
{
	p->space_stale = MAX(p->space_stale, why);
}

/*
 * Returns the index of the process of @key in processes.all; adds the process if it is new.
 * Negative: out of memory.
 */
long process_of(struct collect *c, const struct proc_key *key);
/* Returns the process of @key; NULL: no record of the process has come yet. */
struct process *process_known(const struct collect *c, const struct proc_key *key);
/*
 * Must sample @w of @p wait for the record that says what @p is? The kernel programs wrote that
 * record before the sample, but it may be in a ring that is read later (collect_has_earlier()). A
 * wait without a stack may come without any such record.
 */
bool process_is_awaited(const struct collect *c, const struct process *p, const struct waiting *w);

/*
 * process_key_hash(): returns the hash by which .by_key finds @k. process_drop_index(): removes
 * process @i from an index, unless the entry belongs to another process by now.
 */
uint64_t process_key_hash(const struct proc_key *k);
void process_drop_index(struct map *m, uint64_t key, uint32_t i);

/* Returns the entry of process @tgid since its latest exec; NULL: none is known. */
struct process *process_newest(const struct collect *c, uint32_t tgid);

/* Does the process have threads that still run? To be called after its first thread has ended. */
bool process_has_threads(const struct process *p);

/*
 * Have all threads of the process ended, or has the process exec'ed since @p was made? If so, no
 * more samples for @p are taken.
 */
bool process_is_gone(const struct process *p);

/* Is @proc the same process as @p, and not a later process with the same number? */
bool process_is(const struct process *p, const struct proc *proc);

/*
 * Opens the process. False: it can't be opened. If it has ended, .ended is set, because perf may
 * have reported its end before krait knew of the process.
 */
bool process_open(struct process *p, struct proc *ret);

/*
 * Called when perf reports that a thread of @tgid has ended (process_exited()), or that process
 * @tgid has exec'ed (process_execed()).
 */
void process_exited(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void process_execed(struct collect *c, uint32_t tgid, uint64_t time_ns);
/*
 * Returns the time of the process's latest exec that perf has reported; 0: perf has reported none.
 */
uint64_t process_exec_ns(const struct collect *c, uint32_t tgid);

/*
 * processes.c: forgets the processes that ended long enough ago. Called at the end of each
 * collect_flush(); does nothing if no round (collect.rounds) has ended since the last call.
 */
void process_forget_ended(struct collect *c);

/* Returns the profile's id of the mapping that frames of this Python version get; 0: no memory. */
uint32_t process_mapping_of(struct collect *c, uint16_t version);

/*
 * Sets the Python version of the process's frames. The version is from a record of the process, or
 * from a code object that came earlier than this record.
 */
void process_is_python(struct collect *c, struct process *p, uint16_t version);
/* Notes that a process has an interpreter of this version. */
void process_note_version(struct collect *c, uint16_t version);

/*
 * facts.c: facts_read() reads from /proc what a process is called and whose it is, when krait first
 * hears of the process. False: the process isn't wanted. facts_renew() does the same at @now_ns
 * (CLOCK_MONOTONIC) for a process with samples. While the process's stamp (proc/stamp.h) stays the
 * same, facts_renew() mostly reads only the stamp, and less and less often. False: the process
 * isn't wanted any more. *changed: something has changed that the process's labels say.
 */
bool facts_read(struct collect *c, struct process *p, const struct proc *proc);
bool facts_renew(struct collect *c, struct process *p, uint64_t now_ns, bool *changed);
/*
 * Calls facts_read() for the process of @rec, and also facts_read_start() if the process is Python.
 * Sets .unwanted if the process isn't wanted. Opens the process as @proc, unless name, control
 * group and container of another process with the same place (struct proc_place) can be used.
 * False: the process can't be opened.
 */
_must_use_ bool facts_met(struct collect *c, struct process *p, const struct rec_proc *rec,
			  struct proc *proc);
/* Takes over the names of the process that the kernel program has read. */
void facts_from_record(struct process *p, const struct rec_proc *rec);
/* Reads the process's working directory, which package its arguments name, and its service. */
void facts_read_start(struct collect *c, struct process *p, const struct proc *proc);

/*
 * known_place.c: remembers for a second what was read of processes, by their place (struct
 * proc_place).
 *
 * known_place_find() sets cgroup, container and directory of @p, whose place was @at at @time_ns,
 * to the values that another process with that place had. False: no such process is known.
 * known_place_keep() notes that all processes with place @at have the cgroup, container and
 * directory of @p. known_place_directory() reads the path of @proc's working directory into
 * @path[*n]. False: the path can't be read without waiting, or it may be the path of another
 * directory than @dir.
 */
_must_use_ bool known_place_init(struct collect *c);
void known_place_fini(struct collect *c);
_must_use_ bool known_place_find(const struct collect *c, const struct proc_place *at,
				 uint64_t time_ns, struct process *p);
void known_place_keep(struct collect *c, const struct proc_place *at, const struct process *p);
_must_use_ bool known_place_directory(const struct proc *proc, const struct place_dir *dir,
				      char path[static PATH_MAX], ssize_t *n);

#endif
