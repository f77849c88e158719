// SPDX-License-Identifier: BSD-2-Clause
/*
 * `wakeups CPU SECONDS`: runs a real-time thread (SCHED_FIFO) on that CPU that wakes up every half
 * millisecond, as cyclictest does. Prints for each wake-up by how many ns it was late.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define APART_NS 500000
#define SECOND	 1000000000ll

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long long n, at, *late;
	cpu_set_t cpus;

	if (argc != 3)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[1]), &cpus);
	n = (long long)(atof(argv[2]) * (double)(SECOND / APART_NS));
	late = calloc((size_t)n, sizeof(*late));
	if (!late || sched_setaffinity(0, sizeof(cpus), &cpus) ||
	    mlockall(MCL_CURRENT | MCL_FUTURE) ||
	    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 80})) {
		perror("wakeups");
		return 1;
	}
	at = now();
	for (long long i = 0; i < n; i++) {
		struct timespec until;

		at += APART_NS;
		until = (struct timespec){at / SECOND, at % SECOND};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		late[i] = now() - at;
		/*
		 * skips wake-up times that have passed by now, so that one delay counts only once
		 */
		if (late[i] > APART_NS)
			at = now();
	}
	for (long long i = 0; i < n; i++)
		printf("%lld\n", late[i]);
	return 0;
}
