/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limits what new processes may cost. If a user starts so many processes that krait would take too
 * long to look at all of them (src/collect/budget/crowd.h), the new processes of that user are only
 * counted for a while. Processes that ran before that time aren't affected.
 */
#ifndef BPF_PROCESS_CROWD_H
#define BPF_PROCESS_CROWD_H

#include "maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* the key is the uid */
	/*
	 * the value is the end of the time in which this user's new processes are only counted,
	 * CLOCK_MONOTONIC
	 */
	__type(value, __u64);
} crowds SEC(".maps");

/* The end of the time in which new processes of any user are only counted. */
__u64 crowded_until_ns;

/* when sampling began */
__u64 began_ns;

walk_inline __u32 uid_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, real_cred, uid.val);
}

walk_inline bool is_crowded(struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 uid = uid_of(task);
	const __u64 *until_ns = bpf_map_lookup_elem(&crowds, &uid);

	return now < crowded_until_ns || (until_ns && now < *until_ns);
}

walk_inline bool is_counted_only(__u8 state)
{
	return state == PROC_CROWDED || state == PROC_UNASKED;
}

/*
 * Returns the state that a process gets instead of @state while new processes of its user are only
 * counted.
 */
walk_inline __u8 crowded_state(__u8 state)
{
	if (state == PROC_PENDING || state == PROC_UNASKED)
		return PROC_UNASKED;
	return state == PROC_IGNORED || state == PROC_HOST ? state : PROC_CROWDED;
}

#endif
