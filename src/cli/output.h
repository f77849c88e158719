/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The output file. A regular file is written without a name (O_TMPFILE; where the file system has
 * none, under a temporary name in the same directory) and put in its place at the end: a full disk
 * or a kill leaves no half file and never harms an older one. A symbolic link is followed.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>
#include "base/util.h"

struct output {
	FILE *stream;
	char *path;	 /* where it is going to be; NULL = stdout */
	char *temporary; /* its name until then, NULL = none */
	bool unnamed;	 /* no name until then; neither = written in place (a FIFO, a device) */
	char *made;	 /* directory to be removed unless the file comes into it, NULL = none */
};

/*
 * @path "-" is stdout, and so is the regular file that stdout leads to. Fails before anything is recorded
 * if it can't be written. 0 or -errno + message.
 */
_must_use_ int output_open(struct output *o, const char *path);

/*
 * For what can't be written where it belongs: a file @name in a new directory, in $TMPDIR, /var/tmp or /tmp.
 * 0 or -errno + message.
 */
_must_use_ int output_open_elsewhere(struct output *o, const char *name);

/* Would one take the place of the other? Both are open. */
bool output_same(const struct output *a, const struct output *b);

/* Flushes and puts the file in its place. 0 or -errno + message. */
_must_use_ int output_commit(struct output *o);

/* Removes what wasn't committed. */
void output_fini(struct output *o);

#endif
