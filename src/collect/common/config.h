/* SPDX-License-Identifier: BSD-2-Clause */
/* What a collector is made with, and how it reaches the kernel programs. */
#ifndef COLLECT_COMMON_CONFIG_H
#define COLLECT_COMMON_CONFIG_H

#include "base/str.h"
#include "proc/match.h"
#include "profile/profile.h"
#include "records.h"

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
	/* The side band is emptied before each flush: mappings up to the last flush are known. */
	bool sees_mapped;
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
	/* Of collect_bytes() and collect_kept_bytes(). Beyond it no new stacks are kept. 0: no limit. */
	size_t max_bytes;
	/* Files with native code that are held open. Others have no names and rows. 0: no limit. */
	size_t max_files;
	uint64_t start_ns; /* CLOCK_MONOTONIC of the profile's time 0, until collect_begin() */
	bool clock;	   /* weights are nanoseconds */
	bool (*may_see)(int procdir); /* may this process be shown? NULL: all may */
	/* Told of each file that code of a process is from, more than once; NULL: nobody. */
	void (*met_file)(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *path);
	/*
	 * Is the source text of such a file wanted? It is asked for files that only the process
	 * itself has, as @name; the profile has the file as @path. met_text() is then called with
	 * the text, whose lines end in newlines, or with "" where the process doesn't have it.
	 * NULL: no text is wanted.
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

#endif
