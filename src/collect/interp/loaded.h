/* SPDX-License-Identifier: BSD-2-Clause */
/* In which order a process's dynamic loader loaded files; see loaded.c. */
#ifndef COLLECT_LOADED_H
#define COLLECT_LOADED_H

#include <stddef.h>
#include <stdint.h>

#include "proc/proc.h"

#define LOADED_UNKNOWN UINT32_MAX
#define LOADED_MOST    64 /* that are asked for at once */

/*
 * @order[i] becomes the number of files that were loaded before the file with the bias @bias[i].
 * LOADED_UNKNOWN: the loader doesn't say it, as in a static program. All are LOADED_UNKNOWN if
 * the list breaks off, has no end or can't be read. What dlmopen() loaded counts as later than
 * all else. The numbers come from the process's memory, which may lie.
 */
void loaded_order(const struct proc *proc, const uint64_t *bias, size_t n, uint32_t *order);

#endif
