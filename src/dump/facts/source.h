/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the program's source. A program sets the names of its files itself (co_filename) and may
 * name any file. So only regular files called .py, .pyw or .pyx are read, below the process's own
 * root, and only those that the process could read too. Text that no file holds comes from the
 * process's memory (texts.h).
 */
#ifndef DUMP_SOURCE_H
#define DUMP_SOURCE_H

#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "dump/facts/texts.h"
#include "proc/read/owner.h"
#include "proc/proc.h"

/* One process, with those of its source files that were read. */
struct source {
	const struct proc *proc;	/* borrowed */
	const struct dump_texts *texts; /* texts in processes' memory; borrowed */
	int root;			/* descriptor of its root directory; -1: not available */
	/* descriptor of the directory where relative names begin; -1: not known */
	int cwd;
	struct proc_owner owner; /* the user with whose rights the source files are opened */
	/* When the process started, since the epoch; a file that is newer may have been changed. */
	uint64_t start_ns;
	VEC(struct source_file *) files;
};

struct source_file {
	char *path;
	char *text; /* text of the file; NULL: no line of it is shown */
	size_t n;
	bool changed;	   /* the file changed after the process started */
	VEC(size_t) lines; /* offset of each line of the file in .text */
};

/* @proc and @texts are borrowed. Never fails: without the right to read, there are no lines. */
void source_init(struct source *s, const struct proc *proc, const struct dump_texts *texts);
void source_fini(struct source *s);

/*
 * Line @line (from 1) of @path: its bytes, without the newline, and their number; NULL if it can't
 * be read. *changed: the file was written after the process started. Valid until source_fini().
 */
const char *source_line(struct source *s, const char *path, int line, size_t *n, bool *changed);

#endif
