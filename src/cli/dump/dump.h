/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `krait dump` share. */
#ifndef CLI_DUMP_DUMP_H
#define CLI_DUMP_DUMP_H

#include <stdio.h>

#include "base/map.h"
#include "cli/record/record.h"
#include "dump/dump.h"
#include "dump/source.h"
#include "record/session.h"
#include "view/names/names.h"

struct dump_print;

struct dump_options {
	struct record_options record; /* the targets; first: rows are shared with record */
	bool json, short_frames;
	/* Prints each process instead of krait's own words. NULL: those. */
	void (*print)(void *arg, const struct dump_print *to, const struct dump_process *p,
		      const struct proc *proc);
	void *print_arg;
};

/* How the files of a profile are called; zero-initialised knows none. */
struct dump_files {
	struct profile *profile;
	struct render_names *names;
};

/* The names of @p's files, made once as long as it is the same profile; NULL without memory. */
struct render_names *dump_names(struct dump_files *files, struct profile *p);

/* One process, for people: in the order of a traceback, the latest call last. */
struct dump_print {
	FILE *out;
	struct profile *profile;
	struct source *source; /* of the process that is printed */
	enum dump_life life;   /* its */
	bool colored;
	bool kernel;	   /* its frames; of what nothing else is known, they are shown anyway */
	bool short_frames; /* a line each, without source */
	struct dump_files *files; /* of short frames */
};
void dump_print_text(const struct dump_print *to, const struct dump_process *p);

/* The same as JSON. */
void dump_print_json(const struct dump_print *to, const struct dump_process *p);

/* Samples of threads that run. */
struct dump_running {
	struct session session;
	struct session_options options;
	struct map threads;   /* dump_thread_key() -> struct dump_thread * */
	struct map whole;     /* struct dump_thread * of those with a stack that lacks nothing */
	uint64_t seen, taken; /* samples of the profile */
	bool clean;	      /* the latest samples came when all was there that they needed */
};

/*
 * Samples those threads of the @n @processes that run, and puts the stacks into them; they are in a
 * profile of their own, which lives until dump_running_fini(). What can't be done is said.
 */
void dump_running_read(struct dump_running *x, const struct dump_options *o,
		       struct dump_process *processes, size_t n);
void dump_running_fini(struct dump_running *x);

/* The @n frames of @t, innermost first; @in is @to with the profile that they are in. */
const uint32_t *dump_frames(const struct dump_print *to, const struct dump_thread *t,
			    struct dump_print *in, size_t *n);

/* The whole of `krait dump` after the command line; returns the exit code (exit.h). */
int cmd_dump(const struct dump_options *o);

/* Writes @s without what a terminal would obey. */
void dump_put_text(FILE *out, const char *s);

/* What it is doing, in a few words. */
void dump_state_words(const struct dump_thread *t, struct str *ret);

#endif
