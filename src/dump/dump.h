/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of all threads of processes at one moment, without stopping them. A blocked thread is
 * read from user space; its stack is proven by the kernel's count of the thread's switches. What is
 * read passes through src/collect, as samples do, into a profile, where it gets names.
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
	/* the thread didn't run while its stack was read, so the stack is of one moment */
	bool steady;
	struct wait wait; /* what the thread is doing */
	enum gil_state gil;
	/* if this thread waits for the GIL: the thread that holds it; 0: not known */
	pid_t gil_holder;
	/* when the thread .gil_holder itself was read, it didn't hold the GIL any more */
	bool gil_moved;
	/* the thread .gil_holder has held the GIL for at least this long; 0: not known */
	uint64_t gil_held_ns;
	enum walk_outcome outcome;
	enum native_outcome native;
	/* the profile that .stack is in; NULL: the one of dump_profile() */
	struct profile *profile;
	uint32_t stack; /* id of the thread's stack in the profile; 0: it has none */
	/* for how many ns the thread has been blocked or ready to run; 0: not known */
	uint64_t since_ns;
	char target[128]; /* what the descriptor wait.fd is: a path, "socket:[1234]"; any bytes */
	/* If .target is a socket: where its other end is; "": not known. */
	char peer[SOCKET_TEXT_BYTES];
	/* the thread's name in Python, else in the kernel; owned by the profile; "": not known */
	const char *name;
};

/*
 * The state of a process after it was read. X(NAME, word in --json, what people are told; "":
 * nothing). Once a process has ended, the kernel has dropped its memory, files and names.
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
	/* the Python is newer than krait knows: threads may lack their names */
	bool newer;
	/*
	 * proc_is_locked() is true of the process: of its threads only the kernel knows frames and
	 * names
	 */
	bool locked;
	/*
	 * A second interpreter that is initialised but whose frames aren't shown: "CPython 3.9 in
	 * FILE"; "": none.
	 */
	char other[sizeof(struct collect_other)];
	const char *name, *cgroup, *container; /* texts that the profile owns */
	/* threads, ascending by tid, the process's first thread first */
	VEC(struct dump_thread) threads;
};

struct dump_config {
	/*
	 * .native: native frames are shown; .leaf: only those that the innermost Python function
	 * called
	 */
	bool native, leaf;
	bool kernel; /* frames of the kernel are shown */
	bool interpreter_frames;
	struct unwind_cache *cache;	   /* cache of unwind tables; NULL: none */
	const struct collect_texts *texts; /* as in struct collect_config */
	bool (*may_see)(int procdir);	   /* may the user see this process? NULL: all */
	/* May the user see a thread of this user and group? Set together with .may_see. */
	bool (*is_own)(uint32_t uid, uint32_t gid);
	/* means what collect_config.wait does; .wait_ctx is its @ctx */
	bool (*wait)(void *ctx, const char *what, unsigned done);
	void *wait_ctx;
};

struct dump;

/* Begins a dump. 0 or -errno + message. */
_must_use_ int dump_open(struct dump **ret, const struct dump_config *config);
/* Ends a dump; @d may be NULL. Returns what collect_free() does: false if a thread still hangs. */
bool dump_close(struct dump *d);

/*
 * Takes in process @pid. Returns 1; 0 if it isn't Python; -ESRCH, -EPERM (its stacks can't be
 * read), -ENOTSUP (not understood) or -errno, with a message. Blocks on a process that
 * proc_is_locked().
 */
_must_use_ int dump_add(struct dump *d, pid_t pid);

/*
 * Takes in a process that isn't Python: its threads have native and kernel stacks. 1 or -errno +
 * message.
 */
_must_use_ int dump_add_other(struct dump *d, pid_t pid);

/*
 * Takes in a process that proc_is_locked(): only what the kernel says of its threads, kernel frames
 * included.
 */
_must_use_ int dump_add_locked(struct dump *d, pid_t pid);

/*
 * Reads the stacks of all processes taken in. 0 or -errno + message. Pointers from the two
 * functions below hold until dump_close().
 */
_must_use_ int dump_read(struct dump *d);
size_t dump_processes(const struct dump *d, struct dump_process **ret);
struct profile *dump_profile(struct dump *d);

/*
 * Compares who is said to hold the GIL with what these holders' own records say. To be called after
 * running threads were sampled too.
 */
void dump_note_holders(struct dump *d);

/*
 * dump_life(): the state of process @i of dump_processes() now. dump_proc(): where to read its
 * files.
 */
enum dump_life dump_life(const struct dump *d, size_t i);
const char *dump_life_word(enum dump_life life);  /* word for this state in --json */
const char *dump_life_words(enum dump_life life); /* words for this state, for people */
const struct proc *dump_proc(const struct dump *d, size_t i);

/*
 * One number for a thread. dump_thread_key() makes it of the ids, dump_sampled_thread() of a
 * sample's @labels.
 */
uint64_t dump_thread_key(pid_t pid, pid_t tid);
uint64_t dump_sampled_thread(const struct profile *p, uint32_t labels);

#endif
