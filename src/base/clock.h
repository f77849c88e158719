/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times as one number of nanoseconds.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include "base/util.h"

static inline uint64_t timespec_ns(struct timespec t)
{
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/*
 * CLOCK_MONOTONIC as BPF programs and perf events read it, whatever this process's time namespace shifts it by.
 * Other clocks as they are, so CLOCK_BOOTTIME as /proc/PID/stat tells start times in.
 */
uint64_t clock_ns(clockid_t id);

/*
 * The shift of CLOCK_MONOTONIC as process @pid has it: in which time namespace it is. 0; -errno: it is gone, or that
 * can't be known.
 */
_must_use_ int clock_shift_of(pid_t pid, int64_t *ret_ns);

/* The shift of CLOCK_MONOTONIC that the text of timens_offsets (time_namespaces(7)) tells, 0 if none. */
int64_t clock_shift_parse(const char *text);

#endif
