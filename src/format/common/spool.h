/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text that has to wait for other text: formats with a column after a column (all stacks, then all
 * weights) are written in one pass over the samples, the later columns through a temporary file.
 */
#ifndef FORMAT_COMMON_SPOOL_H
#define FORMAT_COMMON_SPOOL_H

#include <stdio.h>
#include "base/util.h"

/* A file to write to, NULL + message on failure. The caller closes it. */
FILE *spool_open(void);

/* Appends to @out what @spool holds, and empties it. 0 or -errno + message. */
_must_use_ int spool_move(FILE *spool, FILE *out);

#endif
