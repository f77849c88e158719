/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells at a task switch whether krait ignores the thread. krait ignores most threads of a machine,
 * and their switches must cost hardly anything. So this code searches no BPF map: a search would
 * take longer than all of this code.
 */
#ifndef BPF_PROCESS_KNOWN_H
#define BPF_PROCESS_KNOWN_H

#include "maps.bpf.h"

#define STRANGERS 1024 /* a power of two */

/*
 * For each value of the low bits of thread numbers: how many threads with these bits have an entry
 * in map `waits`. A thread is counted before its entry is made. So 0 means that no thread with
 * these bits has an entry.
 */
__u32 threads_met[THREADS_MET];

/*
 * Process images that aren't recorded, by the low bits of their number. An entry has two words:
 * since_epoch() and image_id(). An entry is valid as long as strangers_epoch stays the same. That
 * number changes whenever a process that wasn't wanted may have become wanted.
 */
__u64 strangers[STRANGERS][2];
__u32 strangers_epoch;

walk_inline void count_met(__u32 tid, __s32 n)
{
	__sync_fetch_and_add(&threads_met[bounded(tid, THREADS_MET)], n);
}

/*
 * Can thread @tid have an entry in map `waits`? If the answer is no, the thread certainly has no
 * entry.
 */
walk_inline bool may_be_met(__u32 tid)
{
	return threads_met[bounded(tid, THREADS_MET)];
}

/* Adds @e for a thread that has no entry in map `waits`. False: there is no room. */
walk_inline bool add_met(__u32 tid, const struct wait_entry *e)
{
	count_met(tid, 1);
	if (!bpf_map_update_elem(&waits, &tid, e, BPF_ANY))
		return true;
	count_met(tid, -1);
	return false;
}

walk_inline void delete_met(__u32 tid)
{
	if (!bpf_map_delete_elem(&waits, &tid))
		count_met(tid, -1);
}

/*
 * Returns one word made of the time when a process began and of @epoch, a value of strangers_epoch.
 */
walk_inline __u64 since_epoch(__u64 start_ns, __u32 epoch)
{
	return start_ns ^ (__u64)epoch << 40;
}

/*
 * Returns one word made of a process's number in the first PID namespace and of how many times the
 * process has called execve().
 */
walk_inline __u64 image_id(__u32 tgid, __u32 exec_id)
{
	return tgid | (__u64)exec_id << 32;
}

/* Is it known that the process of @task isn't recorded? */
walk_inline bool is_stranger(const struct task_struct *task)
{
	const __u64 *s = strangers[bounded((__u32)task->tgid, STRANGERS)];

	return s[1] == image_id((__u32)task->tgid, (__u32)task->self_exec_id) &&
	       s[0] == since_epoch(task->group_leader->start_time, strangers_epoch);
}

/*
 * Notes that process image @key, with number @tgid in the first PID namespace, isn't recorded.
 * @epoch: the value of strangers_epoch before the caller found out that the image isn't recorded.
 * (If two CPUs write to one entry at the same time, the mixed entry matches no third process,
 * because no two processes begin at the same time.)
 */
walk_inline void note_stranger(const struct proc_key *key, __u32 tgid, __u32 epoch)
{
	__u64 *s = strangers[bounded(tgid, STRANGERS)];

	s[0] = since_epoch(key->start_ns, epoch);
	s[1] = image_id(tgid, key->exec_id);
}

/*
 * Forgets which process images aren't recorded, because a process that wasn't wanted may be wanted
 * from now on.
 */
walk_inline void forget_strangers(void)
{
	__sync_fetch_and_add(&strangers_epoch, 1);
}

#endif
