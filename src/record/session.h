/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One recording: what it holds, its begin, its turns, its end. Who uses it has the words, the files and the exit codes:
 * an error is returned with its message (base/error.h), what goes on is said to log.h's sink, and figures
 * are taken by summary.h.
 *
 * In order: session_init(), session_bound_init(), session_check_permitted(), caller_find(&s->caller); a command is
 * started in s->spawn; session_set_up(), rights_drop(), session_start(), session_run(), session_stop(),
 * summary_take(), session_end_sampling(); then s->profile is whole. session_fini() in any case, and
 * session_hangs().
 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include <time.h>

#include "base/vec.h"
#include "collect/collect.h"
#include "host/caller.h"
#include "host/rights.h"
#include "host/source_files.h"
#include "proc/cpus.h"
#include "proc/match.h"
#include "proc/run_time.h"
#include "profile/condense.h"
#include "profile/intervals.h"
#include "record/options.h"
#include "record/patience.h"
#include "record/spawn.h"
#include "sampler/sampler.h"
#include "sampler/sideband.h"

/* See bound.c. */
struct session_bound {
	uint64_t due_ns; /* what is rare isn't summed up before, CLOCK_MONOTONIC */
	void *reserve;	 /* address space */
	size_t reserve_bytes;
};

/* A process whose time is looked at from end to end; see use.c. */
struct session_use {
	pid_t pid;
	struct run_time first, last; /* .at_ns 0: it wasn't there, or its parent has reaped it */
	uint64_t exited_ns; /* CLOCK_MONOTONIC: its main thread did; 0: not as far as is known */
	bool waits;	    /* enough for krait dump to show where, as far as is known */
};

/* What would help, beside the message: the caller has its own words for it. */
enum session_advice {
	SESSION_ADVICE_NONE,
	SESSION_ADVICE_CHILDREN, /* a process isn't Python, and its children weren't looked at */
	SESSION_ADVICE_ANOTHER,	 /* nor is a child of it: choose another */
};

struct session {
	const struct session_options *options;
	struct rights rights;
	struct caller caller;
	struct event event;
	struct proc_match match;
	bool filtered;	    /* by name, cgroup or container */
	size_t max_bytes;   /* set before session_set_up(): of the profile's tables; 0 = no limit */
	bool prompt;	    /* collect_config.prompt */
	bool patient;	    /* sampler_config.patient */
	bool end_positions; /* profile_location.end_column is wanted */
	struct profile *profile;
	VEC(struct profile_label) labels;
	struct source_files *sources; /* NULL: no source text is wanted */
	struct sampler *sampler;
	struct sideband *sideband;
	struct unwind_cache *cache; /* NULL: none */
	struct collect *collect;
	struct spawn spawn;
	/* Told of each sample, with .added_ctx; NULL: nobody. May be set after session_set_up(). */
	int (*added)(void *ctx, const struct profile_sample *sample);
	void *added_ctx;
	char *title;		    /* the command line, NULL = made from the profile */
	enum session_advice advice; /* of session_start(), where it fails */
	int epoll_fd;
	VEC(int) target_fds; /* pidfds of the processes of .pids, in .epoll_fd */
	struct map exits;    /* wanted processes of which threads have ended: are they over? */
	uint64_t ended_ns;   /* the targets aren't looked at again before, CLOCK_MONOTONIC */
	struct cpus_watch cpus;
	bool tells_use; /* set before session_start(): how much processes ran and waited is wanted */
	struct {
		VEC(struct session_use) all;
		bool taken; /* .taken_ns is known */
		uint64_t
			taken_ns; /* of the machine's CPU time, charged to nobody; at first since its start */
	} uses;
	uint64_t watched_until_ns; /* the command's mappings wake until then; 0: not, or no more */
	uint64_t cpus_ns;	   /* not looked at again before, CLOCK_MONOTONIC */
	int kallsyms_fd;	   /* /proc/kallsyms, -1: none */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	bool more;		   /* is in the rings */
	uint64_t news_ns;	   /* when something unknown came last */
	uint64_t trim_ns;	   /* when memory is given back to the system next */
	uint64_t start_cpu_ns;	   /* krait's own CPU time until sampling began */
	uint64_t sideband_lost;
	struct map clocks; /* .options->label_intervals: pid -> shift_ns of that process's clock */
	interval_fork_vec forks; /* likewise: the processes that were started; at most one more than
					* are looked at */
	VEC(char *) interval_warnings; /* what is wrong with that file, for who asked for it */
	unsigned condensed;	       /* how often what was rare was summed up */
	bool void_ids; /* that failed in the middle: what is on the way can't be taken in any more */
	struct session_bound bound;
	struct patience patience; /* of the end */
	bool abandoned;		  /* a thread still works on a file: see session_hangs() */
	uint64_t unfollowed;	  /* child processes for which there was no room among the roots */
};

/* @o is kept. */
void session_init(struct session *s, const struct session_options *o);

/* Opens everything that takes rights; samples come only after sampler_enable(). 0 or -errno. */
_must_use_ int session_set_up(struct session *s);
void session_fini(struct session *s);

/*
 * After session_fini(): a thread hangs, which nobody waits for. It may use what exit() frees: the process is to end
 * with _exit().
 */
bool session_hangs(const struct session *s);

/* Nothing more is sampled, and the figures were taken: frees all but the profile. */
void session_end_sampling(struct session *s);

/* What was profiled, for the picture's title and for whoever reads the recording later. */
void session_describe_target(struct session *s);

/* Tells the kernel programs which processes are wanted and what is known of them. 0 or -errno. */
_must_use_ int session_add_targets(struct session *s);

/* Side band: thread @tid ended. A process that ended is no target any more: its number is free. */
void session_exit(struct session *s, uint32_t tgid, uint32_t tid);

/* After each reading of the side band: some programs end thousands of threads a second, and each look takes its time. */
void session_exits(struct session *s);

/* True once every process of .pids has ended. */
bool session_targets_ended(struct session *s, uint64_t now_ns);

/*
 * The processes that the command started and that go on after its own end, ascending: daemons. None
 * if it was told to end. Those that are about to end as well are waited for, a little.
 */
void session_daemons(struct session *s, pid_vec *ret);

/* run.c */

/* May krait profile here? Reads its rights; 0 or -errno + message. */
_must_use_ int session_check_permitted(struct session *s);

/* Takes the targets in and begins to sample; .epoll_fd is then readable when there is something to drain. */
_must_use_ int session_start(struct session *s);

/* Holes in the heap go back to the system, which glibc does only when it is told. */
void session_give_back_memory(void);

/* What has come since: to the collector and, where it is complete, to the profile. 0 or -errno + message. */
_must_use_ int session_drain(struct session *s);

/* Told to stop, the time is over, or the targets have ended. */
bool session_finished(struct session *s, uint64_t now);

/* The most ms to sleep before the next session_drain(). */
int session_wait_ms(const struct session *s, uint64_t now);

/*
 * Drains and keeps to its bounds until session_finished(). After each turn @turn, if any, is told with @ctx what time it
 * is. 0 or -errno + message; session_stop() follows in any case.
 */
_must_use_ int session_run(struct session *s, void (*turn)(void *ctx, uint64_t now), void *ctx);

/*
 * No more samples; takes in what is left. 0, or the first error there was, -errno + message; the profile can be
 * written in any case.
 */
_must_use_ int session_stop(struct session *s);

/* use.c */

/* A process of which the recording is to say how much it ran and waited; before session_use_begin(). */
void session_use_add(struct session *s, pid_t pid);

/* Reads their times: right before sampling begins, and right after it has ended. */
void session_use_begin(struct session *s);
void session_use_end(struct session *s);

/* The main thread exited at @time_ns; the process has ended, and may still be there to be read. */
void session_use_exit(struct session *s, pid_t pid, uint64_t time_ns);
void session_use_ended(struct session *s, pid_t pid);

/* Makes comments of them; @sampled_ns: CPU time by the samples of all that was recorded, 0: it isn't known. */
void session_use_tell(struct session *s, uint64_t sampled_ns);

/* Of these the one to be looked at (with its children) for where they wait, as it still lives; 0: none. */
pid_t session_use_living(struct session *s);

/* bound.c */

/* Is there enough memory for any recording? 0 or -ENOMEM + message that says how much it takes. */
_must_use_ int session_check_memory(void);

/* Sets how much memory the recording may take; before session_set_up(). */
void session_bound_init(struct session *s);

/* After each drain: keeps to it. 0 or -errno + message: no more can be recorded. */
_must_use_ int session_bound(struct session *s);

/* What was kept aside for writing is free. */
void session_bound_release(struct session *s);

/* The profile is being made small (condense_begin()): what the session holds takes the new ids. 0 or -ENOMEM + message. */
_must_use_ int session_condense(struct session *s, struct condense *c);

#endif
