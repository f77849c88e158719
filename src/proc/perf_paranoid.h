/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel asks of whoever opens a perf event. */
#ifndef PROC_PERF_PARANOID_H
#define PROC_PERF_PARANOID_H

#include "base/util.h"

/*
 * Whether kernel.perf_event_paranoid is above 2: Debian's kernels up to 6.12 and many of Ubuntu's then want
 * CAP_SYS_ADMIN for every event, and CAP_PERFMON isn't enough.
 */
bool perf_event_restricted(void);

#endif
