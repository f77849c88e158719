/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds what a wait is for: the other end of a socket, or the name of a file. This is read when the
 * wait begins, because the descriptor may be closed or belong to another file by the time when user
 * space could look.
 */
#ifndef BPF_EVENTS_ON_H
#define BPF_EVENTS_ON_H

#include "maps.bpf.h"
#include "process/descriptor.bpf.h"
#include "python/call.bpf.h"

/*
 * Returns the descriptor that a system call waits for: its first argument or, for poll(), the only
 * descriptor; -1 if poll() has several.
 */
walk_inline __u64 fd_of(const struct rec_wait *wait)
{
	__s32 fd = -1;

	if (wait->call != CALL_POLL && wait->call != CALL_PPOLL)
		return wait->arg[0];
	if (wait->arg[1] == 1)
		/* struct pollfd begins with the descriptor */
		read_user(&fd, sizeof(fd), wait->arg[0]);
	return (__u64)(__s64)fd;
}

/* Sets .on and .fd of @wait, which the current thread begins. */
walk_inline void tell_on(struct task_struct *task, struct rec_wait *wait)
{
	struct wait_on *on = &wait->on;
	__u64 fd = fd_of(wait);
	struct file *file = wait->call < 0 ? NULL : file_of(task, fd);
	__u8 kind = describe_file(on, fd, file);

	wait->fd = fd == wait->arg[0] ? kind : WAIT_FD_NONE;
}

#endif
