/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the owner of a process, with the checks that the kernel itself makes before a process may
 * look into another (kernel/ptrace.c, __ptrace_may_access(); security/commoncap.c,
 * cap_ptrace_access_check()). The BPF program makes these checks at the moment when it reads the
 * process. User space could make them only before or after that moment.
 */
#ifndef BPF_PROCESS_OWNER_H
#define BPF_PROCESS_OWNER_H

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

/*
 * Sets *@uid and *@gid to the real ids of @task. Returns true if its effective and saved ids are
 * the same, if it has no capabilities, and if other processes of its owner may look into it.
 */
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
