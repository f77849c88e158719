/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads lists of CPUs, which the kernel writes by "%*pbl" (bitmap_list_string()). */
#include "proc/machine/cpus.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"

#define ONLINE	   "/sys/devices/system/cpu/online"
#define LIST_BYTES 65536
/* if CLOCK_BOOTTIME has advanced this much more than CLOCK_MONOTONIC, the machine has slept */
#define SLEPT_NS 10000000

static bool take_cpu(const char **p, const char *end, int *ret)
{
	const char *first = *p;
	int v = 0;

	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
		v = v * 10 + (**p - '0');
		if (v >= CPUS_MAX)
			return false;
	}
	*ret = v;
	return *p > first;
}

int cpus_parse(const char *text, size_t n, cpu_vec *ret)
{
	const char *p = text, *end = text + n;
	int lo, hi, last = -1, r;

	ret->n = 0;
	while (p < end && *p != '\n') {
		if (!take_cpu(&p, end, &lo))
			return -EINVAL;
		hi = lo;
		if (p < end && *p == '-' && (p++, !take_cpu(&p, end, &hi)))
			return -EINVAL;
		if (lo <= last || hi < lo)
			return -EINVAL;
		for (last = lo; last <= hi; last++) {
			r = vec_push(ret, last);
			if (r)
				return r;
		}
		last = hi;
		if (p < end && *p == ',')
			p++;
		else if (p < end && *p != '\n')
			return -EINVAL;
	}
	return 0;
}

static int from_sysconf(cpu_vec *ret)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	int r = 0;

	ret->n = 0;
	for (int i = 0; i < n && !r; i++)
		r = vec_push(ret, i);
	return r;
}

int cpus_online(cpu_vec *ret)
{
	_cleanup_close_ int fd = open(ONLINE, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(LIST_BYTES);
	ssize_t n = -1;
	int r;

	if (!text)
		return err_sys(-ENOMEM, "can't list the CPUs");
	if (fd >= 0)
		n = read(fd, text, LIST_BYTES);
	r = n > 0 ? cpus_parse(text, (size_t)n, ret) : -EINVAL;
	if (r == -EINVAL || ret->n == 0)
		r = from_sysconf(ret);
	if (!r && ret->n == 0)
		r = -ENODEV;
	return r ? err_sys(r, "can't list the CPUs") : 0;
}

/*
 * Returns how long the machine has slept since boot: CLOCK_BOOTTIME counts that time,
 * CLOCK_MONOTONIC doesn't.
 */
static int64_t slept_ns(void)
{
	uint64_t mono = clock_ns(CLOCK_MONOTONIC);

	return (int64_t)(clock_ns(CLOCK_BOOTTIME) - mono);
}

/*
 * The file of online CPUs stays open, because opening and closing it takes three times as long as
 * reading it.
 */
bool cpus_changed(struct cpus_watch *w)
{
	int fd = w->fd_plus_1 ? w->fd_plus_1 - 1 : open(ONLINE, O_RDONLY | O_CLOEXEC);
	struct cpus_watch now = {.seen = true, .fd_plus_1 = fd + 1, .slept_ns = slept_ns()};
	ssize_t n = fd >= 0 ? pread(fd, now.list, sizeof(now.list), 0) : 0;
	bool changed;

	now.n = n > 0 ? (size_t)n : 0;
	changed = w->seen && (now.slept_ns - w->slept_ns > SLEPT_NS || now.n != w->n ||
			      memcmp(now.list, w->list, now.n));
	*w = now;
	return changed;
}

void cpus_watch_fini(struct cpus_watch *w)
{
	if (w->fd_plus_1)
		close(w->fd_plus_1 - 1);
	*w = (struct cpus_watch){};
}
