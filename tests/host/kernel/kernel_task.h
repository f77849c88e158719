/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes in the form of the kernel's structs, for tests that include kernel_shim.h. */
#ifndef TESTS_HOST_KERNEL_KERNEL_TASK_H
#define TESTS_HOST_KERNEL_KERNEL_TASK_H

#include "kernel_shim.h"

#define SECOND 1000000000ull

/* A process: all of its kernel structs that the kernel program reads. */
struct made {
	struct inode inode;
	struct file exe;
	struct mm_struct mm;
	struct {
		struct cred cred;
		uint64_t caps;
	} who;
	struct {
		struct pid pid;
		struct upid more[2];
	} pid;
	struct task_struct task;
};

static struct pid_namespace host_ns = {{100}}, inner_ns = {{200}};

static inline void make(struct made *m, int tgid, struct made *parent)
{
	memset(m, 0, sizeof(*m));
	m->exe.f_inode = &m->inode;
	m->mm.exe_file = &m->exe;
	m->mm.start_code = 0x500000;
	m->mm.start_stack = 0x7ffe0000;
	m->who.cred.uid.val = m->who.cred.euid.val = m->who.cred.suid.val = 1000;
	m->who.cred.gid.val = m->who.cred.egid.val = m->who.cred.sgid.val = 100;
	m->pid.pid.level = 1;
	m->pid.pid.numbers[0] = (struct upid){tgid, &host_ns};
	m->pid.pid.numbers[1] = (struct upid){tgid % 10, &inner_ns};
	m->task = (struct task_struct){
		.pid = tgid,
		.tgid = tgid,
		.mm = &m->mm,
		.group_leader = &m->task,
		.real_parent = parent ? &parent->task : NULL,
		.start_time = SECOND * (uint64_t)tgid,
		.start_boottime = SECOND * (uint64_t)tgid + 3,
		.thread_pid = &m->pid.pid,
		.real_cred = &m->who.cred,
		.comm = "prog",
	};
}

static inline void fork_of(struct made *m, int tgid, struct made *parent)
{
	make(m, tgid, parent);
	m->mm = parent->mm;
}

#endif
