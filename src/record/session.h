/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One recording: its state, and the functions that begin it, run its loop and end it. The caller
 * prints messages, writes files and chooses exit codes: an error is returned with its message
 * (base/error.h), progress goes to log.h's sink, and figures are taken by summary.h.
 *
 * The functions are called in this order: session_init(), session_bound_init(),
 * session_check_permitted(), caller_find(&s->caller); a command is started in s->spawn;
 * session_set_up(), rights_drop(), session_start(), session_run(), session_stop(), summary_take(),
 * session_end_sampling(), after which s->profile is complete. In any case session_fini() and
 * session_hangs() follow.
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

/* What bound.c needs to keep a session within its limit of memory. */
struct session_bound {
	/*
	 * the profile isn't condensed (its rare parts summed up) again before this time,
	 * CLOCK_MONOTONIC
	 */
	uint64_t due_ns;
	void *reserve; /* address space that is reserved and never touched */
	size_t reserve_bytes;
};

/*
 * A process whose times are read at the beginning and at the end of the recording; see
 * figures/use.c.
 */
struct session_use {
	pid_t pid;
	/*
	 * the times that were read; .at_ns is 0 if the process wasn't there, or its parent had
	 * reaped it
	 */
	struct run_time first, last;
	/* when the process's main thread ended, CLOCK_MONOTONIC; 0: not known */
	uint64_t exited_ns;
	/*
	 * the process waits so much that the user is told to look with krait dump where it waits;
	 * also true if it isn't known how much it waits
	 */
	bool waits;
};

/* How many threads that waited at the recording's beginning have no record of that wait. */
struct session_unread {
	/* number of threads that weren't read, because reading had taken too long */
	unsigned late;
	unsigned full; /* number of threads for which the kernel's table had no room */
	bool all;      /* no thread could be read */
};

/* What the user could do about the error. The caller prints it after the error message. */
enum session_advice {
	SESSION_ADVICE_NONE,
	SESSION_ADVICE_CHILDREN, /* a process isn't Python, and its children weren't examined */
	/* neither a process nor any of its children is Python: choose another process */
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
	bool prompt;	    /* value for collect_config.prompt */
	bool patient;	    /* value for sampler_config.patient */
	bool end_positions; /* profile_location.end_column is wanted */
	struct profile *profile;
	VEC(struct profile_label) labels;
	/* receives source text of files; NULL: no such text is wanted */
	struct source_files *sources;
	/* receives source text that only a process has; NULL: no such text is wanted */
	const struct collect_texts *texts;
	struct sampler *sampler;
	struct sideband *sideband;
	struct unwind_cache *cache; /* cache of unwind tables; NULL: none */
	struct services *services;  /* NULL: services aren't wanted */
	struct collect *collect;
	/* processes about which the kernel programs have asked since the rings were last read */
	pid_vec asked;
	/*
	 * waits that aren't over, as far as krait knows, and whose stacks user space has read; see
	 * waits/blocked.c and waits/open.c
	 */
	VEC(struct rec_wait) met_waits;
	struct {
		/* when session_look_at_left() looks for long waits again, CLOCK_MONOTONIC */
		uint64_t look_ns;
		/* what sampler_waits_left() returned when session_look_at_left() last looked */
		uint64_t seen;
		/*
		 * when session_look_at_left() last looked, some waits hadn't lasted long enough to
		 * be read
		 */
		bool young;
	} left;
	struct session_unread unread;
	struct spawn spawn;
	/*
	 * Called with .added_ctx for each sample; may be NULL. May be set after session_set_up().
	 */
	int (*added)(void *ctx, const struct profile_sample *sample);
	/* Called with .added_ctx, when collect_config.failed is called; may be NULL. */
	void (*failed)(void *ctx, uint32_t tgid, const char *name, int status);
	void *added_ctx;
	/* the command line that the profile gets; NULL: it is made from what was recorded */
	char *title;
	/* what the user could do about the error; set by session_start() if it fails */
	enum session_advice advice;
	int epoll_fd;
	VEC(int) target_fds; /* pidfds of the processes in .pids, which .epoll_fd watches */
	/*
	 * target processes of which a thread has ended; session_exits() checks whether the process
	 * itself has ended
	 */
	struct map exits;
	/*
	 * before this time (CLOCK_MONOTONIC) krait doesn't check again whether targets have ended
	 */
	uint64_t ended_ns;
	struct cpus_watch cpus;
	/* the profile tells how much processes ran and waited; set before session_start() */
	bool tells_use;
	struct {
		VEC(struct session_use) all;
		bool taken; /* .taken_ns is set */
		/*
		 * CPU time, in ns, that the kernel charged to no thread. At the recording's
		 * beginning it counts from the machine's start, at its end from the recording's
		 * beginning.
		 */
		uint64_t taken_ns;
	} uses;
	/*
	 * .throttled_before: control groups that had been throttled when the recording began.
	 * .throttled: control groups that were throttled during the recording, set at its end
	 * (figures/queued.c).
	 */
	throttled_vec throttled_before, throttled;
	/* until this time new mappings of the command wake krait up; 0: they don't wake krait up */
	uint64_t watched_until_ns;
	/* before this time (CLOCK_MONOTONIC) krait doesn't check again whether CPUs came or went */
	uint64_t cpus_ns;
	int kallsyms_fd;	   /* descriptor of /proc/kallsyms; -1: none */
	uint64_t start_ns, end_ns; /* when sampling began and ended, CLOCK_MONOTONIC */
	bool more;		   /* the last reading of the rings left records in them */
	uint64_t flushed_ns;	   /* end of the last session_drain(), CLOCK_MONOTONIC */
	/*
	 * records have come since the last session_drain(), so the next session_drain() is due soon
	 */
	bool answered;
	uint64_t news_ns;      /* when collect_news() was last true, CLOCK_MONOTONIC */
	uint64_t trim_ns;      /* when free memory is next given back to the system */
	uint64_t start_cpu_ns; /* CPU time that krait itself had used when sampling began */
	uint64_t sideband_lost;
	/* with .options->label_intervals: pid -> by how many ns the process's clock is shifted */
	struct map clocks;
	/*
	 * With .options->label_intervals: processes that were started. At most INTERVALS_MAX_FORKS
	 * of them are examined; one more entry shows that there were too many.
	 */
	interval_fork_vec forks;
	/* faults in the file .options->label_intervals, in words for the user */
	VEC(char *) interval_warnings;
	/* how often the profile was condensed (its rare parts summed up) so far */
	unsigned condensed;
	unsigned windows; /* how many windows (parts of the recording) were handed over so far */
	/*
	 * Replacing the profile's ids (rebasing) has failed half-way: waiting samples have old ids,
	 * so they can't be added any more. Once true, this stays true.
	 */
	bool void_ids;
	struct session_bound bound;
	struct patience patience; /* how long krait still waits for names at the recording's end */
	/* a thread that still works on a file was left behind; see session_hangs() */
	bool abandoned;
	/*
	 * number of child processes that aren't followed, because the kernel's table of targets had
	 * no room
	 */
	uint64_t unfollowed;
};

/* Prepares a session that records what @o says. @o is borrowed. */
void session_init(struct session *s, const struct session_options *o);

/*
 * Opens everything for which krait needs rights. Samples come only after session_start(). 0 or
 * -errno.
 */
_must_use_ int session_set_up(struct session *s);
void session_fini(struct session *s);

/*
 * Called after session_fini(): does a thread hang for which nobody waits any more? It may use what
 * exit() frees, so the process must end by _exit().
 */
bool session_hangs(const struct session *s);

/* Frees everything but the profile, after sampling, when the figures have been taken. */
void session_end_sampling(struct session *s);

/*
 * Describes what was profiled, for the picture's title and for people who read the recording later.
 */
void session_describe_target(struct session *s);

/* Tells the kernel programs which processes are wanted, and what is known of them. 0 or -errno. */
_must_use_ int session_add_targets(struct session *s);

/*
 * Notes that thread @tid of process @tgid has ended, as perf reports. A process that has ended is
 * no target any more, because another process may get its number.
 */
void session_exit(struct session *s, uint32_t tgid, uint32_t tid);

/*
 * Checks the processes that session_exit() has noted. Called each time perf's reports were read,
 * and not for each end, because some programs end thousands of threads a second, and a check takes
 * time.
 */
void session_exits(struct session *s);

/* Have all processes of .pids ended? */
bool session_targets_ended(struct session *s, uint64_t now_ns);

/*
 * Lists daemons, ascending: processes that the command started and that go on after its end. There
 * are none if the command was told to end. Waits a little first, because processes may be about to
 * end like the command.
 */
void session_daemons(struct session *s, pid_vec *ret);

/* run.c */

/* Reads krait's rights, and checks that krait may profile here. 0 or -errno + message. */
_must_use_ int session_check_permitted(struct session *s);

/*
 * Adds the targets and begins to sample. From this call on, .epoll_fd is readable when there are
 * records to read.
 */
_must_use_ int session_start(struct session *s);

/* Gives free heap memory back to the system, because glibc does so only if it is told to. */
void session_give_back_memory(void);

/*
 * Takes the records that have come into the collector, and from there into the profile as far as
 * they are complete. 0 or -errno + message.
 */
_must_use_ int session_drain(struct session *s);

/*
 * Changes the sampling rate of CPU time, and what stacks of waits may cost (0: WAIT_BUDGET_PPM);
 * possible while samples are taken. Each sample weighs its own period, so the shares of functions
 * in the profile don't change. @hz 0: the rate stays. 0; -EINVAL + message: no kernel offers this
 * rate.
 */
_must_use_ int session_set_effort(struct session *s, uint32_t hz, uint32_t wait_budget_ppm);

/* Was the session told to stop, is its time over, or have its targets ended? */
bool session_finished(struct session *s, uint64_t now);

/* Returns the longest sleep before the next session_drain(), in ms. */
int session_wait_ms(const struct session *s, uint64_t now);

/*
 * Reads the rings again and again, and keeps the session within its memory, until
 * session_finished(). After each round calls @turn, unless NULL, with @ctx and the time; if @turn
 * returns anything but 0, the run ends with that result. 0 or -errno + message; in any case
 * session_stop() must follow.
 */
_must_use_ int session_run(struct session *s, int (*turn)(void *ctx, uint64_t now), void *ctx);

/*
 * Ends sampling and takes in the records that are left. Returns 0, or the first error as -errno +
 * message; the profile can be written in any case.
 */
_must_use_ int session_stop(struct session *s);

/*
 * waits/blocked.c: reads the threads that wait now, if waits are recorded; called right after
 * sampling has begun. If a thread isn't read, its first wait is missing.
 */
void session_read_blocked(struct session *s);

/*
 * waits/open.c: session_look_at_left() is called each time the rings were read. From time to time
 * it reads the stacks of long waits whose stacks the kernel program didn't take. session_end_left()
 * is called right before sampling ends and reads such stacks once more.
 */
void session_look_at_left(struct session *s);
void session_end_left(struct session *s);

/*
 * session_note_asked() notes that the kernel program has asked about a process. session_read_met(),
 * called after the rings were read, reads the stacks of those threads of such processes that are
 * still in the wait in which the kernel program first saw them. session_complete_wait() is called
 * with the record of a wait that has ended. If user space has read the wait's stack, or if the
 * kernel program didn't take one (WAIT_LEFT), this function sets *@ret to the completed record and
 * returns true. It returns false if @rec is complete already.
 */
void session_note_asked(struct session *s, const struct rec_proc *rec);
void session_read_met(struct session *s);
bool session_complete_wait(struct session *s, const struct rec_wait *rec, size_t n,
			   struct rec_wait *ret);
/*
 * session_met_wait() returns the wait of record @rec if user space has read its stack, else NULL.
 * session_give_stack() copies that stack into *@ret. With @left (the kernel program didn't take a
 * stack) everything else that is known of the wait is also copied. session_read_left() reads the
 * threads of processes @tgids that have waited since @left_until_ns or longer and whose stacks the
 * kernel program didn't take.
 */
const struct rec_wait *session_met_wait(const struct session *s, const struct rec_wait *rec);
void session_give_stack(const struct rec_wait *met, bool left, struct rec_wait *ret);
void session_read_left(struct session *s, const pid_vec *tgids, uint64_t left_until_ns);

/*
 * waits/open.c: calls @fn for each wait that isn't over, with the sample that the wait would give
 * if it ended now. This sample isn't added to the profile. @left: the wait will get no sample of
 * its own; its time will be in later samples of the thread. To be called between two calls of
 * session_drain(). Returns 0 or -ENOMEM + message.
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
 * If waits are recorded, notes which control groups are throttled. After the recording's end,
 * session_throttle_ready() returns for how long threads of group @path were ready to run, and sets
 * *@threads to the number of these threads.
 */
void session_throttle_begin(struct session *s);
void session_throttle_end(struct session *s);
uint64_t session_throttle_ready(const struct session *s, const char *path, size_t *threads);

/*
 * Adds process @pid to the processes of which krait reads how long they ran and waited. To be
 * called before session_use_begin().
 */
void session_use_add(struct session *s, pid_t pid);

/*
 * session_use_begin() reads the times of the processes of session_use_add() right before sampling
 * begins, session_use_end() right after it has ended.
 */
void session_use_begin(struct session *s);
void session_use_end(struct session *s);

/*
 * session_use_exit() notes that the main thread of process @pid ended at @time_ns.
 * session_use_ended() notes that the process has ended; its times may still be readable.
 */
void session_use_exit(struct session *s, pid_t pid, uint64_t time_ns);
void session_use_ended(struct session *s, pid_t pid);

/*
 * Adds comments to the profile that say how much the processes ran and waited. @sampled_ns: the CPU
 * time for which all samples stand; 0: not known.
 */
void session_use_tell(struct session *s, uint64_t sampled_ns);

/*
 * Returns a process that still lives and waits: `krait dump` can show where this process and its
 * children wait. 0: there is none.
 */
pid_t session_use_living(struct session *s);

/* bound.c */

/*
 * Is there enough memory for a recording, however small? 0, or -ENOMEM + message that says how much
 * it needs.
 */
_must_use_ int session_check_memory(void);

/* Sets how much memory the recording may take; to be called before session_set_up(). */
void session_bound_init(struct session *s);

/*
 * Keeps the session within its limit of memory; to be called after each session_drain(). 0, or
 * -errno + message: nothing more can be recorded.
 */
_must_use_ int session_bound(struct session *s);

/* Gives the reserved address space back, so that the profile can be written. */
void session_bound_release(struct session *s);

/*
 * Called while the profile is condensed (what is rare is summed up, condense_begin()): replaces the
 * profile ids that the session holds, and makes the kernel programs send everything again. 0 or
 * -ENOMEM + message.
 */
_must_use_ int session_condense(struct session *s, struct condense *c);

/* window.c */

/*
 * Called while the profile is rebased (gets new ids, profile/remake/rebase.h): replaces the profile
 * ids that the session holds. 0 or -ENOMEM + message.
 */
_must_use_ int session_rebase(struct session *s, struct rebase *r);

/* May samples still be added? 0: yes; -ENOMEM + message: no, because .void_ids is set. */
_must_use_ int session_check_ids(const struct session *s);

/*
 * Cuts the recording: *ret is a window, a profile of the samples that were added since the last
 * cut, which the caller frees, and .profile goes on without these samples. To be called between two
 * calls of session_drain() (for example in session_run()'s @turn); session_stop() completes the
 * last window, which stays in .profile. 0, or -errno + message, in which case nothing was cut. If
 * .void_ids is set, nothing more can be recorded: session_drain(), session_window() and
 * session_stop() return an error, so session_run() ends.
 *
 * Each sample is in exactly one window. It is added once its stack has all its names, so no window
 * lacks a name that is still being read: a sample that waits for names comes in a later window,
 * with its own time. Times count from the recording's begin (profile_meta.time_ns) in all windows,
 * and .duration_ns ends at the cut. A window lacks what is found out about its samples only after
 * the cut: names that threads get later (the samples have the kernel's names), the labels of
 * .label_intervals, and comments that are added later. A window has the comments so far.
 */
_must_use_ int session_window(struct session *s, struct profile **ret);

#endif
