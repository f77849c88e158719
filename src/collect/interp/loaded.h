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
 * @order[i]: how many files were loaded before the one that was loaded with the bias @bias[i]; LOADED_UNKNOWN where the
 * loader doesn't say it, as of a static program; of all where its list breaks off, has no end or doesn't come. What dlmopen()
 * loaded counts as later than all else. The process has these numbers in memory of its own: they are what it says.
 */
void loaded_order(const struct proc *proc, const uint64_t *bias, size_t n, uint32_t *order);

#endif
