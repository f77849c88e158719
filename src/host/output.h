/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The output file. A regular file is written without a name (O_TMPFILE; where the file system has
 * none, under a temporary name in the same directory) and put in its place at the end: a full disk
 * or a kill leaves no half file and never harms an older one. Where that is, is found out once,
 * when the file is opened (place.h says which symbolic links are followed); from then on the
 * directory is held open.
 */
#ifndef HOST_OUTPUT_H
#define HOST_OUTPUT_H

#include <stdio.h>
#include "host/place.h"

struct output {
	FILE *stream;
	char *path;	    /* as it was given, NULL = stdout */
	struct place place; /* where it is going to be; .dir is valid if @replaces */
	bool replaces;	    /* comes into @place at the end; else written in place (a FIFO) */
	bool unnamed;	    /* has no name until then */
	char *temporary;    /* its name in the directory until then, NULL = none */
	char *made;	    /* directory to be removed unless the file comes into it, NULL = none */
};

/*
 * @path "-" is stdout, and so is the regular file that stdout leads to. Fails before anything is
 * recorded if it can't be written. 0 or -errno + message.
 */
_must_use_ int output_open(struct output *o, const char *path);

/*
 * The same for a name that krait chose itself: whatever has it already is replaced, a link isn't
 * followed.
 */
_must_use_ int output_open_chosen(struct output *o, const char *path);

/*
 * For what can't be written where it belongs: a file @name in a new directory, in $TMPDIR, /var/tmp
 * or /tmp. 0 or -errno + message.
 */
_must_use_ int output_open_elsewhere(struct output *o, const char *name);

/* Would one take the place of the other? Both are open. */
bool output_same(const struct output *a, const struct output *b);

/*
 * Flushes and puts the file in its place. 0 or -errno + message; -ENOMEM if an allocation failed since err_memory_begin(): then
 * something may be missing from what was written.
 */
_must_use_ int output_commit(struct output *o);

/* Removes what wasn't committed. */
void output_fini(struct output *o);

#endif
