/* SPDX-License-Identifier: BSD-2-Clause */
/* CLOCK_MONOTONIC in a time namespace. */
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int64_t clock_shift_parse(const char *text)
{
	const char *line = strstr(text, "monotonic ");
	long long sec;
	long nsec;

	if (!line || sscanf(line, "monotonic %lld %ld", &sec, &nsec) != 2)
		return 0;
	return sec * (int64_t)NSEC_PER_SEC + nsec;
}

/* The file tells the shifts of the children's namespace. Until the kernel moves to it at exec, it may be another one. */
static int64_t read_shift(void)
{
	struct stat own, children;
	char text[256];
	size_t n;
	FILE *f;

	if (stat("/proc/self/ns/time", &own) ||
	    stat("/proc/self/ns/time_for_children", &children) || own.st_ino != children.st_ino)
		return 0;
	f = fopen("/proc/self/timens_offsets", "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return clock_shift_parse(text);
}

static int64_t shift_ns; /* settled once: a process with threads can't change its time namespace */

static void settle_shift(void)
{
	shift_ns = read_shift();
}

uint64_t clock_ns(clockid_t id)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct timespec t;

	clock_gettime(id, &t);
	if (id != CLOCK_MONOTONIC)
		return timespec_ns(t);
	pthread_once(&once, settle_shift);
	return timespec_ns(t) - (uint64_t)shift_ns;
}
