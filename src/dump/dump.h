/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of all threads of processes at one moment, without stopping the threads. A blocked
 * thread is read from user space. The kernel's count of the thread's switches proves that the
 * thread didn't run while it was read, so that its stack is of one moment. What is read passes
 * through src/collect, as samples do, into a profile, where frames get their names.
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
	/* the thread has no work (collect/thread/places.h); dump_note_places() sets it */
	bool idle;
	enum gil_state gil;
	/* if this thread waits for the GIL, the thread that holds the GIL; 0: not known */
	pid_t gil_holder;
	/* when .gil_holder was read itself, that thread didn't hold the GIL any more */
	bool gil_moved;
	/* for how long, at least, the thread .gil_holder has held the GIL; 0: not known */
	uint64_t gil_held_ns;
	enum walk_outcome outcome;
	enum native_outcome native;
	/* the profile that .stack is in; NULL: the one of dump_profile() */
	struct profile *profile;
	uint32_t stack; /* id of the thread's stack in the profile; 0: the thread has no stack */
	/* for how many ns the thread has been blocked or ready to run; 0: not known */
	uint64_t since_ns;
	char target[128]; /* the path behind .wait.fd, or "socket:[1234]"; may have any bytes */
	/* if .target is a socket, what that socket is connected to; "": not known */
	char peer[SOCKET_TEXT_BYTES];
	/*
	 * the thread's name in Python, or else in the kernel; "": not known. The profile owns the
	 * text.
	 */
	const char *name;
};

/*
 * The state of a process after it was read: X(NAME, word in --json, words for people; "": people
 * are told nothing). Once a process has ended, the kernel has dropped its memory, files and names.
 */
#define DUMP_LIVES(X)                                                                              \
	X(GOES_ON, "goes on", "")                                                                  \
	X(ENDED, "ended", "it ended while it was read: names, frames and source may be missing")   \
	X(HAD_ENDED, "had ended", "it has ended already; its parent hasn't noticed yet")           \
	X(FIRST_ENDED, "first thread ended", "its first thread has ended; others go on")           \
	X(LOCKED, "locked",                                                                        \
	  "it hangs while it changes its list of mappings: its memory can't be read before it "    \
	  "goes on, so only the kernel's frames are shown")

enum dump_life {
#define X(name, word, words) LIFE_##name,
	DUMP_LIVES(X)
#undef X
};

struct dump_process {
	pid_t pid;
	/* version of the process's Python, major << 8 | minor; 0: the process isn't Python */
	uint16_t version;
	/* versions of further interpreters in the process, ended by a 0 */
	uint16_t more[ABI_INTERPRETERS];
	/*
	 * krait doesn't know this version of Python yet, as it is newer: threads may lack their
	 * names
	 */
	bool newer;
	/*
	 * proc_is_locked() is true of the process, so only frames and names that the kernel knows
	 * are shown
	 */
	bool locked;
	/*
	 * Another interpreter in the process whose frames aren't shown, although it is initialised:
	 * "CPython 3.9 in FILE"; "": none.
	 */
	char other[sizeof(struct collect_other)];
	/* an interpreter of Python that krait doesn't understand, "PyPy 3.11"; "": none */
	char not_understood[128];
	const char *name, *cgroup, *container; /* texts that the profile owns */
	/* threads, ordered by tid; the process's first thread comes first */
	VEC(struct dump_thread) threads;
};

struct dump_config {
	/*
	 * .native: native frames are shown; .leaf: only native frames that the innermost Python
	 * function called are shown
	 */
	bool native, leaf;
	bool kernel; /* frames of the kernel are shown */
	bool interpreter_frames;
	struct unwind_cache *cache;	   /* cache of unwind tables; NULL: none */
	const struct collect_texts *texts; /* as collect_config.texts */
	/* may the user see the process of this directory /proc/PID? NULL: the user may see all */
	bool (*may_see)(int procdir);
	/*
	 * Tells whether the user may see a thread of user @uid and group @gid. Set if .may_see is
	 * set.
	 */
	bool (*is_own)(uint32_t uid, uint32_t gid);
	/* functions in which threads without work wait, beside those that krait knows */
	const char *const *idle_at;
	size_t n_idle_at;
	/* does what collect_config.wait does; .wait_ctx is passed as @ctx */
	bool (*wait)(void *ctx, const char *what, unsigned done);
	void *wait_ctx;
};

struct dump;

/* Begins a dump. 0 or -errno + message. */
_must_use_ int dump_open(struct dump **ret, const struct dump_config *config);
/*
 * Ends a dump; @d may be NULL. Returns what collect_free() returns: false if a thread of krait
 * still hangs.
 */
bool dump_close(struct dump *d);

/*
 * Adds process @pid to the dump. Returns 1; 0 if it isn't Python; or an error with a message:
 * -ESRCH, -EPERM (its stacks can't be read), -ENOTSUP (its Python isn't understood) or -errno.
 * Don't call this if proc_is_locked() is true of the process, because this call would block.
 */
_must_use_ int dump_add(struct dump *d, pid_t pid);

/*
 * Adds a process to the dump that isn't Python, or whose Python isn't understood (dump_add() has
 * just said so): its threads have native and kernel stacks. 1 or -errno + message.
 */
_must_use_ int dump_add_other(struct dump *d, pid_t pid);

/*
 * Adds a process of which proc_is_locked() is true: what the kernel says of its threads is shown,
 * with kernel frames. 1 or -errno + message.
 */
_must_use_ int dump_add_locked(struct dump *d, pid_t pid);

/*
 * Reads the stacks of all processes that were added. 0 or -errno + message. What dump_processes()
 * and dump_profile() return is valid until dump_close().
 */
_must_use_ int dump_read(struct dump *d);
size_t dump_processes(const struct dump *d, struct dump_process **ret);
struct profile *dump_profile(struct dump *d);

/*
 * Sets .gil_moved and .gil_held_ns of threads that wait for the GIL, by what was read of the thread
 * .gil_holder itself. To be called after running threads were sampled too.
 */
void dump_note_holders(struct dump *d);

/*
 * Sets .idle of threads that wait because they have no work, and the kind of .wait of those whose
 * event loop has nothing to run. To be called after running threads were sampled too.
 */
void dump_note_places(struct dump *d);

/*
 * dump_life() returns the present state of process @i of dump_processes(). dump_proc() returns the
 * process, to read its files.
 */
enum dump_life dump_life(const struct dump *d, size_t i);
const char *dump_life_word(enum dump_life life);  /* word for this state in --json */
const char *dump_life_words(enum dump_life life); /* words for this state, for people */
const struct proc *dump_proc(const struct dump *d, size_t i);

/*
 * Return a number that identifies a thread. dump_thread_key() makes it of the ids,
 * dump_sampled_thread() of the labels of a sample.
 */
uint64_t dump_thread_key(pid_t pid, pid_t tid);
uint64_t dump_sampled_thread(const struct profile *p, uint32_t labels);

#endif
