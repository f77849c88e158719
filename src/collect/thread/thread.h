/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the threads of processes: their labels, their names, and how long they ran. */
#ifndef COLLECT_THREAD_THREAD_H
#define COLLECT_THREAD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/process/process.h"
#include "profile/remake/rebase.h"
#include "records.h"

struct collect;
struct waiting;

/* Makes the state of this folder. False: out of memory. */
_must_use_ bool threads_init(struct collect *c);
void threads_fini(struct collect *c);

/* Returns how many entries the table of threads has, free entries included. */
size_t threads_kept(const struct collect *c);
/* Replaces the ids of label sets by the profile's new ids (collect_rebase()). */
void threads_rebase(struct collect *c, struct rebase *r);

/* What a sample's labels say about a wait. All 0: the thread ran. */
struct wait_labels {
	uint32_t state; /* what the thread waited for (wait_state.h) */
	bool idle;	/* the thread had nothing to do */
	uint32_t on;	/* which file, peer or child the thread waited for (on.h); 0: not known */
	/*
	 * thread_number() of the thread whose wait this thread ended while it ran; 0: the sample
	 * isn't that of a waker
	 */
	uint32_t waiter;
};
/*
 * a value of .waiter: the thread whose wait was ended isn't named, because there are too many such
 * threads or because krait has forgotten it
 */
#define WAITER_UNNAMED UINT32_MAX

/*
 * Returns what the labels say of a wait for @state, with stack @stack of the profile. @on: see
 * wait_labels.
 */
struct wait_labels thread_wait(struct collect *c, uint32_t stack, uint32_t state, uint32_t on);

/*
 * Returns the profile's id of the label set for a sample of this thread with this wait; 0: no
 * memory. Also counts the thread's CPU time.
 */
uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec,
		       const struct wait_labels *wait);

/* Times in which a thread neither ran nor waited. */
struct thread_apart {
	uint64_t ready_ns; /* the thread was ready to run, and had no CPU */
	/* the thread had a CPU, but the hypervisor ran something else on that CPU */
	uint64_t stolen_ns;
};

/*
 * account.c: returns by how much the times of struct thread_apart are longer in @rec, which is
 * being added to the profile, than in the thread's earlier records. The record may be hostile.
 */
struct thread_apart thread_apart(struct collect *c, uint32_t process, const struct rec_sample *rec);
/* Notes that a sample of the thread was added with stack @stack of the profile. */
void thread_note_stack(struct collect *c, uint32_t process, const struct rec_sample *rec,
		       uint32_t stack);
/*
 * Returns the stack of the thread's last sample; 0: there is none, or the profile doesn't have that
 * stack any more. *gil: the state of the GIL in that sample.
 */
uint32_t thread_last_stack(struct collect *c, uint32_t process, const struct rec_sample *rec,
			   uint8_t *gil);
/*
 * account.c: adds to wait *w, which is being added to the profile, its share of the time of waits
 * without a stack at the same site (what is waited for).
 */
void thread_share(struct collect *c, struct waiting *w);
/*
 * @w isn't a wait, but has the time of waits without a stack. Keeps this time for later waits of
 * the thread at the same site (what is waited for). False: no wait with a stack came from that site
 * yet.
 */
bool thread_owes(struct collect *c, const struct waiting *w);
/*
 * Returns, as *ret, the time of waits without a stack that wasn't given to a wait of the thread
 * yet, and forgets it (shares_left()). @of: a record of the thread. False: no such time is left.
 */
bool thread_share_left(struct collect *c, const struct waiting *of, struct waiting *ret);

/*
 * Called after thread_share_left() has returned false, when no more records of the thread come, but
 * waits of it may not have been added to the profile yet. From now on each such wait has all the
 * time in its own record, because nothing would take out what it keeps for later waits.
 */
void thread_close(struct collect *c, const struct waiting *of);

/* Adds the two sums in the thread's last record (struct rec_account) to collect_stats.accounts. */
void thread_check_account(struct collect *c, const struct rec_account *rec);

/* Returns the number of a sample's thread: its index in the table of threads + 1; 0: no memory. */
uint32_t thread_number(struct collect *c, uint32_t process, const struct rec_sample *rec);

/* Is @tid still the thread that thread_number() gave number @number? */
bool thread_has_number(const struct collect *c, uint32_t number, uint32_t tid);

/* Notes that a sample of the thread has come. The sample still waits for its stack. */
void thread_meet(struct collect *c, uint32_t process, const struct rec_sample *rec);

/*
 * Begins to keep names of @p's threads: @p was only counted until now. Reads the names that the
 * kernel has, and forgets the labels, so that they are made anew.
 */
void thread_begin_anew(struct collect *c, struct process *p);

/*
 * Forgets the labels of @p's threads, so that they are made anew, because something that the labels
 * say has changed.
 */
void thread_forget_labels(struct collect *c, struct process *p);

/*
 * Frees the label sets of all threads, because programs may cause very many of them. They are made
 * anew when they are needed.
 */
void threads_forget_sets(struct collect *c);

/*
 * Called when perf reports that a thread of @tgid has ended (thread_exited(), before
 * process_exited()), or that its name in the kernel has changed (thread_comm()). Threads that ended
 * long ago are forgotten, to make room for other threads.
 */
void thread_exited(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
/*
 * Returns when the thread ended that had number @tid at @time_ns; 0: as far as is known, it runs.
 */
uint64_t thread_end_of(const struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void thread_copy_comm(char ret[static PROC_COMM_BYTES], const char *comm);
void thread_comm(struct collect *c, const struct process *p, uint32_t tid, const char *comm);

/* Sets .threads, .cpu_ns and .came of *ret. */
void thread_runtimes(const struct collect *c, struct collect_stats *ret);

/* For which processes Python's names of threads are read. */
enum names_of {
	NAMES_OF_DUE, /* processes whose names are due to be read again */
	/* processes with a new thread since the names of their threads were last read */
	NAMES_OF_NEW,
	NAMES_OF_ALL,
};
/*
 * Reads Python's names of threads. Only with NAMES_OF_ALL may this exceed the budget of upkeep
 * (upkeep.h).
 */
void thread_names(struct collect *c, enum names_of which);

/* Forgets all threads of process @p, which is being forgotten itself. */
void thread_forget_all(struct collect *c, struct process *p);

#endif
