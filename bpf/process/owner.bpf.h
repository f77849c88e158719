/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The owner of a process, by the questions that the kernel itself asks before a process may look
 * into another (kernel/ptrace.c, __ptrace_may_access(); security/commoncap.c,
 * cap_ptrace_access_check()). They are answered at the moment when the process is read; user space
 * could ask only before or after.
 */
#ifndef BPF_OWNER_H
#define BPF_OWNER_H

#include "state.bpf.h"

walk_inline bool is_dumpable(struct mm_struct *mm)
{
	struct mm_struct___word *word = (void *)mm;
	struct mm_struct___bits *bits = (void *)mm;
	unsigned long flags = 0;

	if (bpf_core_field_exists(bits->flags.__mm_flags))
		bpf_core_read(&flags, sizeof(flags), &bits->flags.__mm_flags);
	else
		flags = BPF_CORE_READ(word, flags);
	return (flags & MMF_DUMPABLE_MASK) == SUID_DUMP_USER;
}

/* Are all of @task's ids *@uid and *@gid, has it no capabilities, and may it be looked into? */
walk_inline bool has_owner(struct task_struct *task, __u32 *uid, __u32 *gid)
{
	struct cred *cred = BPF_CORE_READ(task, real_cred);
	__u64 caps = 1;

	*uid = BPF_CORE_READ(cred, uid.val);
	*gid = BPF_CORE_READ(cred, gid.val);
	bpf_core_read(&caps, sizeof(caps), &cred->cap_permitted);
	return !caps && *uid == BPF_CORE_READ(cred, euid.val) &&
	       *uid == BPF_CORE_READ(cred, suid.val) && *gid == BPF_CORE_READ(cred, egid.val) &&
	       *gid == BPF_CORE_READ(cred, sgid.val) && is_dumpable(BPF_CORE_READ(task, mm));
}

#endif
