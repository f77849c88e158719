/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `krait dump` share. */
#ifndef CLI_DUMP_DUMP_H
#define CLI_DUMP_DUMP_H

#include <stdio.h>

#include "base/map.h"
#include "cli/record/record.h"
#include "dump/dump.h"
#include "dump/facts/source.h"
#include "record/session.h"
#include "view/names/names.h"

struct dump_print;

struct dump_options {
	/* the targets; must come first, because rows of record's option table point into it */
	struct record_options record;
	bool json, short_frames;
	/* the function that prints a process; NULL: dump_print_text() */
	void (*print)(void *arg, const struct dump_print *to, const struct dump_process *p,
		      const struct proc *proc);
	void *print_arg;
};

/* Short names of the files in one profile. Initialised with zeros. */
struct dump_files {
	struct profile *profile;
	struct render_names *names;
};

/*
 * Returns short names for the files of @p. @files owns them until the next call with another
 * profile. Returns NULL if memory ran out.
 */
struct render_names *dump_names(struct dump_files *files, struct profile *p);

/* How to print one process for people: in the order of a traceback, the latest call last. */
struct dump_print {
	FILE *out;
	struct profile *profile;
	struct source *source; /* gives source text of the process that is printed */
	/* whether the process that is printed goes on, has ended, or isn't known */
	enum dump_life life;
	bool colored;
	/*
	 * kernel frames are shown (if nothing else is known of a process, its kernel frames are
	 * shown in any case)
	 */
	bool kernel;
	bool short_frames;	  /* one line for each frame, without source */
	struct dump_files *files; /* short names of files for frames of one line */
};
void dump_print_text(const struct dump_print *to, const struct dump_process *p);

/* Prints one process as JSON. */
void dump_print_json(const struct dump_print *to, const struct dump_process *p);

/* The samples of threads that run. */
struct dump_running {
	struct session session;
	struct session_options options;
	struct map threads; /* dump_thread_key() of a thread -> its struct dump_thread */
	struct map whole;   /* struct dump_thread of each thread whose stack lacks nothing */
	/*
	 * .seen: how many samples the present pass over the profile has met. .taken: how many
	 * samples earlier passes took into account.
	 */
	uint64_t seen, taken;
	/* the latest samples found all mappings and unwind tables that they needed */
	bool clean;
};

/*
 * Samples those threads of the @n @processes that are running, and stores their stacks in them. The
 * stacks are in a profile of their own, which lives until dump_running_fini(). @texts: as in struct
 * collect_config. Prints a warning if sampling isn't possible.
 */
void dump_running_read(struct dump_running *x, const struct dump_options *o,
		       const struct collect_texts *texts, struct dump_process *processes, size_t n);
void dump_running_fini(struct dump_running *x);

/*
 * Prints the @n frames of @t, innermost first. @in: a copy of @to for the profile that has these
 * frames.
 */
const uint32_t *dump_frames(const struct dump_print *to, const struct dump_thread *t,
			    struct dump_print *in, size_t *n);

/* Does what `krait dump` was asked to do; returns the exit code (exit.h). */
int cmd_dump(const struct dump_options *o);

/* Writes @s; characters that a terminal would obey are replaced. */
void dump_put_text(FILE *out, const char *s);

/* Describes in a few words what a thread is doing. */
void dump_state_words(const struct dump_thread *t, struct str *ret);

#endif
