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
 * How long after a thread was met krait looks for Python's names of threads. The time doubles after
 * each look. From NAMES_SETTLED_NS on, a look that finds no new name makes it four times as long,
 * because looks take CPU time. Python registers a thread with `threading` a moment after the thread
 * begins to run, and the main thread when a program imports `threading`.
 */
#define NAMES_APART_NS	 (50 * NSEC_PER_MSEC)
#define NAMES_SETTLED_NS (3 * NSEC_PER_SEC)

/* One of a thread's label sets. */
struct label_set {
	uint32_t id; /* profile id of the set; 0: the set isn't made yet */
	bool own;    /* no other thread's samples have this set */
};

/* A label set as the value of the map thread.waits. */
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
	 * label sets of the thread's waits, by key_of() in labels.c; label sets of the time in
	 * which the thread ended other threads' waits, by thread_waker_key()
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
	 * .came: number of samples from .first_ns until .last_ns; .since: number of samples at
	 * .last_ns
	 */
	uint64_t came, since;
	/* when the thread ended, so that its number became free; 0: the thread runs */
	uint64_t ended_ns;
	/*
	 * .earlier: index + 1 in threads.all of the earlier thread of this process with the same
	 * number; 0: there was none. .met_ns: the time of the record by which krait met this
	 * thread.
	 */
	uint32_t earlier;
	uint64_t met_ns;
	/*
	 * members of struct rec_sample that are sums: their largest values in the thread's records
	 * so far
	 */
	uint64_t ready_ns, stolen_ns;
	/*
	 * .last_stack: profile id of the stack of the thread's last sample; 0: there is none.
	 * .last_gil: the state of the GIL in that sample.
	 */
	uint32_t last_stack;
	uint8_t last_gil;
	/* true: .name is the thread's name in Python; false: it is the kernel's name */
	bool named;
	/* threads that ended this thread's waits have label sets with this thread's name */
	bool waited;
	/*
	 * Number of .name, which no other thread's name has. A new name in Python gets the same
	 * number, because it replaces the old name in all label sets. A new name in the kernel gets
	 * a new number.
	 */
	uint32_t name_id;
	char name[64];
};

/*
 * The reported end of a thread that krait hasn't met. perf's reports are read before the ring
 * buffers, so a sample of the thread may still come.
 */
struct thread_end {
	uint32_t tgid, tid;
	uint64_t time_ns;
};

struct threads {
	VEC(struct thread) all;
	uint32_t last_name_id;
	VEC(uint32_t) free;	     /* indices of unused entries of .all */
	struct places places;	     /* which stacks are stacks of threads without work */
	struct on_values on;	     /* the values of the label `on` */
	VEC(struct thread_end) ends; /* ends of threads by time, the earliest first */
	struct ended_threads {
		unsigned n; /* how many threads that had ended were forgotten */
		/* sums over the threads that were forgotten, for collect_stats.cpu_ns and .came */
		uint64_t cpu_ns, came;
		/*
		 * time of the latest event that perf had reported when ended threads were last
		 * forgotten
		 */
		uint64_t at_ns;
	} ended;
};

/*
 * thread.c: notes the thread of a sample soon after the sample, so that krait can read its name
 * while it runs. NULL: out of memory.
 */
struct thread *thread_of_sample(struct collect *c, struct process *p, const struct rec_sample *rec);

/* labels.c: forgets the thread's label sets, so that they are made anew, and frees their memory. */
void thread_forget_sets(struct collect *c, struct thread *t);

/* Counts a sample that came when the thread had run for @runtime_ns. */
void thread_add_runtime(struct thread *t, uint64_t runtime_ns);

/* Notes that the thread has another name now. The thread's label sets stay as they are. */
static inline void thread_new_name(struct collect *c, struct thread *t)
{
	t->name_id = ++c->threads->last_name_id;
	t->waited = false;
}

/*
 * labels.c: returns the key of a label set in thread.waits: the set for samples in which the thread
 * ended a wait of the thread with .name_id @name_id.
 */
uint64_t thread_waker_key(uint8_t gil, uint32_t name_id);
/*
 * Returns the .name_id in a key that thread_waker_key() made; 0: @key is another kind of key, or
 * names no thread.
 */
uint32_t thread_waker_name(uint64_t key);

#endif
