/* SPDX-License-Identifier: BSD-2-Clause */
/* Structs and functions that the files in src/dump share. */
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

/* State of reading one thread: target.work[i] belongs to dump_process.threads[i]. */
struct work {
	bool done, gone;
	struct task_look look; /* the latest look at the thread */
	uint64_t hash;	       /* hash of the thread's Python frames when its stack was last read */
};

struct interpreter {
	/* where the interpreter's data are; addresses are those in the process */
	struct py_where where;
	py_tstates states;
	/*
	 * names of threads. They are read before the stacks, so that threads that end soon have
	 * names too.
	 */
	struct py_thread_names names;
	/*
	 * tid -> index + 1 of the thread's PyThreadState in .states; the bit MORE_STATES is set if
	 * the thread has several
	 */
	struct map by_tid;
};

/* State of reading one process: dump.targets[i] belongs to dump.processes[i]. */
struct target {
	struct proc proc;
	struct proc_key key;
	/* the process's first thread had ended already when the dump began to read the process */
	bool zombie;
	/* number of the process's mappings in dump.store; 0: dump.store doesn't have them yet */
	uint32_t space;
	struct interpreter python[ABI_INTERPRETERS];
	size_t n_python; /* how many interpreters the process has; 0: it isn't Python */
	/* a PyPy whose frames krait can read; NULL: there is none. Then .n_python is 0. */
	struct dump_pypy *pypy;
	VEC(struct work) work;
};

/* bit in the values of interpreter.by_tid: the thread has several thread states */
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
	struct proc_several found; /* the interpreters that the last collect_examine() found */
	/* pid of the process whose Python collect_examine() didn't understand; 0: there is none */
	pid_t refused;
	uint64_t start_ns;   /* when the dump began, CLOCK_MONOTONIC */
	uint64_t sockets_ns; /* how much CPU time, in ns, lists of sockets may still take */
	int kallsyms;	     /* descriptor of /proc/kallsyms; -1: it couldn't be opened */
	/*
	 * reads the kernel program's records of threads; NULL: krait has no right to read them, or
	 * the kernel is too old
	 */
	struct tasks *tasks;
	VEC(struct rec_task) blocked;
	struct map by_tid;	  /* tid -> index + 1 of the thread's record in .blocked */
	uint64_t read_ns;	  /* when the records in .blocked were read, CLOCK_MONOTONIC */
	uint64_t clock_offset_ns; /* CLOCK_MONOTONIC minus the scheduler's clock */
};

/*
 * feed.c: the functions that src/collect calls to send tables to the kernel programs. In a dump,
 * they put the tables into .store and .layouts.
 */
extern const struct collect_ops dump_collect_ops;
extern const struct collect_unwind_ops dump_unwind_ops;
extern const struct walker_rows dump_rows;
const struct py_layout *dump_layout(void *ctx, uint16_t index);

/*
 * list.c: lists the threads of process @i, from the kernel's list and from Python's. 0 or -errno +
 * message.
 */
_must_use_ int dump_list(struct dump *d, size_t i);

/*
 * pypy.c: dump_pypy_open() tells whether krait can read the frames of @proc, the process that
 * collect_examine() has refused last; if so, *ret is to be given to dump_pypy_close().
 * dump_pypy_version() returns the version of Python that it implements. dump_pypy_list() reads
 * which threads PyPy knows; 0 or -errno.
 */
bool dump_pypy_open(struct dump *d, struct proc *proc, struct dump_pypy **ret);
void dump_pypy_close(struct dump_pypy *p);
uint16_t dump_pypy_version(void);
_must_use_ int dump_pypy_list(struct dump_pypy *p);
/*
 * To be called once the collector knows the process: says how stacks that can't be read are marked.
 */
void dump_pypy_introduce(struct dump *d, const struct target *t);
/*
 * Reads the Python functions of @thread, and gives them to the walker. Sets .python, .ident, .gil
 * and .outcome of @thread. *hash: as in walker_python(). False: another try may have more success.
 */
bool dump_pypy_walk(struct dump *d, const struct target *t, struct dump_thread *thread,
		    const struct walker_thread *w, uint64_t *hash);

/* blocked.c: reads the kernel program's records of blocked threads, if there are any. */
void dump_read_blocked(struct dump *d);
/*
 * Returns the kernel program's record of thread @tid if the record is still true: the thread was
 * off the CPU when dump_read_blocked() was called, and its count of switches hasn't changed since.
 * Otherwise NULL.
 */
const struct rec_task *dump_blocked(const struct dump *d, pid_t tid, const struct task_look *look);
/*
 * Returns how many ns have passed since @sched_ns, a time of the scheduler's clock; 0: not known,
 * or @sched_ns is 0.
 */
uint64_t dump_since_ns(const struct dump *d, uint64_t sched_ns);
/*
 * Sets the system call in which a thread is, from its record: /proc doesn't show it if the thread
 * is ready to run. x86-64 only.
 */
void dump_blocked_call(const struct rec_task *rec, struct task_place *ret);

/* threads.c: reads the stacks of all threads. 0 or -errno + message. */
_must_use_ int dump_threads(struct dump *d);

/* names.c: sets the names of threads and processes. It takes them from the profile's samples. */
void dump_take_names(struct dump *d);
/* Returns a copy of @text that the profile owns; "" if there is no memory. */
const char *dump_text(struct dump *d, const char *text);

#endif
