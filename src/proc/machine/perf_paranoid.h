/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what rights the kernel demands for opening a perf event. */
#ifndef PROC_MACHINE_PERF_PARANOID_H
#define PROC_MACHINE_PERF_PARANOID_H

#include "base/util.h"

/*
 * Tells whether kernel.perf_event_paranoid is above 2. If it is, Debian's kernels up to 6.12 and
 * many of Ubuntu's require CAP_SYS_ADMIN for every event; CAP_PERFMON isn't enough.
 */
bool perf_event_restricted(void);

#endif
