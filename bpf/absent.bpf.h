/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reports memory that a walk couldn't read. User space gets the record at once and brings the
 * memory in, so that the next samples are complete. The number of records per process is limited,
 * because the process's memory may be paged out again and again.
 */
#ifndef BPF_ABSENT_H
#define BPF_ABSENT_H

#include "maps.bpf.h"

#define ABSENT_QUOTAS 64
#define ABSENT_BURST  256 /* how many reports of absent (not resident) memory may be sent at once */
/* after ABSENT_BURST reports, one report may be sent per ABSENT_NS */
#define ABSENT_NS 50000000ull

/*
 * How many more reports of absent memory may be sent for one process on this CPU. .proc is a hash
 * of the process. .left is how many more reports there may be. .at_ns is when .left was last
 * increased.
 */
struct absent_quota {
	__u64 proc, at_ns;
	__u32 left, reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABSENT_QUOTAS);
	__type(key, __u32);
	__type(value, struct absent_quota);
} absent_quotas SEC(".maps");

/*
 * Is the sample incomplete because memory was absent (not resident)? Not every failed read matters:
 * some reads follow pointers that are out of date, or go past the end of a mapping.
 */
walk_inline bool lacks(const struct rec_sample *rec, const struct walk *w)
{
	if (!lacks_memory(w) || w->outcome == WALK_PENDING || w->outcome == WALK_UNSUPPORTED)
		return false;
	return w->outcome != WALK_OK || rec->native > NATIVE_TRUNCATED || rec->gil == GIL_UNKNOWN;
}

/* Tells whether one more report of absent memory may be sent for process w->proc. */
walk_inline bool has_quota(struct walk *w)
{
	__u32 i = (w->proc_hash >> 32) % ABSENT_QUOTAS;
	struct absent_quota *q = bpf_map_lookup_elem(&absent_quotas, &i);
	__u64 now = bpf_ktime_get_ns(), earned;

	if (!q)
		return false;
	if (q->proc != w->proc_hash) {
		q->proc = w->proc_hash;
		q->at_ns = now;
		q->left = ABSENT_BURST;
	}
	earned = (now - q->at_ns) / ABSENT_NS;
	if (earned) {
		q->at_ns = now;
		q->left = earned + q->left < ABSENT_BURST ? q->left + (__u32)earned : ABSENT_BURST;
	}
	if (!q->left)
		return false;
	q->left--;
	return true;
}

/*
 * Reports to user space which memory the sample needed and couldn't read, because it isn't
 * resident.
 */
walk_global int send_absent(__u32 slot)
{
	struct walk *w = walk_state(slot);
	struct rec_absent rec = {.type = REC_ABSENT};

	if (!w || !has_quota(w))
		return 0;
	rec.layout = w->where.layout;
	rec.proc = w->proc;
	rec.tstate = w->thread == THREAD_STATE ? w->tstate : 0;
	for (__u32 i = 0; i < ABSENT_MAX; i++)
		rec.range[i] = w->absent[i];
	ring_output(&rec, sizeof(rec), BPF_RB_FORCE_WAKEUP);
	return 0;
}

#endif
