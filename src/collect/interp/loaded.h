/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out in which order a process's dynamic loader loaded files; see loaded.c. */
#ifndef COLLECT_INTERP_LOADED_H
#define COLLECT_INTERP_LOADED_H

#include <stddef.h>
#include <stdint.h>

#include "proc/proc.h"

#define LOADED_UNKNOWN UINT32_MAX
#define LOADED_MOST    64 /* the most files that can be asked for at once */

/*
 * Sets @order[i] to the number of files that were loaded before the file whose bias is @bias[i].
 * LOADED_UNKNOWN means that the loader doesn't say it, as in a static program. All of @order is
 * LOADED_UNKNOWN if the list breaks off, has no end or can't be read. Files that dlmopen() loaded
 * count as later than all others. The numbers come from the process's memory, so they can't be
 * trusted.
 */
void loaded_order(const struct proc *proc, const uint64_t *bias, size_t n, uint32_t *order);

#endif
