/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of all threads of processes at this moment, without stopping them. A thread that is blocked
 * is read from user space, its stack proven by the kernel's count of its switches; what is read goes the
 * way of samples (src/collect) into a profile, where it is named.
 */
#ifndef DUMP_DUMP_H
#define DUMP_DUMP_H

#include <sys/types.h>

#include "collect/collect.h"
#include "dump/wait.h"
#include "proc/proc.h"
#include "profile/profile.h"
#include "dump/socket.h"
#include "records.h"

struct dump_thread {
	pid_t tid;
	bool python;	  /* it has a Python thread state */
	uint64_t ident;	  /* its threading.get_ident(); 0: not known */
	bool steady;	  /* didn't run while its stack was read */
	struct wait wait; /* what it is doing */
	enum gil_state gil;
	pid_t gil_holder;     /* if it waits for the GIL: the thread that holds it; 0: not known */
	bool gil_moved;	      /* when that thread itself was read it didn't hold it */
	uint64_t gil_held_ns; /* for so long at least that has held it; 0: not known */
	enum walk_outcome outcome;
	enum native_outcome native;
	struct profile *profile; /* that .stack is in; NULL: dump_profile() */
	uint32_t stack;		 /* in the profile; 0: none */
	uint64_t since_ns;	 /* blocked, or ready to run, for so long; 0: not known */
	char target[128]; /* what descriptor wait.fd is: a path, \"socket:[1234]\"; any bytes */
	char peer
		[SOCKET_TEXT_BYTES]; /* if that is a socket: whose other end is where; "" = not known */
	const char *name; /* Python's, else the kernel's; the profile's, "" = not known */
};

/*
 * How it stands with a process once it was read. X(NAME, word in --json, what to say of it; "": nothing). Of one
 * that ended the kernel has dropped memory, files and names.
 */
#define DUMP_LIVES(X)                                                                              \
	X(GOES_ON, "goes on", "")                                                                  \
	X(ENDED, "ended", "it ended while it was read: names, frames and source may be missing")   \
	X(HAD_ENDED, "had ended", "it has ended already; its parent hasn't noticed yet")           \
	X(FIRST_ENDED, "first thread ended", "its first thread has ended; others go on")           \
	X(LOCKED, "locked",                                                                        \
	  "it hangs while it changes its list of mappings: nobody can read its memory meanwhile, " \
	  "so that there are no frames but the kernel's")

enum dump_life {
#define X(name, word, words) LIFE_##name,
	DUMP_LIVES(X)
#undef X
};

struct dump_process {
	pid_t pid;
	uint16_t version;		 /* of its Python, major << 8 | minor; 0: it isn't */
	uint16_t more[ABI_INTERPRETERS]; /* of others that run in it; 0: no more */
	bool newer;			 /* than krait knows: threads may lack their names */
	bool locked; /* as proc_is_locked(): threads have the kernel's frames and names */
	/* A second interpreter that is initialised, whose frames aren't shown: "CPython 3.9 in FILE"; "": none. */
	char other[sizeof(struct collect_other)];
	const char *name, *cgroup, *container; /* the profile's */
	VEC(struct dump_thread) threads;       /* ascending by tid, the first one first */
};

struct dump_config {
	bool native, leaf; /* native frames; of these the innermost Python function's only */
	bool kernel;	   /* what the kernel does for it */
	bool interpreter_frames;
	struct unwind_cache *cache;   /* of unwind tables; NULL: none */
	bool (*may_see)(int procdir); /* may this process be shown? NULL: all may */
	/* The same of what was read of one at a moment; with .may_see. */
	bool (*is_own)(uint32_t uid, uint32_t gid);
	bool (*wait)(void *ctx, const char *what, unsigned done); /* collect_config.wait, with: */
	void *wait_ctx;
};

struct dump;

/* 0 or -errno + message. */
_must_use_ int dump_open(struct dump **ret, const struct dump_config *config);
/* NULL is fine. False: as collect_free(). */
bool dump_close(struct dump *d);

/*
 * Takes in process @pid: 1; 0 if it isn't Python; -ESRCH, -EPERM (its stacks can't be read), -ENOTSUP
 * (not understood), -errno, with a message. Waits with one that proc_is_locked().
 */
_must_use_ int dump_add(struct dump *d, pid_t pid);

/* The same of any other process: its threads have native and kernel stacks. 1 or -errno + message. */
_must_use_ int dump_add_other(struct dump *d, pid_t pid);

/* The same of one that proc_is_locked(): what the kernel says of its threads, its frames included. */
_must_use_ int dump_add_locked(struct dump *d, pid_t pid);

/* Reads the stacks of all of them. 0 or -errno + message. Then these hold until dump_close(). */
_must_use_ int dump_read(struct dump *d);
size_t dump_processes(const struct dump *d, struct dump_process **ret);
struct profile *dump_profile(struct dump *d);

/* Compares who is said to hold the GIL with what these threads say, once those that run were sampled too. */
void dump_note_holders(struct dump *d);

/* How it stands with the process of dump_processes() at @i now; where its files are to be read. */
enum dump_life dump_life(const struct dump *d, size_t i);
const char *dump_life_word(enum dump_life life);  /* for --json */
const char *dump_life_words(enum dump_life life); /* for people */
const struct proc *dump_proc(const struct dump *d, size_t i);

/* One thread as one number; that of a sample is in its @labels. */
uint64_t dump_thread_key(pid_t pid, pid_t tid);
uint64_t dump_sampled_thread(const struct profile *p, uint32_t labels);

#endif
