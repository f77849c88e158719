/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The output file. A regular file is written without a name (O_TMPFILE; if the file system lacks
 * that, under a temporary name in the same directory) and gets its name at the end. So a full disk
 * or a kill leaves no half file, and never harms an older file of that name. The file's directory
 * is found once, when the file is opened (place.h says which symbolic links are followed); from
 * then on the directory is held open.
 */
#ifndef HOST_FILES_OUTPUT_H
#define HOST_FILES_OUTPUT_H

#include <stdio.h>
#include "host/files/place.h"

struct output {
	FILE *stream;
	char *path; /* path of the file, as the caller gave it; NULL: standard output */
	/* where the file will be; .place.dir is valid only if .replaces is set */
	struct place place;
	/* the file is put into .place at the end; false: it is written in place (a FIFO) */
	bool replaces;
	bool unnamed;	 /* the file has no name until the end */
	char *temporary; /* name that the file has in its directory until the end; NULL: none */
	/*
	 * path of a directory that krait made for the file. It is removed unless the file is put
	 * into it. NULL: krait made none.
	 */
	char *made;
};

/*
 * Opens the output @path. "-" stands for standard output, and so does the regular file that
 * standard output leads to. This fails if the file can't be written, so that the user knows before
 * anything is recorded. 0 or -errno + message.
 */
_must_use_ int output_open(struct output *o, const char *path);

/*
 * Opens the output as output_open() does, for a name that krait chose itself. Whatever file has
 * that name is replaced, and a link isn't followed.
 */
_must_use_ int output_open_chosen(struct output *o, const char *path);

/*
 * Opens another output if the first output can't be written where it belongs: a file @name in a new
 * directory in $TMPDIR, /var/tmp or /tmp. 0 or -errno + message.
 */
_must_use_ int output_open_elsewhere(struct output *o, const char *name);

/* Will the open outputs @a and @b get the same path, so that one would replace the other? */
bool output_same(const struct output *a, const struct output *b);

/*
 * Flushes the file and gives it its name. 0 or -errno + message; -ENOMEM if an allocation failed
 * since err_memory_begin(): in that case something may be missing from the file.
 */
_must_use_ int output_commit(struct output *o);

/* Removes the file unless it was committed. */
void output_fini(struct output *o);

#endif
