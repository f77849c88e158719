/* SPDX-License-Identifier: BSD-2-Clause */
/* Map `gils`: how many threads wait for a GIL, and how long threads have waited for it in all. */
#ifndef ABI_WAITERS_H
#define ABI_WAITERS_H

#include "records.h"

/* One GIL of one process. */
struct gil_key {
	__u64 wait; /* address of the first word that waiters sleep on */
	__u32 tgid;
	__u32 reserved;
};

/*
 * A value of the map holds both numbers in one word, so that one addition changes both: waiters *
 * (GIL_ONE - now) + sum. Times are in units. When a wait begins, GIL_ONE - now is added. When the
 * wait ends, GIL_ONE - now is subtracted, with the time of its end.
 */
#define GIL_ONE	  (1ull << 48)
#define GIL_SHIFT 10 /* a unit is 1.024 us */
/*
 * The value with which a sum begins, in units. The clocks of two CPUs may differ a little. Then the
 * sum that is read is a little too small, but it mustn't be below 0.
 */
#define GIL_FIRST (1ull << 20)

struct gil_now {
	__u64 waiters, sum_ns;
};

/* Takes apart a value that was read before @now_ns (CLOCK_MONOTONIC). */
static inline __attribute__((always_inline)) struct gil_now gil_value(__u64 value, __u64 now_ns)
{
	__u64 each = GIL_ONE - (now_ns >> GIL_SHIFT);
	__u64 n = value / each;

	return (struct gil_now){.waiters = n, .sum_ns = (value - n * each) << GIL_SHIFT};
}

#endif
