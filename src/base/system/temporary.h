/* SPDX-License-Identifier: BSD-2-Clause */
/* Temporary files and directories, for what doesn't fit in memory. */
#ifndef BASE_SYSTEM_TEMPORARY_H
#define BASE_SYSTEM_TEMPORARY_H

#include "base/util.h"

/*
 * Opens a new file without a name, for reading and writing, in the first of $TMPDIR, /var/tmp and
 * /tmp where that works. -1 if it works nowhere.
 */
int temporary_file(void);

/*
 * Makes a directory that only krait's user can enter, in the first of $TMPDIR, /var/tmp and /tmp
 * where that works. Returns its path, which the caller frees; NULL if that works nowhere.
 */
char *temporary_dir(void);

#endif
