/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks, read as one number of nanoseconds; and local time as text. */
#ifndef BASE_SYSTEM_CLOCK_H
#define BASE_SYSTEM_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include "base/util.h"

static inline uint64_t timespec_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/*
 * Reads CLOCK_MONOTONIC as BPF programs and perf events do: without the shift of this process's
 * time namespace. Other clocks are read with the shift. So CLOCK_BOOTTIME can be compared with the
 * start times in /proc/PID/stat, which have the same shift.
 */
uint64_t clock_ns(clockid_t id);

/*
 * Writes a time into @text as local time, in the form @format, as strftime() does. @ms: the time,
 * in milliseconds since 1970 (UTC). @text is empty if the time has no date.
 */
void clock_local(int64_t ms, const char *format, char text[64]);

/*
 * Finds the shift of CLOCK_MONOTONIC in the time namespace of process @pid. Returns 0, or -errno if
 * the process is gone or its shift can't be found.
 */
_must_use_ int clock_shift_of(pid_t pid, int64_t *ret_ns);

/*
 * Reads the shift of CLOCK_MONOTONIC from the text of timens_offsets (time_namespaces(7)). Returns
 * it in ns, or 0 if the text has none.
 */
int64_t clock_shift_parse(const char *text);

#endif
