/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration of a collector, and the functions by which it reaches the kernel programs. */
#ifndef COLLECT_COMMON_CONFIG_H
#define COLLECT_COMMON_CONFIG_H

#include "base/text/str.h"
#include "proc/match.h"
#include "profile/profile.h"
#include "records.h"

#define ALL_USERS UINT32_MAX

/*
 * The functions with which the collector answers the kernel programs: sampler_*(), or a test's own.
 */
struct collect_ops {
	int (*add_layout)(void *ctx, const struct py_layout *layout, uint16_t *index);
	const struct py_layout *(*layout)(void *ctx, uint16_t index);
	int (*set_proc)(void *ctx, const struct proc_key *key, enum proc_state state,
			const struct py_where *where, const struct image_place *place,
			uint32_t space);
	int (*set_several)(void *ctx, const struct proc_several *several);
	int (*add_exe)(void *ctx, const struct exe_key *key, const struct exe_entry *entry);
	/*
	 * Process @tgid may run something other than its executable shows: asks the kernel program
	 * to report the process again at its next sample.
	 */
	void (*ask_again)(void *ctx, uint32_t tgid);
	/*
	 * Tells that new processes of user @uid are only counted until @until_ns (CLOCK_MONOTONIC);
	 * ALL_USERS: new processes of all users.
	 */
	void (*crowd)(void *ctx, uint32_t uid, uint64_t until_ns);
};

/* The store of unwind rows and mappings: unwind_store_*() (sampler/unwind/store.h). */
struct unwind_rows;
struct unwind_fde;
struct unwind_cache;
struct collect_unwind_ops {
	int (*new_table)(void *ctx, uint32_t *table);
	void (*free_table)(void *ctx, uint32_t table);
	int (*fill)(void *ctx, uint32_t table, const struct unwind_rows *rows,
		    const struct unwind_fde *eval, size_t n_eval);
	uint32_t (*given_up)(void *ctx);
	int (*new_space)(void *ctx, uint32_t *slot);
	void (*free_space)(void *ctx, uint32_t slot);
	void (*read_space)(void *ctx, uint32_t slot, bool begins);
	uint64_t (*unmaps)(void *ctx, uint32_t slot);
	int (*set_space)(void *ctx, uint32_t slot, const struct unwind_space *head,
			 const struct unwind_mapping *m, size_t n);
	void (*allow_space)(void *ctx, uint32_t slot, uint64_t at_unmaps);
	/*
	 * Do perf's buffers of what processes do (the side band) hold events of process @tgid that
	 * krait hasn't read yet? True if they may. The pointer is NULL if that can't be known.
	 */
	bool (*untold)(void *ctx, uint32_t tgid);
	/*
	 * Returns how many pages the process of @key maps executable now; 0: not known. @task: the
	 * member .task of the process's first record. The pointer is NULL if no number is ever
	 * known.
	 */
	uint64_t (*code_pages)(void *ctx, const struct proc_key *key, uint64_t task);
	/*
	 * .fill may be called on any thread, while other threads call other functions of the store
	 */
	bool fills_aside;
};

/* The receiver of source text that no file has, only a process. */
struct collect_texts {
	void *ctx;
	/*
	 * Returns true if the text of this file of process @tgid is wanted. @name is what the
	 * process calls the file, @path what the profile calls it. If the text is wanted, met() is
	 * called with the text (each line ends in a newline), or with "" if the process doesn't
	 * have it.
	 */
	bool (*wants)(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *name,
		      const char *path);
	void (*met)(void *ctx, uint32_t tgid, const char *path, const struct str *text);
};

/*
 * The values that a recording of waits adds to the profile. They come after the values of the
 * events, in this order.
 */
enum collect_wait_value { VALUE_GIL_WAIT, VALUE_GIL_BLAME, VALUE_LOCK_BLAME, COLLECT_WAIT_VALUES };

struct collect_config {
	struct profile *profile;
	const struct collect_ops *ops;
	void *ctx;
	/* the store of unwind rows; NULL: stacks have no native frames */
	const struct collect_unwind_ops *unwind;
	/* the kernel programs notice when memory is unmapped: sampler_sees_unmaps() */
	bool sees_unmaps;
	/*
	 * The caller reads all of perf's records of what processes do (the side band) before each
	 * collect_flush(). So when collect_flush() begins, collect_mapped() was called for all
	 * mappings made before the previous collect_flush().
	 */
	bool sees_mapped;
	struct unwind_cache *cache; /* cache of compiled unwind rows on disk; NULL: there is none */
	/*
	 * descriptor of /proc/kallsyms, opened with the right to see addresses (borrowed); -1: none
	 */
	int kallsyms;
	bool interpreter_frames; /* the interpreter's own functions are also shown */
	/*
	 * of native frames, show only the frames that the innermost Python frame called, and the
	 * garbage collector's frames
	 */
	bool leaf;
	/* absolute addresses of the kernel are shown, not offsets from the kernel's start */
	bool kernel_addresses;
	bool native_lines; /* lines and inlined functions are looked up in DWARF */
	/* the profile has the position where each expression ends: profile_location.end_column */
	bool end_positions;
	/* samples are shown as they come, so no sample waits for names that take long to read */
	bool prompt;
	bool all_processes; /* processes without Python are recorded too */
	bool whole_machine; /* no process was named by number or started by krait */
	bool users;	    /* label samples with their process's user, as uid */
	/*
	 * finds services of processes, for the labels service, version, pod and image; NULL:
	 * samples get no such labels
	 */
	struct services *services;
	struct proc_match *match;	    /* which processes are wanted; NULL: all processes */
	const struct profile_label *labels; /* labels that the user gave for every sample */
	size_t n_labels;
	/*
	 * Limit of collect_bytes() + collect_kept_bytes() + what records that wait take, in bytes.
	 * Beyond this limit no new stacks are kept. 0: no limit.
	 */
	size_t max_bytes;
	/*
	 * How many files with native code may be held open. Files beyond this number get no names
	 * and no unwind rows. 0: no limit.
	 */
	size_t max_files;
	/* time 0 of the profile, CLOCK_MONOTONIC; collect_begin() sets it anew */
	uint64_t start_ns;
	/* number of events; an event's value in the profile is at index 1 + rec_sample.source */
	unsigned n_sources;
	/*
	 * index of the event whose expected number of samples can be computed from CPU time; -1:
	 * there is no such event
	 */
	int cpu_source;
	/*
	 * Waits are also recorded. In that case, samples of other events get the label that says
	 * that the thread ran. The profile has COLLECT_WAIT_VALUES more values, after the events'
	 * values.
	 */
	bool waits;
	unsigned wait_source; /* if .waits: rec_sample.source of waits */
	/*
	 * more functions in which a wait counts as idle (thread/places.h); the caller owns the list
	 */
	const char *const *idle_at;
	size_t n_idle_at;
	/* tells whether the user may see a process; NULL: every process may be shown */
	bool (*may_see)(int procdir);
	/*
	 * Called for each file that code of a process is from, possibly more than once. NULL:
	 * nobody is told.
	 */
	void (*met_file)(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *path);
	/* receives source text that only a process has; NULL: nobody wants it */
	const struct collect_texts *texts;
	/*
	 * Called again and again while the collector waits for a thread that works on a file. @what
	 * says what the collector waits for, as in "names of /usr/lib/libx.so". @done changes
	 * whenever a result has come, or the thread has made progress. False: the collector stops
	 * waiting, now and later, and goes on with what it has. NULL: the collector waits until all
	 * is done.
	 */
	bool (*wait)(void *ctx, const char *what, unsigned done);
	/*
	 * Returns how many rounds are over, as sampler_rounds() does. collect_flush() and
	 * collect_ask() call it when they begin; one of them has to follow each reading of the
	 * rings. NULL: the rings are read to their ends before each of these calls, so that each
	 * call ends a round.
	 */
	uint32_t (*rounds)(void *ctx);
	/*
	 * Called for each sample that was added to the profile. Returns 0 or -errno + message.
	 * NULL: nobody is told.
	 */
	int (*added)(void *ctx, const struct profile_sample *s);
	/*
	 * If .waits: called once for each process that is shown and ends with a @status (as from
	 * waitpid()) other than 0. @name may be "". NULL: nobody is told.
	 */
	void (*failed)(void *ctx, uint32_t tgid, const char *name, int status);
};

#endif
