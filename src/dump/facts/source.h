/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads lines of a program's source. The program itself sets the names of its files (co_filename),
 * so it may name any file. So a file is read only if it is a regular file whose name ends in .py,
 * .pyw or .pyx, if it is below the process's own root directory, and if the process could read it
 * too. Source text that is in no file comes from the process's memory (texts.h).
 */
#ifndef DUMP_FACTS_SOURCE_H
#define DUMP_FACTS_SOURCE_H

#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "dump/facts/texts.h"
#include "proc/read/owner.h"
#include "proc/proc.h"

/* A process, and those of its source files that krait has already read. */
struct source {
	const struct proc *proc;	/* borrowed */
	const struct dump_texts *texts; /* source texts from the memory of processes; borrowed */
	/* descriptor of the process's root directory; -1: not available */
	int root;
	/* descriptor of the directory from which relative file names start; -1: not known */
	int cwd;
	struct proc_owner owner; /* the user with whose rights the source files are opened */
	/*
	 * When the process started, since the epoch. If a file was changed later, it may not be
	 * what runs.
	 */
	uint64_t start_ns;
	VEC(struct source_file *) files;
};

struct source_file {
	char *path;
	char *text; /* text of the file; NULL: none of its lines may be shown */
	size_t n;
	bool changed;	   /* the file was changed after the process started */
	VEC(size_t) lines; /* where each line of the file begins in .text */
};

/*
 * Prepares to read the source of a process. @proc and @texts are borrowed. Never fails: if the user
 * has no right to read a file, source_line() finds no lines in it.
 */
void source_init(struct source *s, const struct proc *proc, const struct dump_texts *texts);
void source_fini(struct source *s);

/*
 * Returns line @line (counted from 1) of file @path without its newline, and its length in *n; NULL
 * if the line can't be read. *changed: the file was changed after the process started. The line is
 * valid until source_fini().
 */
const char *source_line(struct source *s, const char *path, int line, size_t *n, bool *changed);

#endif
