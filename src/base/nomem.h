/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that failed. Each says so by itself (allocate.c): -ENOMEM has the
 * message "out of memory", and it is remembered. A text that couldn't grow is shorter than it should be, and not every caller looks:
 * so whoever writes or reads a file begins, and asks at its end.
 */
#ifndef BASE_NOMEM_H
#define BASE_NOMEM_H

#include "base/util.h"

/* For `return err_nomem()`: -ENOMEM with that message. */
int err_nomem(void);

/* Has an allocation failed in this thread since err_memory_begin()? */
void err_memory_begin(void);
bool err_memory_failed(void);

#endif
