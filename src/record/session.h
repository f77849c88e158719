/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One recording: its state, and the functions that begin it, run its loop and end it. The caller
 * prints messages, writes files and chooses exit codes: an error is returned with its message
 * (base/error.h), progress goes to log.h's sink, and figures are taken by summary.h.
 *
 * In order: session_init(), session_bound_init(), session_check_permitted(),
 * caller_find(&s->caller); a command is started in s->spawn; session_set_up(), rights_drop(),
 * session_start(), session_run(), session_stop(), summary_take(), session_end_sampling(); then
 * s->profile is complete. session_fini() in any case, and session_hangs().
 */
#ifndef RECORD_SESSION_H
#define RECORD_SESSION_H

#include <time.h>

#include "base/vec.h"
#include "collect/collect.h"
#include "host/caller.h"
#include "host/rights.h"
#include "host/files/source_files.h"
#include "proc/machine/cpus.h"
#include "proc/machine/throttled.h"
#include "proc/match.h"
#include "proc/run_time.h"
#include "profile/remake/condense.h"
#include "profile/intervals/intervals.h"
#include "profile/remake/rebase.h"
#include "record/events.h"
#include "record/options.h"
#include "record/patience.h"
#include "record/command/spawn.h"
#include "sampler/sampler.h"
#include "sampler/sideband/sideband.h"

/* What keeps a session within its limit of memory; see bound.c. */
struct session_bound {
	uint64_t due_ns; /* the profile isn't condensed again before this time, CLOCK_MONOTONIC */
	void *reserve;	 /* address space in reserve, which is never touched */
	size_t reserve_bytes;
};

/*
 * A process whose times are read at the beginning and at the end of the recording; see
 * figures/use.c.
 */
struct session_use {
	pid_t pid;
	/*
	 * the times that were read; .at_ns is 0 if the process wasn't there, or was reaped by its
	 * parent
	 */
	struct run_time first, last;
	/* when the process's main thread exited, CLOCK_MONOTONIC; 0: not known */
	uint64_t exited_ns;
	/*
	 * the process waits so much that krait dump could show where; also set if that isn't known
	 */
	bool waits;
};

/* How many threads waited when the recording began and have no record of that wait. */
struct session_unread {
	/* number of threads that weren't read because reading would have taken too long */
	unsigned late;
	unsigned full; /* number of threads for which the kernel's table had no room */
	bool all;      /* no thread could be read */
};

/* What the user could do about the error. The caller prints it after the error message. */
enum session_advice {
	SESSION_ADVICE_NONE,
	SESSION_ADVICE_CHILDREN, /* a process isn't Python, and its children weren't examined */
	/* neither a process nor a child of it is Python: choose another process */
	SESSION_ADVICE_ANOTHER,
};

struct session {
	const struct session_options *options;
	struct rights rights;
	struct caller caller;
	struct session_events events;
	struct proc_match match;
	bool filtered; /* target processes are chosen by name, cgroup or container */
	/* the most bytes of the profile's tables; 0: no limit; set before session_set_up() */
	size_t max_bytes;
	bool prompt;	    /* becomes collect_config.prompt */
	bool patient;	    /* becomes sampler_config.patient */
	bool end_positions; /* profile_location.end_column is wanted */
	struct profile *profile;
	VEC(struct profile_label) labels;
	struct source_files *sources;	   /* NULL: no source text of files is wanted */
	const struct collect_texts *texts; /* NULL: no source text in memory is wanted */
	struct sampler *sampler;
	struct sideband *sideband;
	struct unwind_cache *cache; /* cache of unwind tables; NULL: none */
	struct services *services;  /* NULL: services aren't wanted */
	struct collect *collect;
	/* processes about which the kernel programs have asked since the last drain */
	pid_vec asked;
	/*
	 * waits whose stacks user space has read and whose ends haven't come yet; see
	 * waits/blocked.c and waits/open.c
	 */
	VEC(struct rec_wait) met_waits;
	struct {
		/* when session_look_at_left() will look next for long waits, CLOCK_MONOTONIC */
		uint64_t look_ns;
		uint64_t seen; /* sampler_waits_left() when session_look_at_left() last looked */
		/* when session_look_at_left() last looked, some waits were too short to be read */
		bool young;
	} left;
	struct session_unread unread;
	struct spawn spawn;
	/* Called for each sample with .added_ctx; NULL: not. May be set after session_set_up(). */
	int (*added)(void *ctx, const struct profile_sample *sample);
	/* As collect_config.failed, with .added_ctx; NULL: not. */
	void (*failed)(void *ctx, uint32_t tgid, const char *name, int status);
	void *added_ctx;
	char *title; /* the command line for the profile; NULL: made from what was recorded */
	/* what the user could do about the error; set by session_start() if it fails */
	enum session_advice advice;
	int epoll_fd;
	VEC(int) target_fds; /* pidfds of the processes in .pids; .epoll_fd watches these pidfds */
	/*
	 * target processes of which a thread has ended; session_exits() checks if the process has
	 * too
	 */
	struct map exits;
	/* whether targets have ended isn't checked again before this time, CLOCK_MONOTONIC */
	uint64_t ended_ns;
	struct cpus_watch cpus;
	/* the profile tells how much processes ran and waited; set before session_start() */
	bool tells_use;
	struct {
		VEC(struct session_use) all;
		bool taken; /* .taken_ns is set */
		/*
		 * CPU time, in ns, that was charged to no thread. At the recording's begin: since
		 * the machine started; at its end: during the recording.
		 */
		uint64_t taken_ns;
	} uses;
	/*
	 * .throttled_before: control groups that had been throttled when the recording began.
	 * .throttled: at the recording's end, the groups that were throttled during the recording
	 * (figures/queued.c).
	 */
	throttled_vec throttled_before, throttled;
	/*
	 * until this time new mappings of the command wake krait up; 0: new mappings don't wake
	 * krait up
	 */
	uint64_t watched_until_ns;
	/* whether CPUs came or went isn't checked again before this time, CLOCK_MONOTONIC */
	uint64_t cpus_ns;
	int kallsyms_fd;	   /* descriptor of /proc/kallsyms; -1: none */
	uint64_t start_ns, end_ns; /* when sampling began and ended, CLOCK_MONOTONIC */
	bool more;		   /* the last drain left records in the rings */
	uint64_t flushed_ns;	   /* end of the last session_drain(), CLOCK_MONOTONIC */
	/* records came since the last session_drain(), so the next one is due soon */
	bool answered;
	uint64_t news_ns;      /* when collect_news() was last true, CLOCK_MONOTONIC */
	uint64_t trim_ns;      /* when memory is next given back to the system */
	uint64_t start_cpu_ns; /* CPU time that krait itself had used when sampling began */
	uint64_t sideband_lost;
	/* with .options->label_intervals: pid -> ns by which that process's clock is shifted */
	struct map clocks;
	/*
	 * For .options->label_intervals: processes that were started. At most INTERVALS_MAX_FORKS
	 * of these processes are examined; one more entry shows that there were too many.
	 */
	interval_fork_vec forks;
	/* faults in the file .options->label_intervals, in words for the user */
	VEC(char *) interval_warnings;
	unsigned condensed; /* how often the profile was condensed so far */
	unsigned windows;   /* how many windows were handed over so far */
	/*
	 * Rebasing the profile failed half-way: waiting samples have old ids and can't be added any
	 * more. Once true, this stays true.
	 */
	bool void_ids;
	struct session_bound bound;
	struct patience patience; /* how long the end of the recording still waits for names */
	/* a thread was left behind that still works on a file: see session_hangs() */
	bool abandoned;
	/* number of child processes for which the kernel's table of targets had no room */
	uint64_t unfollowed;
};

/* Prepares a session that records what @o says. @o is borrowed. */
void session_init(struct session *s, const struct session_options *o);

/* Opens everything that needs rights. Samples come only after session_start(). 0 or -errno. */
_must_use_ int session_set_up(struct session *s);
void session_fini(struct session *s);

/*
 * After session_fini(): does a thread hang that nobody waits for? It may use what exit() frees, so
 * the process must end by _exit().
 */
bool session_hangs(const struct session *s);

/* After sampling, when the figures were taken: frees everything but the profile. */
void session_end_sampling(struct session *s);

/*
 * Describes what was profiled: for the picture's title, and for whoever reads the recording later.
 */
void session_describe_target(struct session *s);

/* Gives the kernel programs the wanted processes and what is known of them. 0 or -errno. */
_must_use_ int session_add_targets(struct session *s);

/*
 * Notes that thread @tid of process @tgid has ended, as the side band reports. A process that has
 * ended is no target any more, because its pid may be used again.
 */
void session_exit(struct session *s, uint32_t tgid, uint32_t tid);

/*
 * Checks the processes that session_exit() noted. Call it after each drain of the side band: some
 * programs end thousands of threads a second, and each check takes time.
 */
void session_exits(struct session *s);

/* Tells whether every process of .pids has ended. */
bool session_targets_ended(struct session *s, uint64_t now_ns);

/*
 * The processes that the command started and that go on after its end, ascending: daemons. None if
 * the command was told to end. Waits a little for processes that are about to end as well.
 */
void session_daemons(struct session *s, pid_vec *ret);

/* run.c */

/* Reads krait's rights, and checks that krait may profile here. 0 or -errno + message. */
_must_use_ int session_check_permitted(struct session *s);

/*
 * Adds the targets and begins to sample; from then on .epoll_fd is readable when something can be
 * drained.
 */
_must_use_ int session_start(struct session *s);

/*
 * Gives free memory in the heap back to the system. glibc gives memory back only if it is told to.
 */
void session_give_back_memory(void);

/*
 * Takes the records that have come: into the collector and, as far as they are complete, into the
 * profile. 0 or -errno + message.
 */
_must_use_ int session_drain(struct session *s);

/*
 * Changes the rate of CPU time and how much stacks of waits may cost (0: WAIT_BUDGET_PPM), while
 * samples are taken. Each sample weighs its own period, so no share changes. @hz 0: the rate stays.
 * 0; -EINVAL + message: no kernel offers this rate.
 */
_must_use_ int session_set_effort(struct session *s, uint32_t hz, uint32_t wait_budget_ppm);

/* Was the session told to stop, is its time over, or have its targets ended? */
bool session_finished(struct session *s, uint64_t now);

/* Returns the longest sleep before the next session_drain(), in ms. */
int session_wait_ms(const struct session *s, uint64_t now);

/*
 * Drains, and keeps within the bounds, until session_finished(). After each round of the loop calls
 * @turn, unless NULL, with @ctx and the time; what it returns, unless 0, ends the run. 0 or -errno
 * + message; session_stop() follows in any case.
 */
_must_use_ int session_run(struct session *s, int (*turn)(void *ctx, uint64_t now), void *ctx);

/*
 * Ends sampling and takes in what is left. 0, or the first error, -errno + message; the profile can
 * be written in any case.
 */
_must_use_ int session_stop(struct session *s);

/*
 * waits/blocked.c: reads the threads that wait now, right after sampling has begun, if waits are
 * recorded. A thread that isn't read lacks its first wait.
 */
void session_read_blocked(struct session *s);

/*
 * waits/open.c: session_look_at_left() is called after each drain. From time to time it reads the
 * stacks of long waits whose stacks the kernel program didn't take. session_end_left() does the
 * same right before sampling ends.
 */
void session_look_at_left(struct session *s);
void session_end_left(struct session *s);

/*
 * session_note_asked() notes that the kernel program has asked about a process. session_read_met(),
 * called after the drain, reads the stacks of those threads of such processes that are still in the
 * wait in which the kernel program met them. session_complete_wait() is for the record of a wait
 * that has ended. If user space has read the wait's stack, or if the kernel program didn't take one
 * (WAIT_LEFT), it sets *@ret to the completed record and returns true. It returns false if @rec is
 * complete as it is.
 */
void session_note_asked(struct session *s, const struct rec_proc *rec);
void session_read_met(struct session *s);
bool session_complete_wait(struct session *s, const struct rec_wait *rec, size_t n,
			   struct rec_wait *ret);
/*
 * session_met_wait() returns the wait of record @rec if user space has read its stack, else NULL.
 * session_give_stack() copies that stack into *@ret. With @left (the kernel program didn't take a
 * stack) it also copies all else that is known of the wait. session_read_left() reads the threads
 * of processes @tgids that have waited since @left_until_ns or longer and whose stacks the kernel
 * program didn't take.
 */
const struct rec_wait *session_met_wait(const struct session *s, const struct rec_wait *rec);
void session_give_stack(const struct rec_wait *met, bool left, struct rec_wait *ret);
void session_read_left(struct session *s, const pid_vec *tgids, uint64_t left_until_ns);

/*
 * waits/open.c: calls @fn for each wait that isn't over, with the sample that the wait would give
 * if it ended now. That sample isn't added to the profile. @left: the wait will give no sample; its
 * time will be in later samples of the thread. Call it between two drains. Returns 0 or -ENOMEM +
 * message.
 */
typedef int (*session_open_fn)(void *ctx, const struct profile_sample *sample, bool left);
_must_use_ int session_open_waits(struct session *s, session_open_fn fn, void *ctx);

/* figures/use.c */

/*
 * figures/queued.c: notes how long threads of known processes were ready to run before the
 * recording.
 */
void session_begin_accounts(struct session *s);
/*
 * Notes which control groups are throttled, if waits are recorded. After the end,
 * session_throttle_ready() says for how long threads of group @path were ready to run, and sets
 * *@threads to the number of these threads.
 */
void session_throttle_begin(struct session *s);
void session_throttle_end(struct session *s);
uint64_t session_throttle_ready(const struct session *s, const char *path, size_t *threads);

/*
 * Adds process @pid to the processes whose running and waiting times are read. Call it before
 * session_use_begin().
 */
void session_use_add(struct session *s, pid_t pid);

/*
 * Read the times of the processes of session_use_add(), right before sampling begins and right
 * after it has ended.
 */
void session_use_begin(struct session *s);
void session_use_end(struct session *s);

/*
 * session_use_exit() notes that the main thread of process @pid exited at @time_ns,
 * session_use_ended() that the process has ended and may still be there to read.
 */
void session_use_exit(struct session *s, pid_t pid, uint64_t time_ns);
void session_use_ended(struct session *s, pid_t pid);

/*
 * Adds how much the processes ran and waited to the profile, as comments. @sampled_ns: CPU time by
 * all samples, 0: not known.
 */
void session_use_tell(struct session *s, uint64_t sampled_ns);

/*
 * Returns a process that lives and waits: `krait dump` can show where it and its children wait. 0:
 * none.
 */
pid_t session_use_living(struct session *s);

/* bound.c */

/* Is there enough memory for any recording? 0 or -ENOMEM + message with what it needs. */
_must_use_ int session_check_memory(void);

/* Sets how much memory the recording may take; to be called before session_set_up(). */
void session_bound_init(struct session *s);

/*
 * Keeps the session within its memory. Call it after each drain. 0 or -errno + message: no more can
 * be recorded.
 */
_must_use_ int session_bound(struct session *s);

/* Frees the reserve of memory, so that the profile can be written. */
void session_bound_release(struct session *s);

/*
 * The profile is being condensed (condense_begin()): replaces the ids that the session holds, and
 * makes the kernel programs send everything again. 0 or -ENOMEM + message.
 */
_must_use_ int session_condense(struct session *s, struct condense *c);

/* window.c */

/*
 * The profile is being rebased (profile/remake/rebase.h): replaces the ids that the session holds.
 * 0 or -ENOMEM + message.
 */
_must_use_ int session_rebase(struct session *s, struct rebase *r);

/* May samples still be added? 0; -ENOMEM + message: no, .void_ids is set. */
_must_use_ int session_check_ids(const struct session *s);

/*
 * Cuts the recording: *ret is a profile of the samples that were added since the last cut, which
 * the caller frees, and .profile goes on without them. Call it between two drains (for example in
 * session_run()'s @turn); session_stop() completes the last window, which stays in .profile. 0 or
 * -errno + message: then nothing was cut. If .void_ids is set, nothing more can be recorded either:
 * session_drain(), session_window() and session_stop() return an error, so session_run() ends.
 *
 * Each sample is in exactly one window. It is added once its stack has all its names, so no window
 * misses a name that is still being read: a sample that waits for one comes in a later window, with
 * its own time. Times count from the recording's begin (profile_meta.time_ns) in all windows, and
 * .duration_ns is from then to the cut. A window lacks what is found out about its samples only
 * after the cut: the name that a thread gets then (its samples have the kernel's name), the labels
 * of .label_intervals, and comments that are added later. It has the comments so far.
 */
_must_use_ int session_window(struct session *s, struct profile **ret);

#endif
