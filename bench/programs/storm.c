/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm RATE COMMAND [ARGUMENT...]: starts the command RATE times a second until it is killed. A
 * machine that can't keep up starts fewer: the number of commands that run at the same time is
 * limited, and missed starts aren't made up for.
 */
#include <err.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

#define NSEC_PER_SEC 1000000000ll
#define RUNNING_MOST 16

static long long ns_of(struct timespec t)
{
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void reap(int *running)
{
	while (*running > 0 && waitpid(-1, NULL, *running < RUNNING_MOST ? WNOHANG : 0) > 0)
		--*running;
}

static void wait_until(long long *due)
{
	struct timespec now, t = {*due / NSEC_PER_SEC, *due % NSEC_PER_SEC};

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (ns_of(now) > *due)
		*due = ns_of(now);
	else
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
	double rate = argc > 2 ? atof(argv[1]) : 0;
	long long due = 0;
	int running = 0;

	if (rate <= 0)
		errx(2, "usage: storm RATE COMMAND [ARGUMENT...]");
	for (;;) {
		pid_t pid;
		int r = posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ);

		if (r && r != EAGAIN)
			errx(1, "%s can't be started: error %d", argv[2], r);
		running += !r;
		reap(&running);
		due += NSEC_PER_SEC / rate;
		wait_until(&due);
	}
}
