/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/PID/stat and /proc/PID/status as values. The kernel writes them, but comm, in the middle of
 * stat, is any 15 bytes that the target chooses: parentheses, blanks and newlines too.
 */
#ifndef PROC_STAT_H
#define PROC_STAT_H

#include "proc/proc.h"

struct proc_stat {
	char comm[PROC_COMM_BYTES];
	char state; /* 'R', 'S', 'Z', ... */
	pid_t parent;
	uint32_t flags;			  /* PF_* */
	uint64_t start_ticks;		  /* since boot, in 1 / sysconf(_SC_CLK_TCK) */
	uint64_t start_code, start_stack; /* mm_struct's; 0 without the right to trace the
					   * process */
};

#define PROC_PF_KTHREAD 0x00200000 /* include/linux/sched.h; the same since 2.6.27 */

/* From @n bytes of text. 0 or -EINVAL. */
_must_use_ int proc_stat_parse(const char *text, size_t n, struct proc_stat *ret);

/*
 * PROCDIR/status is read whole: NSpid and the context switches follow up to 65,536 groups of 11
 * bytes.
 */
#define PROC_STATUS_BYTES (1u << 20)

struct proc_status {
	uid_t uid;	   /* effective */
	pid_t tgid;	   /* the process that this thread belongs to; 0 if not shown */
	pid_t ns_tgid;	   /* innermost NSpid; 0 if there is none */
	unsigned ns_level; /* number of NSpid after the first */
};

/* From @n bytes of text. 0 or -EINVAL. */
_must_use_ int proc_status_parse(const char *text, size_t n, struct proc_status *ret);

/* PROCDIR/@name: its status, or one of its threads'. 0, -ESRCH, -EINVAL or -errno. No message. */
_must_use_ int proc_status_read(int procdir, const char *name, struct proc_status *ret);

/* PROCDIR/stat. 0, -ESRCH or -errno, with a message. */
_must_use_ int proc_stat_read(int procdir, struct proc_stat *ret);

/* Start of the process on CLOCK_BOOTTIME, granularity one tick, rounded down. */
uint64_t proc_stat_start_ns(const struct proc_stat *s);

/*
 * At most @max bytes of PROCDIR/@name, appended to @ret. 0; -ESRCH for a process that is gone;
 * -errno. No message.
 */
_must_use_ int proc_file_read(int procdir, const char *name, size_t max, struct str *ret);

#endif
