/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of all threads of processes at one moment, without stopping the threads. A blocked
 * thread is read from user space. The kernel's count of the thread's switches proves that the
 * thread didn't run while it was read, so that its stack is of one moment. What krait has read then
 * passes through src/collect, as samples do, into a profile. There the frames get their names.
 */
#ifndef DUMP_DUMP_H
#define DUMP_DUMP_H

#include <sys/types.h>

#include "collect/collect.h"
#include "dump/facts/wait.h"
#include "proc/proc.h"
#include "profile/profile.h"
#include "dump/facts/socket.h"
#include "records.h"

struct dump_thread {
	pid_t tid;
	bool python;	/* the thread has a PyThreadState */
	uint64_t ident; /* what threading.get_ident() gives in the thread; 0: not known */
	/* the thread didn't run while krait read it, so its stack is of one moment */
	bool steady;
	struct wait wait; /* what the thread is doing */
	/*
	 * the thread has no work: the function in which it waits is one in which threads wait for
	 * work (collect/thread/places.h); dump_note_places() sets this member
	 */
	bool idle;
	enum gil_state gil;
	/*
	 * if this thread waits for the GIL: the id of the thread that holds the GIL; 0: not known
	 */
	pid_t gil_holder;
	/* thread .gil_holder had given up the GIL when krait read that thread itself */
	bool gil_moved;
	/* for how long, at least, thread .gil_holder has held the GIL; 0: not known */
	uint64_t gil_held_ns;
	enum walk_outcome outcome;
	enum native_outcome native;
	/* the profile that has .stack; NULL: the profile of dump_profile() */
	struct profile *profile;
	uint32_t stack; /* id of the thread's stack in that profile; 0: the thread has no stack */
	/* for how many ns the thread has been blocked or ready to run; 0: not known */
	uint64_t since_ns;
	/*
	 * what the link of descriptor .wait.fd says: a path, or "socket:[1234]"; may have any bytes
	 */
	char target[128];
	/* if .target is a socket: what the socket is connected to; "": not known */
	char peer[SOCKET_TEXT_BYTES];
	/*
	 * the thread's name in Python or, if it has none there, in the kernel; "": not known. The
	 * profile owns the text.
	 */
	const char *name;
};

/*
 * The state of a process after it was read: X(NAME, word in --json, sentence for people). If the
 * sentence is "", people are told nothing. Once a process has ended, the kernel has dropped its
 * memory, files and names.
 */
#define DUMP_LIVES(X)                                                                              \
	X(GOES_ON, "goes on", "")                                                                  \
	X(ENDED, "ended",                                                                          \
	  "the process ended while it was read: names, frames and source may be missing")          \
	X(HAD_ENDED, "had ended", "the process has ended already; its parent hasn't noticed yet")  \
	X(FIRST_ENDED, "first thread ended",                                                       \
	  "the process's first thread has ended; other threads go on")                             \
	X(LOCKED, "locked",                                                                        \
	  "the process hangs while it changes its list of mappings: its memory can't be read "     \
	  "before it goes on, so only the kernel's frames are shown")

enum dump_life {
#define X(name, word, words) LIFE_##name,
	DUMP_LIVES(X)
#undef X
};

struct dump_process {
	pid_t pid;
	/* version of the process's Python, major << 8 | minor; 0: the process isn't Python */
	uint16_t version;
	bool pypy; /* .version is the Python that the process's PyPy implements */
	/* versions of further interpreters in the process; a 0 ends the list */
	uint16_t more[ABI_INTERPRETERS];
	/*
	 * this version of Python is newer than those that krait knows: threads may lack their names
	 */
	bool newer;
	/*
	 * the process hangs while it changes its list of mappings, so its memory can't be read
	 * (proc_is_locked()); only frames and names that the kernel knows are shown
	 */
	bool locked;
	/*
	 * Another interpreter in the process. It is initialised, but its frames aren't shown.
	 * "CPython 3.9 in FILE"; "": there is none.
	 */
	char other[sizeof(struct collect_other)];
	/*
	 * an interpreter in the process that krait doesn't understand, such as "PyPy 3.11"; "":
	 * there is none
	 */
	char not_understood[128];
	const char *name, *cgroup, *container; /* texts that the profile owns */
	/* the threads, ordered by tid; but the process's first thread comes first */
	VEC(struct dump_thread) threads;
};

struct dump_config {
	/*
	 * .native: show native frames; .leaf: of the native frames, show only those that the
	 * innermost Python function called
	 */
	bool native, leaf;
	bool kernel; /* show frames of the kernel */
	bool interpreter_frames;
	struct unwind_cache *cache; /* cache of unwind tables; NULL: no cache is used */
	/*
	 * functions that are called for source text of code that is in no file, as in
	 * collect_config.texts
	 */
	const struct collect_texts *texts;
	/*
	 * Tells whether the user may see the process of directory @procdir (/proc/PID). NULL: the
	 * user may see all processes.
	 */
	bool (*may_see)(int procdir);
	/*
	 * Tells whether a thread that runs as user @uid and group @gid is the user's own. Not NULL
	 * if .may_see isn't NULL.
	 */
	bool (*is_own)(uint32_t uid, uint32_t gid);
	/*
	 * names of functions in which threads without work wait, in addition to those that krait
	 * knows
	 */
	const char *const *idle_at;
	size_t n_idle_at;
	/* called while krait waits, as collect_config.wait; @ctx is .wait_ctx */
	bool (*wait)(void *ctx, const char *what, unsigned done);
	void *wait_ctx;
};

struct dump;

/* Begins a dump. 0 or -errno + message. */
_must_use_ int dump_open(struct dump **ret, const struct dump_config *config);
/*
 * Ends a dump; @d may be NULL. Returns false if a thread of krait still hangs, as collect_free()
 * does.
 */
bool dump_close(struct dump *d);

/*
 * Adds process @pid to the dump. Returns 1; 0 if the process isn't Python; or an error with a
 * message: -ESRCH: the process has ended; -EPERM: krait may not read its stacks; -ENOTSUP: krait
 * doesn't understand its Python; another -errno. Don't call this for a process that hangs while it
 * changes its list of mappings (proc_is_locked()): the call would block.
 */
_must_use_ int dump_add(struct dump *d, pid_t pid);

/*
 * Adds a process that isn't Python, or whose Python krait doesn't understand: dump_add() has
 * returned 0 or -ENOTSUP for it. Its threads get native and kernel stacks only. 1 or -errno +
 * message.
 */
_must_use_ int dump_add_other(struct dump *d, pid_t pid);

/*
 * Adds a process that hangs while it changes its list of mappings (proc_is_locked()), so that its
 * memory can't be read. Only what the kernel tells of its threads is shown, with the kernel's
 * frames. 1 or -errno + message.
 */
_must_use_ int dump_add_locked(struct dump *d, pid_t pid);

/*
 * Reads the stacks of all processes that were added. 0 or -errno + message. The results of
 * dump_processes() and dump_profile() stay valid until dump_close().
 */
_must_use_ int dump_read(struct dump *d);
size_t dump_processes(const struct dump *d, struct dump_process **ret);
struct profile *dump_profile(struct dump *d);

/*
 * Sets .gil_moved and .gil_held_ns of each thread that waits for the GIL, by comparing it with what
 * was read of the GIL's holder. Call it after running threads were sampled too.
 */
void dump_note_holders(struct dump *d);

/*
 * Sets .idle of threads that wait because they have no work, and changes the kind of .wait of
 * threads whose event loop has nothing to run. Call it after running threads were sampled too.
 */
void dump_note_places(struct dump *d);

/*
 * dump_life() returns the present state of process @i of dump_processes(). dump_proc() returns that
 * process, so that its files can be read.
 */
enum dump_life dump_life(const struct dump *d, size_t i);
const char *dump_life_word(enum dump_life life);  /* word for state @life in --json */
const char *dump_life_words(enum dump_life life); /* sentence for state @life, for people */
const struct proc *dump_proc(const struct dump *d, size_t i);

/*
 * Return a number that identifies a thread: dump_thread_key() makes it from the ids,
 * dump_sampled_thread() from the labels of the thread's sample.
 */
uint64_t dump_thread_key(pid_t pid, pid_t tid);
uint64_t dump_sampled_thread(const struct profile *p, uint32_t labels);

#endif
