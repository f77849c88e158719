/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the sysctl kernel.perf_event_paranoid; see perf_paranoid.h. */
#include "proc/machine/perf_paranoid.h"

#include <stdio.h>

#include "base/cleanup.h"

bool perf_event_restricted(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level;

	return f && fscanf(f, "%d", &level) == 1 && level > 2;
}
