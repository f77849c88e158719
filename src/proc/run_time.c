/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the kernel counts of a process's time; see run_time.h. */
#include "proc/run_time.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "proc/proc.h"
#include "proc/read/stat.h"

#define SCHEDSTAT_BYTES 128
#define STAT_BYTES	512 /* how many bytes of /proc/stat are read: enough for its first line */

bool run_time_parse(const char *text, struct run_time *ret)
{
	unsigned long long ran, queued, runs;

	if (sscanf(text, "%llu %llu %llu", &ran, &queued, &runs) != 3)
		return false;
	ret->ran_ns = ran;
	ret->queued_ns = queued;
	ret->runs = runs;
	return true;
}

bool run_time_parse_taken(const char *text, uint64_t *ret_ticks)
{
	unsigned long long irq, softirq, stolen;

	/* The numbers of this line are: user nice system idle iowait irq softirq steal. */
	if (sscanf(text, "cpu %*u %*u %*u %*u %*u %llu %llu %llu", &irq, &softirq, &stolen) != 3)
		return false;
	*ret_ticks = irq + softirq + stolen;
	return true;
}

/* The CPU clock of a process, ended threads included, as clock_getcpuclockid(3) builds it. */
#define PROCESS_CLOCK(pid) ((clockid_t)(~(unsigned)(pid) << 3 | 2))

static int read_process(const struct proc *p, struct run_time *ret)
{
	struct proc_stat stat;
	pid_vec threads = {};
	struct timespec t;
	int r = proc_stat_read(p->dirfd, &stat);

	if (r)
		return r;
	if (clock_gettime(PROCESS_CLOCK(p->tgid), &t))
		return errno == EINVAL ? -ESRCH : -errno;
	ret->cpu_ns = timespec_ns(t);
	ret->start_ns = proc_stat_start_ns(&stat);
	ret->state = stat.state;
	if (!proc_threads(p, &threads))
		ret->threads = (unsigned)threads.n;
	vec_fini(&threads);
	return 0;
}

/*
 * Reads the main thread's times, which stay 0 if the kernel doesn't count them. The process's CPU
 * time is known in any case.
 */
static void read_main_thread(const struct proc *p, struct run_time *ret)
{
	_cleanup_str_ struct str text = {};
	char path[48];

	snprintf(path, sizeof(path), "task/%d/schedstat", p->tgid);
	if (proc_file_read(p->dirfd, path, SCHEDSTAT_BYTES, &text) ||
	    !run_time_parse(str_cstr(&text), ret))
		ret->runs = 0;
}

int run_time_read(pid_t pid, struct run_time *ret)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	int r = proc_open(&p, pid);

	*ret = (struct run_time){};
	r = r ? r : read_process(&p, ret);
	if (r)
		return r;
	read_main_thread(&p, ret);
	ret->at_ns = clock_ns(CLOCK_MONOTONIC);
	ret->whole = ret->state != 'R';
	return 0;
}

int run_time_again(pid_t pid, struct run_time *t)
{
	struct run_time before = *t;
	int r = run_time_read(pid, t);

	if (!r && t->start_ns != before.start_ns)
		r = -ESRCH;
	if (r)
		*t = before;
	else if (t->runs != before.runs || t->ran_ns != before.ran_ns)
		t->whole = true;
	return r;
}

bool run_time_taken(uint64_t *ret_ns)
{
	_cleanup_close_ int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	char text[STAT_BYTES];
	uint64_t ticks;
	struct statfs fs;
	ssize_t n;

	/*
	 * In a container another file may be mounted over /proc/stat (LXCFS), which says nothing
	 * about the host.
	 */
	if (fd < 0 || fstatfs(fd, &fs) || fs.f_type != PROC_SUPER_MAGIC)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (!run_time_parse_taken(text, &ticks))
		return false;
	*ret_ns = ticks * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}
