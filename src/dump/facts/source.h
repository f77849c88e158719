/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of a program's source. A program itself sets the names of its files (co_filename), so it
 * may name any file. So a file is read only if it is a regular file called .py, .pyw or .pyx, if it
 * is below the process's own root directory, and if the process could read it too. Text that no
 * file holds comes from the process's memory (texts.h).
 */
#ifndef DUMP_FACTS_SOURCE_H
#define DUMP_FACTS_SOURCE_H

#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "dump/facts/texts.h"
#include "proc/read/owner.h"
#include "proc/proc.h"

/* A process, and those of its source files that krait has read. */
struct source {
	const struct proc *proc;	/* borrowed */
	const struct dump_texts *texts; /* texts in processes' memory; borrowed */
	/* descriptor of the process's root directory; -1: not available */
	int root;
	/* descriptor of the directory where relative names begin; -1: not known */
	int cwd;
	struct proc_owner owner; /* the user with whose rights the source files are opened */
	/* When the process started, since the epoch. A file that is newer may not be what runs. */
	uint64_t start_ns;
	VEC(struct source_file *) files;
};

struct source_file {
	char *path;
	char *text; /* text of the file; NULL: no line of the file is shown */
	size_t n;
	bool changed;	   /* the file changed after the process started */
	VEC(size_t) lines; /* offset of each line of the file in .text */
};

/*
 * Prepares reading source of a process. @proc and @texts are borrowed. Never fails; if the user has
 * no right to read, source_line() finds no lines.
 */
void source_init(struct source *s, const struct proc *proc, const struct dump_texts *texts);
void source_fini(struct source *s);

/*
 * Returns line @line (from 1) of @path without its newline, and its length in *n; NULL if it can't
 * be read. *changed: the file was written after the process started. Valid until source_fini().
 */
const char *source_line(struct source *s, const char *path, int line, size_t *n, bool *changed);

#endif
