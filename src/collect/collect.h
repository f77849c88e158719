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
#include "proc/reader.h"
#include "profile/profile.h"
#include "records.h"

struct collect;

#define ALL_USERS UINT32_MAX

/* How answers get back to the kernel programs: sampler_*(), or a test's own. */
struct collect_ops {
	int (*add_layout)(void *ctx, const struct py_layout *layout, uint16_t *index);
	const struct py_layout *(*layout)(void *ctx, uint16_t index);
	int (*set_proc)(void *ctx, const struct proc_key *key, enum proc_state state,
			const struct py_where *where, const struct image_place *place,
			uint32_t space);
	int (*set_several)(void *ctx, const struct proc_several *several);
	int (*add_exe)(void *ctx, const struct exe_key *key, const struct exe_entry *entry);
	/* Process @tgid isn't what its executable says: report it when it is sampled next. */
	void (*ask_again)(void *ctx, uint32_t tgid);
	/* Until @until_ns new processes of user @uid (ALL_USERS: of anybody) are only counted. */
	void (*crowd)(void *ctx, uint32_t uid, uint64_t until_ns);
};

/* What native stacks are unwound with: unwind_store_*(), where each is described. */
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
	bool fills_aside; /* .fill may be called by a thread, beside all others */
};

struct collect_config {
	struct profile *profile;
	const struct collect_ops *ops;
	void *ctx;
	const struct collect_unwind_ops *unwind; /* NULL: no native frames */
	bool sees_unmaps;			 /* sampler_sees_unmaps() */
	bool sees_mapped; /* each flush follows a collect_mapped() of all that there was until the flush before */
	struct unwind_cache *cache; /* of rows; NULL: none */
	int kallsyms; /* /proc/kallsyms, opened with rights to see addresses (borrowed); -1: none */
	bool interpreter_frames; /* show the interpreter's own machinery */
	bool leaf; /* native frames below the innermost Python one alone, and the collector's */
	bool kernel_addresses; /* as they are, not relative to the kernel's start */
	bool native_lines;     /* lines and inlined functions, by DWARF */
	bool end_positions;    /* of expressions: profile_location.end_column */
	bool prompt; /* samples are shown while they come: none waits for a name that comes late */
	bool all_processes;	  /* those that aren't Python too */
	bool whole_machine;	  /* nobody asked for a process by number, or started it */
	struct proc_match *match; /* which processes are wanted; NULL = all */
	const struct profile_label *labels; /* the user's, on every sample */
	size_t n_labels;
	size_t max_bytes; /* of all that is kept (collect_bytes(), collect_kept_bytes()); then no new stacks; 0 = no limit */
	size_t max_files; /* with native code that are held open; of more nothing is known; 0 = no limit */
	uint64_t start_ns; /* CLOCK_MONOTONIC of the profile's time 0, until collect_begin() */
	bool clock;	   /* weights are nanoseconds */
	bool (*may_see)(int procdir); /* may this process be shown? NULL: all may */
	/* Told of each file that code of a process is from, more than once; NULL: nobody. */
	void (*met_file)(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *path);
	/*
	 * Whether source text of such a file that only the process itself has is wanted, where it has it as @name and the profile
	 * as @path; then told of it, of lines that end in newlines. Also told, of "", where it can't be had. NULL: of none.
	 */
	bool (*wants_text)(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *name,
			   const char *path);
	void (*met_text)(void *ctx, uint32_t tgid, const char *path, const struct str *text);
	/*
	 * Asked again and again while the collector waits for a thread that works on a file; @what:
	 * for what, as in "names of /usr/lib/libx.so"; @done: another number whenever something has
	 * come. False: it doesn't wait any more, now and later, and goes on with what there is.
	 * NULL: it waits for all.
	 */
	bool (*wait)(void *ctx, const char *what, unsigned done);
	/* Told of each sample that was added to the profile: 0 or -errno + message. NULL: nobody */
	int (*added)(void *ctx, const struct profile_sample *s);
};

/* NULL on out of memory. @config is copied, what it points to must stay. */
struct collect *collect_new(const struct collect_config *config);

/*
 * Waits for what the next recording has use for, as long as collect_config.wait allows. False: a
 * thread still works on a file, or hangs in it. Then what it reads stays in memory,
 * collect_config.cache is never freed, and the process is ended by _exit().
 */
bool collect_free(struct collect *c);

/* One record of @n bytes; a broken one is counted. */
void collect_record(struct collect *c, const void *data, size_t n);

/*
 * After each drain: adds the samples whose stacks are complete to the profile. @last: nothing more
 * comes, what is missing is marked. 0 or -errno + message; what couldn't be added then is kept for
 * the next time.
 */
_must_use_ int collect_flush(struct collect *c, bool last);

/* Since it was asked last, did anything come but samples of processes, threads and code that were known? */
bool collect_news(struct collect *c);

/* Memory of the profile's tables and of code objects; of names of files and of code made at run time. */
size_t collect_bytes(const struct collect *c);
size_t collect_kept_bytes(const struct collect *c);

/*
 * The profile is made small (profile/condense.h) and the kernel programs were told to send everything again
 * (sampler_send_again()): takes the new ids, gives up code objects that didn't come since the time before. 0 or
 * -ENOMEM + message.
 */
struct condense;
_must_use_ int collect_condense(struct collect *c, struct condense *condense);

/* A flush then has more to do, CLOCK_MONOTONIC; UINT64_MAX: it doesn't. */
uint64_t collect_due_ns(const struct collect *c);

/* The profile's stack of the kernel's frames alone, innermost first: where of its process nothing can be read. */
uint32_t collect_kernel_stack(struct collect *c, const __u64 *pc, size_t n);

/*
 * For who walks stacks itself: the rows for the code at @pc in mappings @version are wanted. True if some may
 * come: when collect_await() returns, they have; there may be more then.
 */
bool collect_want_rows(struct collect *c, uint32_t version, uint64_t pc);
void collect_await(struct collect *c);

/* Rows that some stack wanted, or the second step of such a file, are being made. */
bool collect_rows_coming(const struct collect *c);

/* Readable when there is a reason to flush before the next drain; -1: never. */
int collect_fd(const struct collect *c);

struct collect_mapping {
	uint32_t tgid;
	uint64_t addr, len, offset, dev, ino;
	const char *path;
	uint64_t time_ns;
	bool gone; /* the image that mapped it has ended since */
};

/*
 * Side band: a process mapped an executable file or made memory executable, a thread ended, its name changed, an execve has
 * replaced an image. Records of the time before and after may come later.
 */
void collect_mapped(struct collect *c, const struct collect_mapping *m);
void collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm);
void collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns);

/* The command of `krait record --`, process @tgid, has replaced its image just now. */
void collect_started(struct collect *c, uint32_t tgid);

/* Side band events were lost: processes that may have become Python are examined again. */
void collect_look_again(struct collect *c);

/*
 * Looks at process @tgid now and tells the kernel programs, before it is sampled. 1: Python that
 * can be profiled, 0: not Python, -ENOTSUP with a message: not understood, -errno: gone, no rights.
 */
_must_use_ int collect_examine(struct collect *c, pid_t tgid);

/*
 * Before the first sample: hands over the mappings of the processes that were examined, and unwind rows of the
 * files in them, until @until_ns (CLOCK_MONOTONIC). What isn't ready then is made when a stack needs it.
 */
void collect_prepare(struct collect *c, uint64_t until_ns);

/* Now, @start_ns of CLOCK_MONOTONIC, is the profile's time 0: no sample has been taken yet. */
void collect_begin(struct collect *c, uint64_t start_ns);

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

/* Processes in which a second interpreter is initialised, which isn't shown; of the last of them: */
struct collect_other {
	unsigned processes;
	uint32_t tgid;
	char name[32];	/* CPython 3.9 */
	char file[256]; /* path, or as much of its beginning as fits */
};

struct collect_stats {
	struct collect_other other;
	uint16_t
		newer_version; /* as process.version: of an interpreter whose heap isn't known; 0: none */
	uint64_t samples; /* in the profile */
	uint64_t weight;  /* their sum, in the event's unit */
	uint64_t cpu_ns;  /* CPU time of threads with enough of it, between their samples */
	uint64_t came;	  /* samples in that time */
	uint64_t outcomes[WALK_OUTCOME_MAX]; /* by how the walk ended */
	uint64_t native[NATIVE_OUTCOME_MAX]; /* by how unwinding ended */
	uint64_t not_python; /* samples of processes that turned out not to be Python */
	uint64_t unknown;    /* samples of processes that were gone before that could be told */
	unsigned foreign;    /* processes that .may_see left out, Python or not */
	uint64_t broken_records, lost_stacks, lost_names;
	uint64_t map_malformed,
		map_dropped;  /* entries of perf maps and jitdumps: not one; beyond a limit */
	unsigned maps_unread; /* processes whose perf maps or jitdumps weren't read to their end */
	uint64_t rows_given_up;	 /* unwind tables of a file emptied for others */
	uint64_t rows_refused;	 /* no room for them, for the time being */
	uint64_t rows_too_large; /* files */
	uint64_t names_given_up; /* of files, for others: times */
	uint64_t looks_cut;	/* files that were looked through in part, within a limit of work */
	uint64_t looks_refused; /* files that weren't, because their users' took too long: times */
	unsigned unread_files;	/* whose names were wanted, but weren't read until the end */
	char unread_file[256];	/* the first of them, or as much of it as fits from its end */
	struct reader_stats unreadable; /* processes whose memory didn't come */
	unsigned unfetched;	/* debug files that there was no time to fetch from servers */
	uint64_t unlined;	/* places in native code whose lines weren't looked up in time */
	bool unread_kernel;	/* the kernel's names weren't either */
	uint64_t lists_refused; /* lists of code registered for gdb that couldn't be read */
	struct {
		uint64_t pages; /* of memory that wasn't resident, read for the kernel program */
		uint64_t
			refused; /* that wasn't read: a budget was spent, or a read doesn't come back */
		unsigned processes; /* of which that was refused; */
		char first[64];	    /* number and name of the first of them */
	} absent;
	struct {
		uint64_t times;	    /* upkeep (upkeep.h) that was put off; */
		unsigned processes; /* of which; */
		char first[64];	    /* number and name of the first of them */
	} put_off;
	struct {
		unsigned processes; /* new ones that were counted only (crowd.h); */
		uint64_t
			samples; /* of those that nothing is known of: they aren't in the profile */
		char first[64];	 /* number and name of the first of them; "": not to be told */
	} crowded;
	unsigned lists_cut;	     /* processes: not all of their lists for gdb was read */
	unsigned processes, threads; /* Python processes with samples; their threads */
	size_t stacks, codes;
	struct {
		size_t stacks, codes, threads; /* that are in memory now */
	} kept;
	const struct collect_unsupported *unsupported;
	size_t n_unsupported;
};
void collect_stats(struct collect *c, struct collect_stats *ret);

/* How a walk (enum walk_outcome) and unwinding ended, in the words of marks and closing lines. */
const char *collect_outcome_words(unsigned outcome);
const char *collect_native_words(unsigned outcome);

#endif
