/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the program's source. A program names its files itself (co_filename) and may name any: only
 * regular files called .py, .pyw or .pyx are read, below the process's own root, and only those that the
 * process could read too.
 */
#ifndef DUMP_SOURCE_H
#define DUMP_SOURCE_H

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "proc/owner.h"
#include "proc/proc.h"

/* The files of one process that were looked at. */
struct source {
	const struct proc *proc; /* borrowed */
	int root;		 /* its root directory, -1 = not to be had */
	int cwd;		 /* where relative names are, -1 = not known */
	struct proc_owner owner; /* whose rights count */
	uint64_t
		start_ns; /* of the process, since the epoch; a file that is newer may be another */
	VEC(struct source_file *) files;
};

struct source_file {
	char *path;
	char *text; /* NULL: none is to be shown */
	size_t n;
	bool changed;	   /* since the process began */
	VEC(size_t) lines; /* where each begins */
};

/* @proc stays the caller's. Never fails: without rights there are no lines. */
void source_init(struct source *s, const struct proc *proc);
void source_fini(struct source *s);

/*
 * Line @line (from 1) of @path, without its newline: bytes and their number; NULL if it isn't to be had.
 * *changed: the file was written after the process began. Valid until source_fini().
 */
const char *source_line(struct source *s, const char *path, int line, size_t *n, bool *changed);

#endif
