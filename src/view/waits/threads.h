/* SPDX-License-Identifier: BSD-2-Clause */
/* The threads of a profile in groups, and how long each group ran and waited. */
#ifndef VIEW_WAITS_THREADS_H
#define VIEW_WAITS_THREADS_H

#include "view/waits/waits.h"

struct waits_thread {
	uint32_t labels;   /* one of the thread's label sets */
	uint32_t function; /* the function that the thread runs; 0: not known */
	/* how long the thread ran and waited in stacks whose outermost function is .function */
	int64_t of_function;
	int64_t time;	/* how long the thread ran and waited */
	uint32_t group; /* index in .groups */
};

/*
 * A group of threads that run the same function, in processes with the same name: either main
 * threads only, or other threads only.
 */
struct waits_group {
	uint32_t first; /* index of a thread of the group */
	/* how many threads of the group have at least a twentieth of .longest */
	unsigned threads;
	int64_t longest; /* the time of the thread that has the most time in the group */
	bool main;
	/*
	 * .wait doesn't include .idle; .passive is the part of .wait that was for a time or for
	 * whatever event comes next
	 */
	int64_t cpu, wait, idle, passive;
};

struct waits {
	const struct costs *c;
	const struct profile_sum *sums;
	size_t n_sums;
	/* indices of the values cpu and off_cpu; .cpu -1: the profile has no value cpu */
	int cpu, off;
	/*
	 * the number of processes, not counting brief ones, because most forks soon exec another
	 * program
	 */
	unsigned processes;
	/* by id of a label set: 1 + index in .threads; 0: the label set is of no thread */
	uint32_t *thread_of;
	/* by location id: true if the function only leads to the function that a thread runs */
	bool *bootstrap;
	VEC(struct waits_thread) threads;
	VEC(struct waits_group) groups;
	/*
	 * from group << 32 | string of the state to the time for which the group waited in that
	 * state, without idle time
	 */
	struct map states;
};

/*
 * Tells whether the thread waited for work. @labels: the label set of a sample with waiting time.
 */
bool waits_is_idle(const struct profile *p, uint32_t labels);

/* Finds the threads and groups of a profile. 0 or -ENOMEM. Call waits_fini() in any case. */
_must_use_ int waits_init(struct waits *w, const struct costs *c, const struct profile_sum *sums,
			  size_t n);
void waits_fini(struct waits *w);

static inline int64_t waits_whole(const struct waits_group *g)
{
	int64_t sum = g->cpu;

	costs_sum(&sum, g->wait);
	return sum;
}

/* Returns the group to which the sum's thread belongs; UINT32_MAX: the sum belongs to no thread. */
static inline uint32_t waits_group_of(const struct waits *w, const struct profile_sum *s)
{
	uint32_t thread = w->thread_of[s->labels];

	return thread ? w->threads.v[thread - 1].group : UINT32_MAX;
}

/*
 * Returns the state (id of a string; 0: the waits have no state) in which the group waited longest,
 * and sets *@ns to how long; 0: it didn't wait. State @after isn't considered (WAITS_ANY: all
 * states are).
 */
#define WAITS_ANY UINT32_MAX
uint32_t waits_top(const struct waits *w, uint32_t group, uint32_t after, int64_t *ns);

/*
 * Returns the group that a report is about. That is the main thread's group, unless the main thread
 * waits for work, for other threads or for a time; then it is the busiest other group. UINT32_MAX:
 * there is no group. *ret_main: the main thread's group.
 */
uint32_t waits_choose(const struct waits *w, uint32_t *ret_main);

/* Tells whether the group did next to nothing but wait for work. */
bool waits_only_idle(const struct waits_group *g);
/* Tells whether a group other than @group used a CPU for long enough to matter. */
bool waits_others_run(const struct waits *w, uint32_t group);

/* The words for a state. waits_word() returns NULL if the state isn't in the list. */
struct waits_word {
	const char *name;   /* the state's name: the value of the label `state` */
	const char *phrase; /* words for the state: "for the network"; if .is is set: "asleep" */
	bool is;	    /* .phrase says what the thread is ("asleep"), not what it waits for */
	bool passive;	    /* the thread waits for a time, or for whatever event comes next */
	bool others;	    /* the thread may wait for other threads or processes */
	bool lock;	    /* another thread ends such a wait; the value lock_blame tells which */
};
const struct waits_word *waits_word(const char *state);
#define WAITS_LOOP "loop"

#endif
