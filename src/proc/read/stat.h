/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The values in /proc/PID/stat and /proc/PID/status. The kernel writes both files, but comm, in the
 * middle of stat, is 15 bytes that the target chooses, parentheses, blanks and newlines included.
 */
#ifndef PROC_READ_STAT_H
#define PROC_READ_STAT_H

#include <sys/types.h>

#include "base/text/str.h"
#include "base/util.h"

#define PROC_COMM_BYTES 16

struct proc_stat {
	char comm[PROC_COMM_BYTES];
	char state; /* state of the task as a letter: 'R', 'S', 'Z', ... */
	pid_t parent;
	uint32_t flags; /* flags PF_* of the kernel's task */
	/* when the process started, in ticks of 1 / sysconf(_SC_CLK_TCK) s since boot */
	uint64_t start_ticks;
	/* mm_struct.start_code and .start_stack; 0 if krait may not trace the process */
	uint64_t start_code, start_stack;
};

/*
 * flag in proc_stat.flags: the task is a kernel thread (include/linux/sched.h; the same since Linux
 * 2.6.27)
 */
#define PROC_PF_KTHREAD 0x00200000

/* Parses @n bytes of the text of /proc/PID/stat. 0 or -EINVAL. */
_must_use_ int proc_stat_parse(const char *text, size_t n, struct proc_stat *ret);

/*
 * The most bytes of PROCDIR/status. The file is read whole, because up to 65,536 groups of 11 bytes
 * may come before NSpid and the counts of context switches.
 */
#define PROC_STATUS_BYTES (1u << 20)

struct proc_status {
	uid_t uid;  /* effective user id */
	pid_t tgid; /* number of the process that this thread belongs to; 0: not shown */
	/* the process's id in its own PID namespace, the last number of NSpid; 0: not shown */
	pid_t ns_tgid;
	/*
	 * how many PID namespaces below that of /proc the process is: the count of numbers in
	 * NSpid, less 1
	 */
	unsigned ns_level;
	/*
	 * how many bytes of code that isn't writable the process maps: VmExe and VmLib; 0: not
	 * shown
	 */
	uint64_t code_bytes;
};

/* Parses @n bytes of the text of /proc/PID/status. 0 or -EINVAL. */
_must_use_ int proc_status_parse(const char *text, size_t n, struct proc_status *ret);

/*
 * Reads PROCDIR/@name, the status of the process or of one of its threads. 0, -ESRCH, -EINVAL or
 * -errno. No message.
 */
_must_use_ int proc_status_read(int procdir, const char *name, struct proc_status *ret);

/* Reads PROCDIR/stat. 0, -ESRCH or -errno, with a message. */
_must_use_ int proc_stat_read(int procdir, struct proc_stat *ret);

/* Returns when the process started, in ns of CLOCK_BOOTTIME, rounded down to a tick. */
uint64_t proc_stat_start_ns(const struct proc_stat *s);

/*
 * Returns what proc_stat_start_ns() would return for a process that, as the kernel says, began at
 * @start_boot_ns. 0: unknown, because @start_boot_ns is 0 or /proc shows times of a time namespace.
 */
uint64_t proc_stat_start_of(uint64_t start_boot_ns);

/*
 * Appends at most @max bytes of PROCDIR/@name to @ret. 0; -ESRCH for a process that is gone;
 * -errno. No message.
 */
_must_use_ int proc_file_read(int procdir, const char *name, size_t max, struct str *ret);

/*
 * Does the same as proc_file_read() with one system call less, for a file whose text the kernel
 * makes as a whole: stat, status, cgroup, comm (fs/proc/base.c, ONE). It can't be used for a file
 * with many records (mountinfo): there a read may get less than it asked for before the file's end.
 */
_must_use_ int proc_file_read_whole(int procdir, const char *name, size_t max, struct str *ret);

#endif
