/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The output file. A regular file is written without a name (O_TMPFILE), and gets its name at the
 * end. If the file system lacks O_TMPFILE, the file has a temporary name in the same directory
 * until then. So a full disk or a kill leaves no half-written file, and never harms an older file
 * of that name. The file's directory is found once, when the file is opened (place.h says which
 * symbolic links are followed); from then on the directory is held open.
 */
#ifndef HOST_FILES_OUTPUT_H
#define HOST_FILES_OUTPUT_H

#include <stdio.h>
#include "host/files/place.h"

struct output {
	FILE *stream;
	char *path; /* the file's path, as the caller gave it; NULL: standard output */
	/* where the file will be at the end; .place.dir is valid only if .replaces is set */
	struct place place;
	/*
	 * true: the file is put into .place at the end; false: .place already has a file, such as a
	 * FIFO, which is written to
	 */
	bool replaces;
	bool unnamed; /* the file has no name in its directory until the end */
	/* the temporary name that the file has in its directory until the end; NULL: it has none */
	char *temporary;
	/*
	 * path of the directory that krait made for the file. The directory is removed if no file
	 * was put into it. NULL: krait made none.
	 */
	char *made;
};

/*
 * Opens the output @path. "-" means standard output, and so does the path of the regular file to
 * which standard output is redirected. Fails if the file can't be written, so that the user learns
 * this before anything is recorded. 0 or -errno + message.
 */
_must_use_ int output_open(struct output *o, const char *path);

/*
 * Opens the output as output_open() does, under a name that krait chose itself. A file that has
 * this name is replaced, and a link isn't followed.
 */
_must_use_ int output_open_chosen(struct output *o, const char *path);

/*
 * If the output can't be written where it belongs, opens another file for it: @name in a new
 * directory in $TMPDIR, /var/tmp or /tmp. 0 or -errno + message.
 */
_must_use_ int output_open_elsewhere(struct output *o, const char *name);

/*
 * Tells whether the open outputs @a and @b will get the same path, so that one would replace the
 * other.
 */
bool output_same(const struct output *a, const struct output *b);

/*
 * Writes what is still buffered, and gives the file its name. 0 or -errno + message; -ENOMEM if an
 * allocation failed since err_memory_begin(), because something may be missing in the file then.
 */
_must_use_ int output_commit(struct output *o);

/* Closes the output. Removes the file if it wasn't committed. */
void output_fini(struct output *o);

#endif
