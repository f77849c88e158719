/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses /proc/PID/stat (fs/proc/array.c, do_task_stat()) and /proc/PID/status. */
#include "proc/read/stat.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"

/*
 * Reads a file into @ret. @whole: a read of fewer bytes than were asked for has reached the end of
 * this file.
 */
static int read_file(int procdir, const char *name, size_t max, bool whole, struct str *ret)
{
	_cleanup_close_ int fd = openat(procdir, name, O_RDONLY | O_CLOEXEC);
	char buf[4096];
	ssize_t got = 1;
	size_t want;

	if (fd < 0)
		return errno == ENOENT && faccessat(procdir, "stat", F_OK, 0) ? -ESRCH : -errno;
	for (; max && got > 0; max -= (size_t)got) {
		want = MIN(max, sizeof(buf));
		got = read(fd, buf, want);
		if (got < 0)
			return -errno;
		str_add_n(ret, buf, (size_t)got);
		if (whole && (size_t)got < want)
			break;
	}
	return ret->failed ? -ENOMEM : 0;
}

int proc_file_read(int procdir, const char *name, size_t max, struct str *ret)
{
	return read_file(procdir, name, max, false, ret);
}

int proc_file_read_whole(int procdir, const char *name, size_t max, struct str *ret)
{
	return read_file(procdir, name, max, true, ret);
}

static bool take_u64(const char **p, const char *end, uint64_t *ret)
{
	const char *first;
	uint64_t v = 0;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	for (first = *p; *p < end && isdigit((unsigned char)**p); (*p)++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
			return false;
	*ret = v;
	return *p > first;
}

/* Steps over one field, which has no blanks in it; fields are separated by blanks. */
static bool skip_field(const char **p, const char *end)
{
	const char *first;

	while (*p < end && **p == ' ')
		(*p)++;
	for (first = *p; *p < end && **p != ' ' && **p != '\n';)
		(*p)++;
	return *p > first;
}

/*
 * Reads the fields 26 and 28, start_code and start_stack, which come after the start time. To those
 * who may not trace the process the kernel shows 1 and 0 in them.
 */
static void read_place(const char *p, const char *end, struct proc_stat *s)
{
	uint64_t code, stack;

	for (int i = 23; i <= 25; i++) /* skips the fields vsize, rss, rsslim */
		if (!skip_field(&p, end))
			return;
	if (!take_u64(&p, end, &code) || !skip_field(&p, end) || !take_u64(&p, end, &stack) ||
	    !stack)
		return;
	s->start_code = code;
	s->start_stack = stack;
}

int proc_stat_parse(const char *text, size_t n, struct proc_stat *ret)
{
	const char *end = text + n, *open = memchr(text, '(', n), *close = memrchr(text, ')', n),
		   *p;
	struct proc_stat s = {};
	uint64_t parent, flags;
	size_t comm;

	/* comm may have ")" in it, so the last ")" ends comm: after it only numbers follow. */
	if (!open || !close || close < open || end - close < 4 || close[1] != ' ')
		return -EINVAL;
	comm = MIN((size_t)(close - open - 1), sizeof(s.comm) - 1);
	memcpy(s.comm, open + 1, comm);
	s.state = close[2];
	p = close + 3;
	if (!take_u64(&p, end, &parent) || parent > INT32_MAX)
		return -EINVAL;
	/* skips the fields pgrp, session, tty_nr, tpgid (which may be -1) */
	for (int i = 5; i <= 8; i++)
		if (!skip_field(&p, end))
			return -EINVAL;
	if (!take_u64(&p, end, &flags))
		return -EINVAL;
	for (int i = 10; i <= 21; i++) /* skips the fields minflt ... itrealvalue */
		if (!skip_field(&p, end))
			return -EINVAL;
	if (!take_u64(&p, end, &s.start_ticks))
		return -EINVAL;
	read_place(p, end, &s);
	s.parent = (pid_t)parent;
	s.flags = (uint32_t)flags;
	*ret = s;
	return 0;
}

/* Returns the value after "\nKEY:"; NULL: there is none. *@ret_end: the end of the line. */
static const char *value_of(const char *text, size_t n, const char *key, const char **ret_end)
{
	const char *p = memmem(text, n, key, strlen(key)), *nl;

	if (!p)
		return NULL;
	p += strlen(key);
	nl = memchr(p, '\n', (size_t)(text + n - p));
	*ret_end = nl ? nl : text + n;
	return p;
}

/*
 * Returns, in bytes, the number after "\nKEY:", which the text has in KiB. 0: the text has no such
 * line.
 */
static uint64_t size_of(const char *text, size_t n, const char *key)
{
	const char *end, *p = value_of(text, n, key, &end);
	uint64_t v;

	return p && take_u64(&p, end, &v) && v <= UINT32_MAX ? v << 10 : 0;
}

int proc_status_parse(const char *text, size_t n, struct proc_status *ret)
{
	struct proc_status s = {};
	const char *p, *end;
	uint64_t v;

	/*
	 * A newline in the line Name: is escaped, so a key at the beginning of a line is the
	 * kernel's.
	 */
	p = value_of(text, n, "\nUid:", &end);
	/* skips the real id; the second id, the effective one, is wanted */
	if (!p || !take_u64(&p, end, &v) || !take_u64(&p, end, &v))
		return -EINVAL;
	s.uid = (uid_t)v;
	p = value_of(text, n, "\nTgid:", &end);
	if (p && take_u64(&p, end, &v) && v <= INT32_MAX)
		s.tgid = (pid_t)v;
	s.code_bytes = size_of(text, n, "\nVmExe:") + size_of(text, n, "\nVmLib:");
	p = value_of(text, n, "\nNSpid:", &end);
	for (unsigned i = 0; p && take_u64(&p, end, &v) && v <= INT32_MAX; i++) {
		s.ns_tgid = (pid_t)v;
		s.ns_level = i;
	}
	*ret = s;
	return 0;
}

int proc_status_read(int procdir, const char *name, struct proc_status *ret)
{
	_cleanup_str_ struct str text = {};
	int r = proc_file_read_whole(procdir, name, PROC_STATUS_BYTES, &text);

	return r ? r : proc_status_parse(str_cstr(&text), text.n, ret);
}

int proc_stat_read(int procdir, struct proc_stat *ret)
{
	_cleanup_str_ struct str text = {};
	int r = proc_file_read_whole(procdir, "stat", 4096, &text);

	if (!r)
		r = proc_stat_parse(str_cstr(&text), text.n, ret);
	return r ? err_sys(r, "can't read a process's state") : 0;
}

uint64_t proc_stat_start_ns(const struct proc_stat *s)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	return s->start_ticks / hz * NSEC_PER_SEC + s->start_ticks % hz * NSEC_PER_SEC / hz;
}

/*
 * The number of the first time namespace (linux/nsfs.h). In any other time namespace /proc shifts
 * start times.
 */
#define FIRST_TIME_NAMESPACE 0xeffffffaul

static bool shifts_times(void)
{
	struct stat st;

	if (stat("/proc/self/ns/time", &st))
		/* before Linux 5.6 there is no /proc/self/ns/time, and no time namespace */
		return errno != ENOENT;
	return st.st_ino != FIRST_TIME_NAMESPACE;
}

uint64_t proc_stat_start_of(uint64_t start_boot_ns)
{
	/*
	 * whether /proc shifts start times; found out once, because a process with threads can't
	 * change its time namespace
	 */
	static enum { UNKNOWN, SHIFTED, AS_IS } times;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_stat s = {.start_ticks = start_boot_ns / (NSEC_PER_SEC / hz)};

	if (times == UNKNOWN)
		times = shifts_times() ? SHIFTED : AS_IS;
	return times == AS_IS ? proc_stat_start_ns(&s) : 0;
}
