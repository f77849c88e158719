/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps, and the seam of state.bpf.h and send.bpf.h on top of them. Sizes marked "set at load"
 * are computed by src/sampler from the machine.
 */
#ifndef BPF_MAPS_H
#define BPF_MAPS_H

#include "send.bpf.h"

/* Options of the run, constant from load on. */
const volatile __u32 pidns_inum;   /* krait's own PID namespace, 0 = the host's: no translation */
const volatile bool whole_machine; /* every process, not only trees of `roots` */
const volatile bool follow_children;

/* False until user space has described the processes there are (attaching starts the event). */
bool armed;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walk_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk_out);
} walk_outs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk_addrs);
} walk_addresses SEC(".maps");

/* Values of per-CPU arrays end at 32 KiB: a plain array, indexed by CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set at load: CPUs */
	__type(key, __u32);
	__type(value, struct staging);
} stagings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_MAX_LAYOUTS);
	__type(key, __u32);
	__type(value, struct py_layout);
} layouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32); /* tgid */
	__type(value, struct proc_entry);
} procs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct exe_key);
	__type(value, struct exe_entry);
} exes SEC(".maps");

/* Processes that were asked for; their descendants are found from them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32); /* tgid */
	__type(value, __u32);
} roots SEC(".maps");

/* Processes that mapped a libpython although their executable isn't known for it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* tgid */
	__type(value, __u32);
} suspects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} codes_sent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} stacks_sent SEC(".maps");

/* One ring per CPU: in NMI context a ring's lock is tried once only. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set at load */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* set at load: CPUs */
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

walk_inline long read_user(void *dst, __u32 n, __u64 addr)
{
	return bpf_probe_read_user(dst, n, (const void *)addr);
}

walk_inline struct walk *walk_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&walk_states, &zero);
}

walk_inline struct walk_out *walk_out(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&walk_outs, &zero);
}

walk_inline struct walk_addrs *walk_addrs(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&walk_addresses, &zero);
}

walk_inline const struct py_layout *walk_layout(__u32 index)
{
	return bpf_map_lookup_elem(&layouts, &index);
}

walk_inline struct staging *walk_staging(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&stagings, &cpu);
}

walk_inline void count(__u32 counter)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &counter);

	if (n)
		*n += 1;
}

walk_inline long ring_output(const void *data, __u64 n, __u64 flags)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	long r;

	if (!ring) {
		count(COUNT_NO_RING);
		return -1;
	}
	r = bpf_ringbuf_output(ring, (void *)data, n, flags);
	if (r)
		count(COUNT_RING_FULL);
	return r;
}

/*
 * No wake-ups: user space polls. A wake-up per record makes the consumer preempt the very target
 * (measured: 17,000 context switches a second instead of 950).
 */
walk_inline long send_bytes(const void *data, __u64 n)
{
	return ring_output(data, n, BPF_RB_NO_WAKEUP);
}

walk_inline bool code_seen(__u64 key)
{
	return bpf_map_lookup_elem(&codes_sent, &key);
}

walk_inline void code_mark(__u64 key)
{
	__u8 one = 1;

	bpf_map_update_elem(&codes_sent, &key, &one, BPF_ANY);
}

walk_inline bool stack_seen(__u64 id)
{
	return bpf_map_lookup_elem(&stacks_sent, &id);
}

walk_inline void stack_mark(__u64 id)
{
	__u8 one = 1;

	bpf_map_update_elem(&stacks_sent, &id, &one, BPF_ANY);
}

#endif
