/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The BPF maps, and the functions that use them; state.bpf.h and send.bpf.h only declare these.
 * Sizes marked "set at load" are computed by src/sampler for the machine.
 */
#ifndef BPF_MAPS_H
#define BPF_MAPS_H

#include "native/unwind.bpf.h"
#include "send.bpf.h"
#include "waits.h"

/* Options of the recording, which are constant once the programs are loaded. */
/* whether every process is sampled, not only those in `roots` and their descendants */
const volatile bool whole_machine;
const volatile bool follow_children;
const volatile bool all_processes; /* whether processes without Python are also sampled */
const volatile bool patient;	   /* whether only records that need an answer wake user space */

const volatile __u8 native_mode; /* enum native_mode */
const volatile bool
	/* native frames have the addresses of their instructions, because their lines are shown */
	native_instructions;
/* whether the programs measure how long samples take (longest_ns, long_samples) */
const volatile bool measures;

/*
 * How many slots each CPU has; a slot holds the state of one walk of a stack. Maps with such state
 * have as many entries.
 */
const volatile __u32 n_slots = WALK_SLOTS;

/* The recording's events. */
const volatile __u32 n_sources;
const volatile struct {
	__u64 kernel_stack; /* != 0: samples of this event have the kernel's frames */
} source_config[ABI_MAX_SOURCES];

/*
 * The weight of each sample of an event. 0: the weight is the event's period. User space changes
 * the weight when it changes the rate.
 */
__u64 source_weight[ABI_MAX_SOURCES];

/* User space sets this when it has described the processes that ran before the recording. */
bool armed;

/*
 * How long the longest sample so far took, and how many samples took longer than SAMPLE_NS. The
 * numbers include samples during which the host of a virtual machine took the CPU away. CPUs that
 * write at the same time may lose an update.
 */
__u64 longest_ns, long_samples;

/*
 * The time that unwind_store_epoch() returned when user space last emptied the rings, in seconds.
 */
__u32 unwind_epoch;

/*
 * Set by sampler_settle(), when user space begins a long sleep. The next record that can't wait
 * (is_news()) wakes user space and clears this.
 */
bool settled;

/*
 * Part of the ids in codes_sent and stacks_sent, above the bits that choose a set. When
 * sampler_send_again() changes this number, no id in these maps matches any more, so everything is
 * sent again.
 */
__u32 sent_epoch;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct walk);
} walk_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct walk_out);
} walk_outs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct walk_addrs);
} walk_addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct native);
} native_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct native_out);
} native_outs SEC(".maps");

/*
 * Slabs with the rows and mappings of abi/unwind.h. User space creates slabs when they are needed.
 */
struct slab {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_SLAB_CHUNKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* the size is set at load, from --unwind-memory */
	__type(key, __u32);
	__array(values, struct slab);
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_MAX_TABLES);
	__type(key, __u32);
	__type(value, struct unwind_table);
} unwind_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_MAX_KERNEL_RULES);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

/*
 * Buffers in which records of code objects are put together. The map is a plain array with n_slots
 * values for each CPU, because a value of a per-CPU array has at most 32 KiB.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_SLOTS); /* the size is set at load: n_slots for each CPU */
	__type(key, __u32);
	__type(value, struct staging);
} stagings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* user space sets this to 1 if waits aren't recorded */
	__type(key, __u32);	    /* tid in the first PID namespace */
	__type(value, struct wait_entry);
} waits SEC(".maps");

/*
 * How long each thread had been ready to run without a CPU when the recording began. User space
 * writes this map before the recording begins. The programs only read the map, so its memory may be
 * allocated entry by entry.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* user space sets this to 1 if waits aren't recorded */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tid in the first PID namespace */
	__type(value, __u64);
} delays SEC(".maps");

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

/* For recordings of several events: how long the sent samples of each event took, added up. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_MAX_SOURCES);
	__type(key, __u32);
	__type(value, __u64);
} source_busy_ns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32); /* the key is the tgid */
	__type(value, struct proc_entry);
} procs SEC(".maps");

/*
 * The processes with several interpreters, which are few. User space deletes processes that have
 * ended.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32); /* the key is the tgid */
	__type(value, struct proc_several);
} several SEC(".maps");

walk_inline const struct proc_several *walk_several(__u32 tgid)
{
	return bpf_map_lookup_elem(&several, &tgid);
}

/* User space maps the values of this map into its own memory, where it reads and writes them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAX_SPACES);
	__type(key, __u32);
	__type(value, struct unwind_space);
} spaces SEC(".maps");

/*
 * Processes that unmapped something executable before their first sample. Their parent's mappings
 * aren't valid for them.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* the key is the tgid */
	__type(value, __u32);
} early_unmaps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct exe_key);
	__type(value, struct exe_entry);
} exes SEC(".maps");

/* The processes that the user asked for. is_wanted() finds their descendants. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384); /* user space sets this to 1 if every process is sampled */
	__type(key, __u32);	    /* the key is the tgid */
	__type(value, __u32);
} roots SEC(".maps");

/*
 * Processes that have mapped a libpython, though map `exes` says that their executable isn't
 * Python.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* the key is the tgid */
	__type(value, __u32);
} suspects SEC(".maps");

/*
 * Ids of what was sent to user space, in sets of four, the newest first. A full set forgets its
 * oldest id. CPUs that write to one set at the same time may lose an id. A stack or code object
 * whose id was forgotten or lost is sent again. (An LRU hash with as many ids would take ten times
 * the memory. And an update in an NMI would fail if the NMI had interrupted another update.)
 */
struct sent_set {
	__u64 id[SENT_WAYS];
};

struct sent {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SETS);
	__type(key, __u32);
	__type(value, struct sent_set);
};

struct sent codes_sent SEC(".maps"), stacks_sent SEC(".maps");

/*
 * One ring per CPU. An NMI tries to take a ring's lock only once, and with one ring for all CPUs it
 * would often fail.
 */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the size is set at load */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* the number of CPUs, which is set at load */
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

walk_inline long read_user(void *dst, __u32 n, __u64 addr)
{
	return bpf_probe_read_user(dst, n, (const void *)addr);
}

walk_inline __u64 walk_clock(void)
{
	return bpf_ktime_get_ns();
}

walk_inline struct walk *walk_state(__u32 slot)
{
	return bpf_map_lookup_elem(&walk_states, &slot);
}

walk_inline struct walk_out *walk_out(__u32 slot)
{
	return bpf_map_lookup_elem(&walk_outs, &slot);
}

walk_inline struct walk_addrs *walk_addrs(__u32 slot)
{
	return bpf_map_lookup_elem(&walk_addresses, &slot);
}

walk_inline struct native *native_state(__u32 slot)
{
	return bpf_map_lookup_elem(&native_states, &slot);
}

walk_inline struct native_out *native_out(__u32 slot)
{
	return bpf_map_lookup_elem(&native_outs, &slot);
}

walk_inline const struct unwind_chunk *unwind_chunk_at(__u32 number)
{
	__u32 slab = number / UNWIND_SLAB_CHUNKS, i = number % UNWIND_SLAB_CHUNKS;
	void *map = bpf_map_lookup_elem(&slabs, &slab);

	return map ? bpf_map_lookup_elem(map, &i) : 0;
}

walk_inline struct unwind_table *unwind_table_at(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_tables, &number);
}

walk_inline const struct unwind_rule *unwind_rule_at(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_rules, &number);
}

walk_inline const struct py_layout *walk_layout(__u32 index)
{
	return bpf_map_lookup_elem(&layouts, &index);
}

walk_inline struct staging *walk_staging(__u32 slot)
{
	__u32 i = bpf_get_smp_processor_id() * n_slots + slot;

	return bpf_map_lookup_elem(&stagings, &i);
}

walk_inline void count(__u32 counter)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &counter);

	if (!n)
		return;
	/* atomically, if several programs run: one that interrupts this one may count too */
	if (n_slots > 1)
		__sync_fetch_and_add(n, 1);
	else
		*n += 1;
}

#define NEW_THREAD_NS (20 * 1000000ull)

/*
 * Must user space handle the record @data soon? It must if @data is a code object, or a sample of a
 * thread that has hardly run: the process that user space has to read for it may end soon.
 */
walk_inline bool is_news(const void *data)
{
	const struct rec_sample *sample = data;

	return sample->type == REC_CODE ||
	       (sample->type == REC_SAMPLE && sample->runtime_ns < NEW_THREAD_NS);
}

/*
 * Records of new stacks, and even more so records of code objects, can fill a ring faster than user
 * space polls it. Records of samples can't, because they are small. So a large record wakes user
 * space when a quarter of the ring is full. A wake-up per record would make the consumer preempt
 * the target (measured: 17,000 context switches a second instead of 950).
 */
walk_inline long ring_output(const void *data, __u64 n, __u64 flags)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	long r;

	if (!ring) {
		count(COUNT_NO_RING);
		return -1;
	}
	if (n > sizeof(struct rec_sample) && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >
						     bpf_ringbuf_query(ring, BPF_RB_RING_SIZE) / 4)
		flags = BPF_RB_FORCE_WAKEUP;
	if (settled && is_news(data)) {
		settled = false;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	r = bpf_ringbuf_output(ring, (void *)data, n, flags);
	if (r)
		count(COUNT_RING_FULL);
	return r;
}

walk_inline long send_bytes(const void *data, __u64 n)
{
	return ring_output(data, n, BPF_RB_NO_WAKEUP);
}

walk_inline struct sent_set *sent_set(void *sent, __u64 id)
{
	__u32 set = bounded(sent_set_of(id), SENT_SETS);

	return bpf_map_lookup_elem(sent, &set);
}

walk_inline bool was_sent(void *sent, __u64 id)
{
	const struct sent_set *set = sent_set(sent, id);

	return set &&
	       (set->id[0] == id || set->id[1] == id || set->id[2] == id || set->id[3] == id);
}

walk_inline void mark_sent(void *sent, __u64 id)
{
	struct sent_set *set = sent_set(sent, id);

	if (!set)
		return;
	set->id[3] = set->id[2];
	set->id[2] = set->id[1];
	set->id[1] = set->id[0];
	set->id[0] = id;
}

walk_inline __u64 in_epoch(__u64 id)
{
	return id ^ (__u64)sent_epoch << 32;
}

walk_inline bool code_seen(__u64 key)
{
	return was_sent(&codes_sent, in_epoch(key));
}

walk_inline void code_mark(__u64 key)
{
	mark_sent(&codes_sent, in_epoch(key));
}

walk_inline bool stack_seen(__u64 id)
{
	return was_sent(&stacks_sent, id);
}

walk_inline void stack_mark(__u64 id)
{
	mark_sent(&stacks_sent, id);
}

#endif
