/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of src/dump share. */
#ifndef DUMP_INTERNAL_H
#define DUMP_INTERNAL_H

#include "collect/collect.h"
#include "dump/dump.h"
#include "dump/store.h"
#include "dump/walker.h"
#include "proc/proc.h"
#include "python/heap/threads.h"
#include "python/heap/tstates.h"
#include "sampler/tasks.h"

/* What is needed to read one thread: target.work[i] is of dump_process.threads[i]. */
struct work {
	bool done, gone;
	struct task_look look; /* the latest look at the thread */
	uint64_t hash;	       /* hash of the thread's Python frames in the latest walk */
};

struct interpreter {
	struct py_where where; /* where the interpreter is; addresses are those in the process */
	py_tstates states;
	/*
	 * names of threads; they are read before the stacks, so that threads with a short life have
	 * names too
	 */
	struct py_thread_names names;
	/* tid -> index + 1 in .states, with MORE_STATES if the thread has several thread states */
	struct map by_tid;
};

/* What is needed to read one process: dump.targets[i] is of dump.processes[i]. */
struct target {
	struct proc proc;
	struct proc_key key;
	/* the process's first thread had ended before the dump took the process in */
	bool zombie;
	/*
	 * number of the process's mappings in dump.store; 0: dump.store has none of this process
	 * yet
	 */
	uint32_t space;
	struct interpreter python[ABI_INTERPRETERS];
	size_t n_python; /* number of the process's interpreters; 0: the process isn't Python */
	VEC(struct work) work;
};

/* bit in a value of interpreter.by_tid: the thread has several thread states */
#define MORE_STATES (1ull << 32)

struct dump {
	struct dump_config config;
	struct profile *profile;
	struct collect *collect;
	struct store store;
	struct walker *walker;
	VEC(struct py_layout *) layouts;
	VEC(struct target) targets;
	VEC(struct dump_process) processes;
	struct proc_several found; /* the interpreters that collect_examine() found last */
	/* the process whose Python collect_examine() didn't understand; 0: none */
	pid_t refused;
	uint64_t start_ns;   /* when the dump began, CLOCK_MONOTONIC */
	uint64_t sockets_ns; /* CPU time, in ns, that may still be spent on lists of sockets */
	int kallsyms;	     /* descriptor of /proc/kallsyms; -1: none */
	/* reads the kernel's records of threads; NULL: not permitted, or the kernel is too old */
	struct tasks *tasks;
	VEC(struct rec_task) blocked;
	struct map by_tid; /* tid -> index + 1 in .blocked, the kernel's records of threads */
	uint64_t read_ns;  /* when .blocked was read, CLOCK_MONOTONIC */
	uint64_t clock_offset_ns; /* CLOCK_MONOTONIC minus the scheduler's clock */
};

/*
 * What src/collect calls to send tables to the kernel programs. In a dump the tables go into .store
 * and .layouts. (In feed.c.)
 */
extern const struct collect_ops dump_collect_ops;
extern const struct collect_unwind_ops dump_unwind_ops;
extern const struct walker_rows dump_rows;
const struct py_layout *dump_layout(void *ctx, uint16_t index);

/*
 * Lists the threads of process @i, by the kernel's list and Python's. 0 or -errno + message. (In
 * list.c.)
 */
_must_use_ int dump_list(struct dump *d, size_t i);

/* Reads the kernel's records of blocked threads, if the kernel gives any. (In blocked.c.) */
void dump_read_blocked(struct dump *d);
/*
 * Returns the kernel's record of thread @tid if it is still true: the thread was off the CPU when
 * dump_read_blocked() was called, and its count of switches hasn't changed since. Else NULL.
 */
const struct rec_task *dump_blocked(const struct dump *d, pid_t tid, const struct task_look *look);
/*
 * Returns how many ns ago it was @sched_ns by the scheduler's clock; 0: not known, or @sched_ns is
 * 0.
 */
uint64_t dump_since_ns(const struct dump *d, uint64_t sched_ns);
/*
 * Finds the system call in which a thread is. /proc doesn't show that call if the thread is ready
 * to run. x86-64 only.
 */
void dump_blocked_call(const struct rec_task *rec, struct task_place *ret);

/* Reads the stacks of all threads. 0 or -errno + message. (In threads.c.) */
_must_use_ int dump_threads(struct dump *d);

/* Sets the names of threads and processes, which are in the profile's samples. (In names.c.) */
void dump_take_names(struct dump *d);
/* Returns a copy of @text that the profile owns; "" if memory runs out. */
const char *dump_text(struct dump *d, const char *text);

#endif
