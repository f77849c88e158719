/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds text back until other text is written. Some formats have whole columns one after the other
 * (all stacks, then all weights). krait makes all columns in one pass over the samples. So all
 * columns but the first are kept in temporary files until the first is written.
 */
#ifndef FORMAT_COMMON_SPOOL_H
#define FORMAT_COMMON_SPOOL_H

#include <stdio.h>
#include "base/util.h"

/* Opens a temporary file. NULL + message on failure. The caller closes it. */
FILE *spool_open(void);

/* Appends the contents of @spool to @out, and empties @spool. 0 or -errno + message. */
_must_use_ int spool_move(FILE *spool, FILE *out);

#endif
