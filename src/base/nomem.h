/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that failed. allocate.c sets the message "out of memory" for each (-ENOMEM), and
 * remembers per thread that one failed. A text that couldn't grow is shorter than it should be, and
 * not every caller checks for that. So code that writes or reads a file calls err_memory_begin()
 * first and err_memory_failed() at the end.
 */
#ifndef BASE_NOMEM_H
#define BASE_NOMEM_H

#include "base/util.h"

/* Sets the message "out of memory" and returns -ENOMEM, for `return err_nomem()`. */
int err_nomem(void);

/*
 * err_memory_failed() tells whether an allocation of this thread has failed since its last
 * err_memory_begin().
 */
void err_memory_begin(void);
bool err_memory_failed(void);

#endif
