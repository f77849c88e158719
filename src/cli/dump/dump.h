/* SPDX-License-Identifier: BSD-2-Clause */
/* Structs and functions that the files of `krait dump` share. */
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
	/*
	 * the targets; must be the first member, because the rows of record's option table point
	 * into it
	 */
	struct record_options record;
	bool json, short_frames;
	/* the function that prints a process; NULL: dump_print_text() */
	void (*print)(void *arg, const struct dump_print *to, const struct dump_process *p,
		      const struct proc *proc);
	void *print_arg;
};

/* Short names for the files of one profile at a time. Initialise it with zeros. */
struct dump_files {
	struct profile *profile;
	struct render_names *names;
};

/*
 * Returns short names for the files of @p. @files owns them until this is called for another
 * profile. NULL: out of memory.
 */
struct render_names *dump_names(struct dump_files *files, struct profile *p);

/* How to print a process for people: in the order of a traceback, with the latest call last. */
struct dump_print {
	FILE *out;
	struct profile *profile;
	struct source *source; /* source text of the process that is being printed */
	/* whether the process that is being printed goes on, has ended, or hangs */
	enum dump_life life;
	bool colored;
	/*
	 * show kernel frames; if nothing else is known about a process, its kernel frames are shown
	 * in any case
	 */
	bool kernel;
	bool short_frames;	  /* each frame is printed on one line, without source text */
	struct dump_files *files; /* short names of files, for .short_frames */
};
void dump_print_text(const struct dump_print *to, const struct dump_process *p);

/* Prints one process as JSON. */
void dump_print_json(const struct dump_print *to, const struct dump_process *p);

/* Samples of the threads that run. */
struct dump_running {
	struct session session;
	struct session_options options;
	struct map threads; /* key of a thread (dump_thread_key()) -> its struct dump_thread */
	/* the struct dump_thread of each thread that has a complete stack already */
	struct map whole;
	/*
	 * .seen: how many samples the present pass over the profile has looked at so far. .taken:
	 * how many samples the earlier passes have looked at, which this pass skips.
	 */
	uint64_t seen, taken;
	/* none of the latest samples lacked mappings or unwind tables */
	bool clean;
};

/*
 * Samples those threads of the @n @processes that are running, and gives them the stacks of their
 * samples. The stacks are in a separate profile, which lives until dump_running_fini(). @texts: as
 * in struct collect_config. Prints a warning if sampling isn't possible.
 */
void dump_running_read(struct dump_running *x, const struct dump_options *o,
		       const struct collect_texts *texts, struct dump_process *processes, size_t n);
void dump_running_fini(struct dump_running *x);

/*
 * Returns the @n frames of @t that are shown, innermost first. Sets @in to a copy of @to that is
 * for the profile of these frames.
 */
const uint32_t *dump_frames(const struct dump_print *to, const struct dump_thread *t,
			    struct dump_print *in, size_t *n);

/* Runs `krait dump` with the options @o. Returns the exit code (exit.h). */
int cmd_dump(const struct dump_options *o);

/* Writes @s; replaces characters that a terminal would obey. */
void dump_put_text(FILE *out, const char *s);

/* Appends a few words that say what the thread is doing. */
void dump_state_words(const struct dump_thread *t, struct str *ret);

#endif
