/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads clocks, also from within a time namespace (which shifts CLOCK_MONOTONIC), and writes a time
 * as local time; see clock.h.
 */
#include "base/system/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void clock_local(int64_t ms, const char *format, char text[64])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	*text = '\0';
	if (localtime_r(&seconds, &tm))
		strftime(text, 64, format, &tm);
}

int64_t clock_shift_parse(const char *text)
{
	const char *line = strstr(text, "monotonic ");
	long long sec;
	long nsec;

	if (!line || sscanf(line, "monotonic %lld %ld", &sec, &nsec) != 2)
		return 0;
	return sec * (int64_t)NSEC_PER_SEC + nsec;
}

static int namespace_of(const char *process, const char *name, ino_t *ret)
{
	char path[64];
	struct stat st = {};
	int r;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, name);
	r = stat(path, &st) ? -errno : 0;
	*ret = st.st_ino;
	return r;
}

/*
 * timens_offsets has the shifts of the namespace that new children of the process get. The process
 * itself may be in another namespace until it calls exec. Then the shift of its own namespace can't
 * be read (-EXDEV).
 */
static int read_shift(const char *process, int64_t *ret_ns)
{
	ino_t own, children;
	char path[64], text[256];
	size_t n;
	FILE *f;
	int r = namespace_of(process, "time", &own);

	r = r ? r : namespace_of(process, "time_for_children", &children);
	if (r)
		return r;
	if (own != children)
		return -EXDEV;
	snprintf(path, sizeof(path), "/proc/%s/timens_offsets", process);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	*ret_ns = clock_shift_parse(text);
	return 0;
}

/*
 * the shift of krait's own CLOCK_MONOTONIC, read once: a process with threads can't change its time
 * namespace
 */
static int64_t shift_ns;

static void settle_shift(void)
{
	if (read_shift("self", &shift_ns))
		shift_ns = 0;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	if (id != CLOCK_MONOTONIC)
		return timespec_ns(t);
	pthread_once(&once, settle_shift);
	return timespec_ns(t) - (uint64_t)shift_ns;
}

int clock_shift_of(pid_t pid, int64_t *ret_ns)
{
	char process[16];
	ino_t krait, own;
	int r = namespace_of("self", "time", &krait);

	pthread_once(&once, settle_shift);
	*ret_ns = shift_ns;
	if (r) /* the shift can't be read, because the kernel has no time namespaces */
		return 0;
	snprintf(process, sizeof(process), "%d", pid);
	r = namespace_of(process, "time", &own);
	return r || own == krait ? r : read_shift(process, ret_ns);
}
