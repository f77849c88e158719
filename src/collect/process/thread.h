/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps threads: their labels, their names, and how long they ran. */
#ifndef COLLECT_THREAD_H
#define COLLECT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/process/process.h"
#include "profile/rebase.h"
#include "records.h"

struct collect;

/* Makes the state of thread.c. False: out of memory. */
_must_use_ bool threads_init(struct collect *c);
void threads_fini(struct collect *c);

/* Returns how many entries the table of threads has, free ones included. */
size_t threads_kept(const struct collect *c);
/* Puts the ids of the rebased profile's label sets in place of the old ones. */
void threads_rebase(struct collect *c, struct rebase *r);

/*
 * Profile id of the label set of the sampled thread; 0: no memory. Also counts the sample and the
 * thread's CPU time.
 */
uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec);

/* Notes that a sample of the thread has come, which has to wait for its stack. */
void thread_meet(struct collect *c, uint32_t process, const struct rec_sample *rec);

/* Reads the kernel's names of those threads of @p that have none because @p was only counted. */
void thread_name_nameless(struct collect *c, const struct process *p);

/* Has the labels of @p's threads made anew, because something that they say has changed. */
void thread_forget_labels(struct collect *c, struct process *p);

/*
 * The side band reports that a thread ended (thread_ended(); @p: its process, NULL: not met yet),
 * or that the kernel's name of it changed (thread_comm()).
 */
void thread_ended(struct collect *c, const struct process *p, uint32_t tgid, uint32_t tid,
		  uint64_t time_ns);
/* When the thread ended that had number @tid at @time_ns; 0: it runs, as far as is known. */
uint64_t thread_end_of(const struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void thread_copy_comm(char ret[static PROC_COMM_BYTES], const char *comm);
void thread_comm(struct collect *c, const struct process *p, uint32_t tid, const char *comm);

/* Sets .threads, .cpu_ns and .came of *ret. */
void thread_runtimes(const struct collect *c, struct collect_stats *ret);

/* Of which processes Python's names of threads are read. */
enum names_of {
	NAMES_OF_DUE, /* processes whose names are due to be read again */
	NAMES_OF_NEW, /* processes in which a thread was met since the names were read last */
	NAMES_OF_ALL,
};
/* Reads Python's names of threads. All but NAMES_OF_ALL keep to the budget (upkeep.h). */
void thread_names(struct collect *c, enum names_of which);

/*
 * Gives up threads that ended long ago, to make room for others. @now_ns: time of an event of the
 * side band.
 */
void thread_give_up(struct collect *c, uint64_t now_ns);
/* Gives up all threads of process @p, which is being forgotten. */
void thread_forget_all(struct collect *c, struct process *p);

#endif
