/* SPDX-License-Identifier: BSD-2-Clause */
/* Map `gils`: how many threads wait for a GIL, and how long threads have waited for it in all. */
#ifndef ABI_WAITERS_H
#define ABI_WAITERS_H

#include "records.h"

/*
 * The key of a GIL. A process has at most GIL_SLOTS GILs in the map, so that no process can fill
 * the map.
 */
struct gil_key {
	__u32 tgid; /* tgid of the process, in the first PID namespace */
	/*
	 * which GIL of the process, a number below GIL_SLOTS; numbers are given in ascending order
	 */
	__u32 slot;
};
#define GIL_SLOTS 8

struct gil_count {
	__u64 wait; /* address of the first word on which waiters sleep, which identifies the GIL */
	/* number of waiters and sum of waiting times, in one word that gil_value() takes apart */
	__u64 word;
};

/*
 * One word holds the number of waiters and the sum of waiting times, so that one addition changes
 * both: waiters * (GIL_ONE - now) + sum. Times are in units of 1.024 us. When a wait begins,
 * GIL_ONE - now is added. When the wait ends, GIL_ONE - now is subtracted, with the time of its
 * end. The sum must stay below GIL_ONE - now. So once the sum is half of GIL_ONE - now, which takes
 * 4 years of waiting, new waits are counted in another slot.
 */
#define GIL_ONE	  (1ull << 48)
#define GIL_SHIFT 10 /* a unit is 1.024 us */
/*
 * The value with which a sum of waiting times begins, in units of 1.024 us. It isn't 0, because the
 * clocks of two CPUs may differ a little. So a sum may be a little too small when it is read, but
 * it mustn't be below 0.
 */
#define GIL_FIRST (1ull << 20)

/*
 * The most waiters that there can be. A larger number means that the end of a wait was counted, but
 * not its beginning.
 */
#define GIL_WAITERS_MOST 32767

struct gil_now {
	__u64 waiters, sum_ns;
	__u32 full; /* != 0: new waits are to be counted in another slot */
};

/*
 * Returns the number of waiters and the sum of waiting times that @word has. @word was read before
 * @now_ns (CLOCK_MONOTONIC).
 */
static inline __attribute__((always_inline)) struct gil_now gil_value(__u64 word, __u64 now_ns)
{
	__u64 each = GIL_ONE - (now_ns >> GIL_SHIFT);
	__u64 n = word / each, sum = word - n * each;

	if (n > GIL_WAITERS_MOST)
		return (struct gil_now){.sum_ns = GIL_FIRST << GIL_SHIFT};
	return (struct gil_now){.waiters = n, .sum_ns = sum << GIL_SHIFT, .full = sum > each / 2};
}

#endif
