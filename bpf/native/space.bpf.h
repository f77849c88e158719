/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds a thread's native and kernel frames to its stack. Native frames are unwound with the
 * mappings that user space has read, if these are still valid (events/unmap.bpf.h).
 */
#ifndef BPF_NATIVE_SPACE_H
#define BPF_NATIVE_SPACE_H

#include "maps.bpf.h"

/*
 * Tells whether the mappings @s, a copy of @now, are up to date and are those of process @key.
 * @before_ns: proc_entry.space_before_ns.
 */
walk_inline bool space_holds(const struct unwind_space *s, const struct unwind_space *now,
			     const struct proc_key *key, __u64 before_ns)
{
	/*
	 * User space may write @now at any time. User space changes the version before and after
	 * all other members.
	 */
	if (s->version != now->version || s->unmaps != s->at_unmaps || s->chunks > SPACE_CHUNKS)
		return false;
	if (s->owner_start_ns == key->start_ns && s->owner_tgid == key->tgid &&
	    s->owner_exec == key->exec_id)
		return true;
	/*
	 * The mappings were read before the process's first sample, when its complete key wasn't
	 * known. In that case an equal tgid is enough, because a proc_entry has the slot of these
	 * mappings only if they were read from its image.
	 */
	if (!s->owner_start_ns && s->owner_tgid == key->tgid)
		return true;
	return s->read_ns < before_ns;
}

/*
 * Copies the mappings of process w->proc. If they aren't up to date, sets version and chunks to 0.
 */
walk_inline void copy_space(struct native *n, const struct walk *w)
{
	const struct unwind_space *s = w->space ? bpf_map_lookup_elem(&spaces, &w->space) : 0;

	if (s) {
		n->space = *s;
		barrier();
		if (space_holds(&n->space, s, &w->proc, w->space_before_ns))
			return;
	}
	n->space.version = n->space.chunks = 0;
}

/* Adds the frames of the kernel to n->hash. */
walk_global int hash_kernel(__u32 slot)
{
	struct native_out *no = native_out(slot);
	struct native *n = native_state(slot);

	if (!no || !n)
		return 0;
	for (__u32 i = 0; i < ABI_MAX_KERNEL; i++) {
		if (i >= no->head.n_kernel)
			break;
		n->hash = check_mix(n->hash, no->pc[i]);
	}
	return 0;
}

/*
 * A process maps a lot in its first milliseconds, so user space is woken more often for a young
 * process. This isn't done if the whole machine is recorded, where too many processes are young.
 */
#define WAKE_APART_NS	    (10 * 1000000ull)
#define WAKE_APART_YOUNG_NS (1 * 1000000ull)
#define YOUNG_NS	    (2 * 1000000000ull)

walk_inline bool is_time_to_wake(struct native *n, const struct walk *w)
{
	__u64 now = bpf_ktime_get_ns();
	bool young = !whole_machine && now - w->proc.start_ns < YOUNG_NS;

	if (now - n->woken_ns < (young ? WAKE_APART_YOUNG_NS : WAKE_APART_NS))
		return false;
	n->woken_ns = now;
	return true;
}

/*
 * Is user space to be woken? If the sample has code that isn't in the mappings, user space is woken
 * once for each version of the mappings. If the mappings aren't up to date, or a file has no rows
 * yet, is_time_to_wake() decides.
 */
walk_inline bool is_urgent(struct native *n, const struct walk *w)
{
	__u32 slot = w->space;
	struct unwind_space *s;

	if (patient)
		return false;
	if (n->outcome == NATIVE_NO_ROWS || n->outcome == NATIVE_NO_SPACE)
		return is_time_to_wake(n, w);
	if (n->outcome != NATIVE_UNMAPPED)
		return false;
	s = slot ? bpf_map_lookup_elem(&spaces, &slot) : 0;
	if (!s || s->asked == s->version)
		return false;
	s->asked = s->version;
	return true;
}

/*
 * Returns true if the sampled thread's interpreter collects garbage now, and if the thread has C
 * code between its Python frames. In that case the C code may be the collector, and the Python
 * frame that it called may be a finalizer.
 */
walk_inline bool may_be_in_collector(const struct walk *w)
{
	const struct py_layout *l = walk_layout(w->where.layout);
	__u32 collecting = 0;

	if (!l || !l->interp_collecting || w->thread != THREAD_STATE)
		return false;
	if ((l->walk == PY_WALK_OBJECT ? w->n : w->groups) < 2)
		return false;
	return !read_user(&collecting, sizeof(collecting), w->interp + l->interp_collecting) &&
	       collecting;
}

/*
 * Completes the stack in @slot, whose Python frames have been walked. If @unwinds, adds the native
 * frames from n->regs on. The kernel's frames are in native_out already. This function only makes
 * them part of the stack's id. Returns enum native_outcome.
 */
walk_global int add_native(__u32 slot, __u32 unwinds)
{
	struct walk *w = walk_state(slot);
	struct native *n = native_state(slot);
	struct native_out *no = native_out(slot);

	if (!w || !n || !no)
		return NATIVE_NONE;
	n->n = 0;
	n->hash = 0;
	n->outcome = NATIVE_NONE;
	if (unwinds) {
		n->leaf_only = native_mode == NATIVE_MODE_LEAF && !may_be_in_collector(w);
		n->instructions = native_instructions;
		n->epoch = unwind_epoch;
		copy_space(n, w);
		walk_native(n, w);
		w->urgent = is_urgent(n, w);
	}
	if (no->head.n_kernel)
		hash_kernel(slot);
	identify_stack(w, n, no->head.n_kernel);
	return n->outcome;
}

#endif
