/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in, profile out. Keeps what is known of each process image: its interpreter, the code
 * objects that were copied, its threads and their labels; names each distinct stack once and adds
 * samples to the profile. Knows the records of abi/records.h, not where they come from.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include <sys/types.h>
#include "proc/match.h"
#include "profile/profile.h"
#include "records.h"

struct collect;

/* How answers get back to the kernel programs: sampler_*(), or a test's own. */
struct collect_ops {
	int (*add_layout)(void *ctx, const struct py_layout *layout, uint16_t *index);
	const struct py_layout *(*layout)(void *ctx, uint16_t index);
	int (*set_proc)(void *ctx, const struct proc_key *key, enum proc_state state,
			const struct py_where *where, const struct image_place *place);
	int (*add_exe)(void *ctx, const struct exe_key *key, const struct exe_entry *entry);
	/* Process @tgid isn't what its executable says: report it when it is sampled next. */
	void (*ask_again)(void *ctx, uint32_t tgid);
};

struct collect_config {
	struct profile *profile;
	const struct collect_ops *ops;
	void *ctx;
	const struct proc_match *match;	    /* which processes are wanted; NULL = all */
	const struct profile_label *labels; /* the user's, on every sample */
	size_t n_labels;
	uint64_t start_ns;	      /* CLOCK_MONOTONIC of the profile's time 0 */
	bool clock;		      /* weights are nanoseconds */
	bool (*may_see)(int procdir); /* may this process be shown? NULL: all may */
};

/* NULL on out of memory. @config is copied, what it points to must stay. */
struct collect *collect_new(const struct collect_config *config);
void collect_free(struct collect *c);

/* One record of @n bytes; a broken one is counted. */
void collect_record(struct collect *c, const void *data, size_t n);

/*
 * After each drain: adds the samples whose stacks are complete to the profile. @last: nothing more
 * comes, what is missing is marked. 0 or -errno + message; what couldn't be added then is kept for
 * the next time.
 */
_must_use_ int collect_flush(struct collect *c, bool last);

struct collect_mapping {
	uint32_t tgid;
	uint64_t addr, len, offset, dev, ino;
	const char *path;
};

/*
 * Side band: a process mapped an executable file, a thread ended, its name changed, an execve has
 * replaced an image. Records of the time before and after may come later.
 */
void collect_mapped(struct collect *c, const struct collect_mapping *m);
void collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm);
void collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns);

/* Side band events were lost: processes that may have become Python are examined again. */
void collect_look_again(struct collect *c);

/*
 * Looks at process @tgid now and tells the kernel programs, before it is sampled. 1: Python that
 * can be profiled, 0: not Python, -ENOTSUP with a message: not understood, -errno: gone, no rights.
 */
_must_use_ int collect_examine(struct collect *c, pid_t tgid);

/*
 * Executable file @fd is going to be run by a fork of krait: if it holds an interpreter the kernel
 * programs know it from its first sample on; until then they ignore krait's own. @path is for
 * messages. 0; -errno, -ENOENT where that can't be said beforehand.
 */
_must_use_ int collect_teach(struct collect *c, int fd, const char *path);

struct collect_unsupported {
	char reason[128];
	uint64_t samples;
	unsigned processes;
};

struct collect_stats {
	uint64_t samples; /* in the profile */
	uint64_t weight;  /* their sum, in the event's unit */
	uint64_t cpu_ns;  /* CPU time of threads with enough of it, between their samples */
	uint64_t came;	  /* samples in that time */
	uint64_t outcomes[WALK_OUTCOME_MAX]; /* by how the walk ended */
	uint64_t not_python; /* samples of processes that turned out not to be Python */
	uint64_t unknown;    /* samples of processes that were gone before that could be told */
	uint64_t broken_records, lost_stacks, lost_names;
	unsigned processes, threads; /* Python processes with samples; their threads */
	size_t stacks, codes;
	const struct collect_unsupported *unsupported;
	size_t n_unsupported;
};
void collect_stats(struct collect *c, struct collect_stats *ret);

/* How a walk ended (enum walk_outcome), in the words of marks and closing lines. */
const char *collect_outcome_words(unsigned outcome);

#endif
