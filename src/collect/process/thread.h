/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads: their labels, names, and what they ran. */
#ifndef COLLECT_THREAD_H
#define COLLECT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/process/process.h"
#include "profile/condense.h"
#include "records.h"

struct collect;

/* False: out of memory. */
_must_use_ bool threads_init(struct collect *c);
void threads_fini(struct collect *c);

/* Places of threads, those that are free too. */
size_t threads_kept(const struct collect *c);
/* Takes the ids of label sets that a condensed profile has. */
void threads_condense(struct collect *c, struct condense *k);

/* Profile labels of the sampled thread; notes what it ran. */
uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec);

/* A sample of it came whose stack has to wait. */
void thread_meet(struct collect *c, uint32_t process, const struct rec_sample *rec);

/* Of @p's threads those are named whose names weren't read while it was counted only. */
void thread_name_nameless(struct collect *c, const struct process *p);

/* @p's labels aren't what they were. */
void thread_forget_labels(struct collect *c, struct process *p);

/*
 * The side band says of a thread: it ended (@p: its process, NULL: not met yet), or the kernel's
 * name of it changed.
 */
void thread_ended(struct collect *c, const struct process *p, uint32_t tgid, uint32_t tid,
		  uint64_t time_ns);
/* When the thread ended that had this number at @time_ns; 0: not yet, as far as is known. */
uint64_t thread_end_of(const struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void thread_copy_comm(char ret[static PROC_COMM_BYTES], const char *comm);
void thread_comm(struct collect *c, const struct process *p, uint32_t tid, const char *comm);

/* Adds what the threads ran, and the samples of that time, to cpu_ns and came. */
void thread_runtimes(const struct collect *c, struct collect_stats *ret);

/* Python's names for threads met since the last time; @last: once more for all. */
void thread_names(struct collect *c, bool last);

/* Those that ended long ago make room for others; @now_ns: of a side band's event. */
void thread_give_up(struct collect *c, uint64_t now_ns);
/* The process is forgotten. */
void thread_forget_all(struct collect *c, struct process *p);

#endif
