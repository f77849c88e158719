/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * C code that computes for a while: called without the GIL (ctypes.CDLL), with it (ctypes.PyDLL),
 * and in a thread of which Python knows nothing. Each of these functions has a name of its own, by
 * which the test judges a sample.
 */
#include <pthread.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default"), noinline))

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static volatile unsigned long sink;

static inline __attribute__((always_inline)) void spin(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		for (int i = 0; i < 1000; i++)
			sink += i;
}

EXPORT void krait_without_gil(double seconds)
{
	spin(seconds);
	sink++;
}

EXPORT void krait_with_gil(double seconds)
{
	spin(seconds);
	sink += 2;
}

static __attribute__((noinline)) void *krait_no_python(void *seconds)
{
	spin(*(double *)seconds);
	sink += 3;
	return 0;
}

EXPORT void krait_start(double seconds)
{
	static double length;
	pthread_t thread;

	length = seconds;
	if (!pthread_create(&thread, 0, krait_no_python, &length))
		pthread_detach(thread);
}
