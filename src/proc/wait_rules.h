/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread waits for, judged by its system call and by the kernel function in which it sleeps.
 * wait_rules is the only list of rules: `krait dump` and the label `state` of recorded waits use
 * it, and the manual page is printed from it.
 */
#ifndef PROC_WAIT_RULES_H
#define PROC_WAIT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

/*
 * The kinds of waits: X(NAME, word in --json and label `state`, words for people). The manual lists
 * the rules in this order. If several rules fit a thread, the first of them counts. Rules have the
 * kind IO if a wait may be NET, PIPE, FILE or IO; wait_kind_of_io() decides that by what the
 * descriptor refers to. Whether a wait for events is LOOP is decided by the thread's stack.
 */
#define WAIT_KINDS(X)                                                                              \
	X(RUNNING, "running", "on a CPU")                                                          \
	X(RUNNABLE, "runnable", "ready to run, waits for a CPU")                                   \
	X(FROZEN, "frozen", "frozen by its control group")                                         \
	X(GIL, "gil", "waiting for the GIL")                                                       \
	X(WORLD, "stop-the-world", "waiting for the end of a stop-the-world pause")                \
	X(SECTION, "critical-section", "waiting for an object's lock (critical section)")          \
	X(LOCK, "lock", "waiting for a lock")                                                      \
	X(SLEEP, "sleep", "sleeping")                                                              \
	X(NET, "net", "waiting for a socket")                                                      \
	X(PIPE, "pipe", "waiting for a pipe")                                                      \
	X(FILE, "disk", "waiting for a file or a disk")                                            \
	X(IO, "other", "waiting for input or output")                                              \
	X(POLL, "poll", "waiting for events")                                                      \
	X(LOOP, "loop", "its event loop has nothing to run")                                       \
	X(CHILD, "child", "waiting for a child process")                                           \
	X(PAGE_FAULT, "page-fault", "waiting for a page of memory")                                \
	X(SIGNAL, "signal", "waiting for a signal")                                                \
	X(STOPPED, "stopped", "stopped by a signal")                                               \
	X(TRACED, "traced", "stopped by a debugger")                                               \
	X(ENDED, "ended", "has ended")                                                             \
	X(BLOCKED, "blocked", "blocked")

enum wait_kind {
#define X(name, word, words) WAIT_##name,
	WAIT_KINDS(X)
#undef X
		WAIT_KIND_MAX
};

/*
 * A rule fits a thread if every field that is set fits the thread. The first rule that fits counts.
 */
struct wait_rule {
	/*
	 * name of the system call that the rule is for; NULL: the rule fits any system call, and a
	 * thread that is in none
	 */
	const char *call_name;
	long call;
	/*
	 * the rule fits only a call that waits for no descriptor: its first or second argument, the
	 * number of descriptors, is 0
	 */
	bool idle;
	/* beginning of the name of the kernel function that sleeps; NULL: any function fits */
	const char *wchan;
	enum wait_kind kind;
	/* index of the argument that is the descriptor; -1: the call has no such argument */
	int fd;
};
/* the rules, tried in order; the last rule, with WAIT_BLOCKED, always fits */
extern const struct wait_rule wait_rules[];

/*
 * Returns the rule for a thread that sleeps in the kernel function @wchan ("": not known). The
 * thread is in the system call @call (below 0: in none), whose first two arguments are @arg[0] and
 * @arg[1].
 */
const struct wait_rule *wait_rule_of(long call, const uint64_t *arg, const char *wchan);

/* What a descriptor refers to for which a thread waits. */
enum wait_target { TARGET_UNKNOWN, TARGET_SOCKET, TARGET_PIPE, TARGET_FILE };

/*
 * Returns the kind of a wait for input or output. @uninterruptible: no signal can wake the thread,
 * as in waits for disks and network file systems only.
 */
enum wait_kind wait_kind_of_io(enum wait_target target, bool uninterruptible);

/* Returns the kind of a wait for a lock. @gil: what the thread does with the GIL. */
enum wait_kind wait_kind_of_lock(enum gil_state gil);

const char *wait_word(enum wait_kind kind); /* returns the word for this kind of wait in --json */
/* returns the words for this kind of wait, for people */
const char *wait_words(enum wait_kind kind);

#endif
