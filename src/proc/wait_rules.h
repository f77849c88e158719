/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread waits for, judged by its system call and by the kernel function in which it sleeps.
 * wait_rules is the only list: `krait dump` and the label `state` of recorded waits use it, and the
 * manual page is printed from it.
 */
#ifndef PROC_WAIT_RULES_H
#define PROC_WAIT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

/*
 * The kinds of waits: X(NAME, word in --json and label `state`, words for people). The manual lists
 * the rules in this order. Of the rules that fit a thread, the first counts. The rules give the
 * kind IO where a wait may be NET, PIPE, FILE or IO: which of these it is depends on what the
 * descriptor is (wait_kind_of_io()). Whether a wait for events is LOOP depends on the stack.
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
	 * thread in no system call
	 */
	const char *call_name;
	long call;
	/*
	 * the rule fits only a call that waits for no descriptor: the number of descriptors, its
	 * first or second argument, is 0
	 */
	bool idle;
	const char *wchan; /* beginning of the name of the kernel function that sleeps; NULL: any */
	enum wait_kind kind;
	int fd; /* which argument of the call is the descriptor; -1: none is */
};
/* the rules, tried in order; the last one is WAIT_BLOCKED, which always fits */
extern const struct wait_rule wait_rules[];

/*
 * Returns the rule for a thread that sleeps in the kernel function @wchan ("": not known). The
 * thread is in the system call @call (below 0: in none). Of its arguments @arg the first two are
 * looked at.
 */
const struct wait_rule *wait_rule_of(long call, const uint64_t *arg, const char *wchan);

/* What the descriptor refers to that a thread waits for. */
enum wait_target { TARGET_UNKNOWN, TARGET_SOCKET, TARGET_PIPE, TARGET_FILE };

/*
 * Returns the kind of a wait for input or output. @uninterruptible: no signal can wake the thread
 * up, which is so only in waits for disks and network file systems.
 */
enum wait_kind wait_kind_of_io(enum wait_target target, bool uninterruptible);

/* Returns the kind of a wait for a lock. @gil: what the thread does with the GIL. */
enum wait_kind wait_kind_of_lock(enum gil_state gil);

const char *wait_word(enum wait_kind kind); /* returns the word for this kind of wait in --json */
/* returns the words for this kind of wait, for people */
const char *wait_words(enum wait_kind kind);

#endif
