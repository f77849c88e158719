/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share: the table of threads. */
#ifndef COLLECT_THREAD_INTERNAL_H
#define COLLECT_THREAD_INTERNAL_H

#include "base/system/clock.h"
#include "collect/thread/on.h"
#include "collect/thread/places.h"
#include "collect/thread/shares.h"
#include "collect/thread/thread.h"

/*
 * How long after the first sample of a thread krait looks for the names that threads have in
 * Python. This time doubles after each look; once it is NAMES_SETTLED_NS, a look that finds no new
 * name makes it four times as long, because looks take CPU time. Python registers a thread with
 * `threading` a moment after the thread begins to run, and the main thread when a program imports
 * `threading`.
 */
#define NAMES_APART_NS	 (50 * NSEC_PER_MSEC)
#define NAMES_SETTLED_NS (3 * NSEC_PER_SEC)

/* A label set of a thread. */
struct label_set {
	uint32_t id; /* profile id of the set; 0: the set wasn't made yet */
	bool own;    /* no other thread's samples have this set */
};

/* A map stores a label set as its value (thread.waits). */
_Static_assert(sizeof(struct label_set) == sizeof(uint64_t),
	       "a map stores a label_set as its value");
static inline struct label_set *label_set_in(uint64_t *value)
{
	return (struct label_set *)value;
}

struct thread {
	uint32_t tid;	  /* number of the thread; 0: this entry is free */
	uint32_t process; /* the thread's process, as an index into processes.all */
	struct label_set sets[GIL_STATE_MAX]; /* label sets of samples of the running thread */
	/*
	 * label sets of the thread's waits, by key_of() in labels.c, and label sets of the time in
	 * which this thread ended other threads' waits, by thread_waker_key()
	 */
	struct map waits;
	/*
	 * time of the thread's waits whose stacks weren't taken; NULL: the thread had no such waits
	 */
	struct wait_shares *shares;
	/* CPU time of the thread when counting began; 0: counting hasn't begun */
	uint64_t first_ns;
	uint64_t last_ns; /* CPU time that the thread had used at its last sample */
	/*
	 * .came: number of samples from .first_ns to .last_ns; .since: number of samples that came
	 * when the CPU time was .last_ns
	 */
	uint64_t came, since;
	/* when the thread ended, which made its number free; 0: the thread runs */
	uint64_t ended_ns;
	/*
	 * .earlier: index + 1 in threads.all of the earlier thread of this process with the same
	 * number; 0: there was none. .met_ns: the time of the first record of this thread.
	 */
	uint32_t earlier;
	uint64_t met_ns;
	/*
	 * the largest values that these members of struct rec_sample, which are sums, have had in
	 * the thread's records
	 */
	uint64_t ready_ns, stolen_ns;
	/*
	 * .last_stack: profile id of the stack of the thread's last sample; 0: there is none.
	 * .last_gil: the state of the GIL in that sample.
	 */
	uint32_t last_stack;
	uint8_t last_gil;
	/* true: .name is the thread's name in Python; false: .name is the kernel's name */
	bool named;
	bool closed; /* thread_close() was called */
	/* other threads that ended this thread's waits have label sets with this thread's name */
	bool waited;
	/*
	 * a number for .name, which no other thread has; a new name in Python gets the same number,
	 * because it replaces the old name in all label sets; a new name in the kernel gets a new
	 * number
	 */
	uint32_t name_id;
	char name[64];
};

/*
 * The end of a thread of which no sample has come yet. perf's report of the end is read before the
 * ring buffers, so a sample of the thread may still come.
 */
struct thread_end {
	uint32_t tgid, tid;
	uint64_t time_ns;
};

struct threads {
	VEC(struct thread) all;
	uint32_t last_name_id;
	VEC(uint32_t) free;	     /* indices of unused entries of .all */
	struct places places;	     /* which stacks are those of threads without work */
	struct on_values on;	     /* all values of the label `on` */
	VEC(struct thread_end) ends; /* ends of threads by time, the earliest first */
	struct ended_threads {
		unsigned n; /* how many threads that had ended were forgotten */
		/* sums over the threads that were forgotten, for collect_stats.cpu_ns and .came */
		uint64_t cpu_ns, came;
		/*
		 * the time of the latest event that perf had reported when ended threads were last
		 * forgotten
		 */
		uint64_t at_ns;
	} ended;
};

/*
 * thread.c: notes the thread of a sample as soon as the sample comes, so that krait can read the
 * thread's name while the thread runs. NULL: out of memory.
 */
struct thread *thread_of_sample(struct collect *c, struct process *p, const struct rec_sample *rec);

/* labels.c: frees the thread's label sets, which are made anew when they are needed. */
void thread_forget_sets(struct collect *c, struct thread *t);

/* Counts a sample that was taken when the thread had used @runtime_ns of CPU time. */
void thread_add_runtime(struct thread *t, uint64_t runtime_ns);

/* Notes that the thread has another name now. The thread's label sets stay as they are. */
static inline void thread_new_name(struct collect *c, struct thread *t)
{
	t->name_id = ++c->threads->last_name_id;
	t->waited = false;
}

/*
 * labels.c: returns a key in thread.waits: that of the label set for samples in which this thread
 * ended a wait of the thread whose .name_id is @name_id.
 */
uint64_t thread_waker_key(uint8_t gil, uint32_t name_id);
/*
 * Returns the .name_id in a key that thread_waker_key() made; 0: @key is another kind of key, or
 * names no thread.
 */
uint32_t thread_waker_name(uint64_t key);

#endif
