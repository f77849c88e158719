/* SPDX-License-Identifier: BSD-2-Clause */
/* Where what doesn't fit in memory is kept for a while. */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

#include "base/util.h"

/*
 * A new file without a name, for reading and writing, in $TMPDIR, /var/tmp or /tmp, the first where
 * it works; -1 if it does in none of them.
 */
int temporary_file(void);

/* A new directory there, which only this user can enter. Its path (heap), NULL if it works in none of them. */
char *temporary_dir(void);

#endif
