/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures how long threads wait for each GIL, and which thread holds it meanwhile
 * (docs/decisions/0024). The program that runs at each task switch counts the threads that wait for
 * a GIL. A sample of the GIL's holder carries the time of all threads that wait at that moment.
 * While the holder has no CPU, it has no samples. So the sum of all waiting times is read when the
 * holder leaves the CPU and when it gets a CPU again.
 */
#ifndef BPF_GIL_TIME_H
#define BPF_GIL_TIME_H

#include "maps.bpf.h"
#include "python/call.bpf.h"
#include "waiters.h"

/* waits are recorded, so the waiters of each GIL are counted */
const volatile bool counts_gil;
/*
 * number of the event whose samples also say how long other threads waited for the GIL; the weights
 * of these samples are CPU time
 */
const volatile __u8 blame_source = ABI_MAX_SOURCES;

/* The GILs that threads have waited for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* user space sets this to 1 if waits aren't recorded */
	__type(key, struct gil_key);
	__type(value, struct gil_count);
} gils SEC(".maps");

walk_inline struct gil_count *gil_at(__u32 tgid, __u32 slot)
{
	struct gil_key key = {.tgid = tgid, .slot = slot};

	return bpf_map_lookup_elem(&gils, &key);
}

walk_inline struct gil_now gil_now_of(const struct gil_count *c)
{
	return gil_value(*(const volatile __u64 *)&c->word, walk_clock());
}

/*
 * Returns the slot of process @tgid in which waits for the GIL at @wait are counted; GIL_SLOTS:
 * there is none. If the GIL has no slot and @makes is set, it gets an unused slot or, if there is
 * none, the slot of a GIL for which nobody waits. (If two threads take the same slot at the same
 * time, some waits of their process may not be counted.)
 */
walk_global __u32 gil_slot(__u32 tgid, __u64 wait, __u32 makes)
{
	struct gil_count *c, fresh = {.wait = wait, .word = GIL_FIRST};
	__u32 unused = GIL_SLOTS;

	for (__u32 i = 0; i < GIL_SLOTS; i++) {
		struct gil_key key = {.tgid = tgid, .slot = i};
		struct gil_now now;

		c = bpf_map_lookup_elem(&gils, &key);
		if (!c && makes && !bpf_map_update_elem(&gils, &key, &fresh, BPF_NOEXIST))
			return i;
		if (!c) /* another CPU may have made the slot after it was looked up */
			c = makes ? bpf_map_lookup_elem(&gils, &key) : NULL;
		if (!c)
			break;
		now = gil_now_of(c);
		if (c->wait == wait && !now.full)
			return i;
		if (!now.waiters)
			unused = i;
	}
	c = makes ? gil_at(tgid, unused) : NULL;
	if (!c)
		return GIL_SLOTS;
	c->wait = wait;
	c->word = GIL_FIRST;
	return unused;
}

/*
 * Returns the counts of the GIL of @e, which are in the slot that was found last. NULL: another GIL
 * has that slot now.
 */
walk_inline struct gil_count *gil_of_entry(const struct wait_entry *e)
{
	struct gil_count *c = gil_at(e->host_tgid, e->gil_slot);

	return c && c->wait == e->gil ? c : NULL;
}

/*
 * Returns the counts of the GIL of @e. If gil_of_entry() doesn't find them, searches for the GIL's
 * slot. @makes: as for gil_slot().
 */
walk_inline struct gil_count *gil_to_count(struct wait_entry *e, bool makes)
{
	struct gil_count *c = gil_of_entry(e);

	if (c)
		return c;
	e->gil_slot = gil_slot(e->host_tgid, e->gil, makes);
	return gil_of_entry(e);
}

/* Returns the sum of all threads' waits so far for the GIL of @e. */
walk_inline __u64 gil_sum(struct wait_entry *e)
{
	const struct gil_count *c = gil_to_count(e, false);

	return c ? gil_now_of(c).sum_ns : GIL_FIRST << GIL_SHIFT;
}

/*
 * Counts that the thread of @e begins to wait for its GIL. False: the map has no room to count the
 * wait.
 */
walk_inline bool gil_wait_begins(struct wait_entry *e)
{
	struct gil_count *c = gil_to_count(e, true);
	__u64 more = GIL_ONE - (walk_clock() >> GIL_SHIFT);

	if (c)
		__sync_fetch_and_add(&c->word, more);
	if (c && *(const volatile __u64 *)&c->wait == e->gil)
		return true;
	if (c) /* after the lookup, another CPU has given the slot to another GIL */
		__sync_fetch_and_add(&c->word, -more);
	count(COUNT_NO_GIL);
	return false;
}

walk_inline void gil_wait_ends(const struct wait_entry *e)
{
	struct gil_count *c = gil_of_entry(e);

	if (c)
		__sync_fetch_and_add(&c->word, (walk_clock() >> GIL_SHIFT) - GIL_ONE);
}

/* Forgets the GILs of process @tgid, for which nobody waits any more. */
walk_global int forget_gils(__u32 tgid)
{
	for (__u32 i = 0; i < GIL_SLOTS; i++) {
		struct gil_key key = {.tgid = tgid, .slot = i};

		if (bpf_map_delete_elem(&gils, &key))
			return 0;
	}
	return 0;
}

/* Does the thread of @e, the current one, wait in a futex call for its GIL? */
walk_inline bool is_gil_futex(const struct wait_entry *e)
{
	return e->gil && e->futex && e->futex - e->gil < e->gil_bytes;
}

/*
 * Does the thread of @e, the current one, hold its GIL? Up to 3.11, the thread holds the GIL if its
 * PyThreadState is the current one. From 3.12 on the GIL names its holder. Between the two stores
 * with which another thread takes the GIL, the GIL still names its last holder
 * (docs/decisions/0007). A native thread may have freed its state, and another thread may use the
 * same memory for its own state. The state's thread_id shows that.
 */
walk_inline bool is_gil_holder(const struct wait_entry *e)
{
	struct {
		__u64 holder;
		__s32 locked, reserved;
	} gil = {};
	__u64 owner = 0;

	if (!e->gil || !e->gil_holder || !e->tstate || read_user(&gil, 12, e->gil_holder))
		return false;
	if (gil.holder != e->tstate || (e->gil_locks && gil.locked != 1))
		return false;
	return !read_user(&owner, sizeof(owner), e->owner_at) && owner == e->owner;
}

/* Returns the current thread's entry in map `waits`; NULL: the thread has no entry. */
walk_inline struct wait_entry *current_wait(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tid = BPF_CORE_READ(task, pid);

	return bpf_map_lookup_elem(&waits, &tid);
}

/*
 * Finds the GIL of the thread that was walked. False: the thread has no GIL, or the GIL isn't
 * readable.
 */
walk_inline bool find_walked_gil(const struct walk *w, struct gil_place *g)
{
	const struct py_layout *l = layout_of(w);

	return l && w->thread == THREAD_STATE && find_gil(w, l, g) && g->wait != NO_WORD;
}

/*
 * Stores in the wait_entry of the current thread, whose frames have been walked, where its GIL is.
 */
walk_global int note_gil(__u32 slot)
{
	struct wait_entry *e = current_wait();
	const struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	const struct gil_count *c;
	struct gil_place g = {};

	if (!e || !w)
		return 0;
	e->gil = 0;
	if (!l || !find_walked_gil(w, &g))
		return 0;
	e->gil = g.wait;
	e->host_tgid = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), tgid);
	e->gil_bytes = w->where.gil_wait_bytes;
	e->gil_locks = w->where.gil != PY_GIL_CURRENT;
	c = gil_of_entry(e);
	if (c && gil_now_of(c).full)
		e->gil_slot = GIL_SLOTS;
	e->gil_holder = e->gil_locks ? g.holder : w->where.tstate_current;
	e->tstate = w->tstate;
	e->owner_at = w->tstate + l->tstate_thread_id;
	e->owner = read_u64(e->owner_at);
	return 0;
}

/*
 * While a thread sleeps and holds the GIL, other threads may wait for the GIL. The record of the
 * sleep says how long they waited. If that record isn't sent within SLEPT_NS, the thread's next
 * sample says how long they waited.
 */
#define SLEPT_NS 1000000000ull

/*
 * Returns how long other threads waited for the GIL while the thread of @e held it and had no CPU.
 * Only time that no record has yet counts. The caller puts the time into a record, so a later call
 * doesn't return it again.
 */
walk_inline __u64 take_blame(struct wait_entry *e)
{
	__u64 ns = e->blame_ns;

	e->blame_ns = 0;
	if (e->slept_blame_ns && walk_clock() - e->slept_since_ns > SLEPT_NS) {
		ns += e->slept_blame_ns;
		e->slept_blame_ns = 0;
	}
	return ns;
}

/*
 * Returns how long other threads waited for the current thread, which was walked and holds the GIL:
 * during the @weight ns of CPU time that the present sample counts, plus what take_blame() returns.
 */
walk_global __u64 blame_holder(__u32 slot, __u64 weight)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const struct walk *w = walk_state(slot);
	const struct gil_count *c;
	struct gil_place g = {};
	struct wait_entry *e;
	__u64 ns = 0;
	__u32 tgid;

	if (!w || !find_walked_gil(w, &g))
		return 0;
	e = current_wait();
	/* no program saw the thread get a CPU after it had waited for the GIL */
	if (e && e->away == AWAY_WAITS) {
		gil_wait_ends(e);
		e->away = AWAY_UNCOUNTED;
	}
	tgid = BPF_CORE_READ(task, tgid);
	c = gil_at(tgid, gil_slot(tgid, g.wait, false));
	if (c)
		ns = weight * gil_now_of(c).waiters;
	return e ? ns + take_blame(e) : ns;
}

/*
 * The current thread, whose entry is @e, leaves the CPU at @now. @waits_for: it waits for
 * something; else it is ready to run. Notes whether it waits for the GIL or holds it. A thread also
 * waits for the GIL if it was woken up in a futex call on the GIL and hasn't left that call yet.
 */
walk_apart int leaves_with_gil(struct wait_entry *e, bool waits_for, __u64 now)
{
	struct futex_call call = {.op = -1};

	/* no program saw the thread get a CPU after it had waited for the GIL */
	if (e->away == AWAY_WAITS)
		gil_wait_ends(e);
	e->away = AWAY_NEITHER;
	e->gil_ns = e->held_ns = 0;
	e->gone_ns = now;
	if (!waits_for) {
		read_futex_call(&call);
		e->futex = is_waiting_call(&call) ? call.addr : 0;
	}
	if (is_gil_futex(e)) {
		if (waits_for && e->times)
			e->wait.flags |= WAIT_FOR_GIL;
		e->away = gil_wait_begins(e) ? AWAY_WAITS : AWAY_UNCOUNTED;
	} else if (is_gil_holder(e) || (waits_for && e->times && e->wait.sample.gil == GIL_HELD)) {
		e->others_ns = gil_sum(e);
		e->away = AWAY_HOLDS;
	}
	return 0;
}

/*
 * Called when the thread whose entry is @e gets a CPU again, at @now. If the thread held the GIL
 * while it had no CPU, other threads may have waited for the GIL. The record of this thread's wait
 * says how long they waited. If this thread was ready to run all the time, its next sample says how
 * long they waited.
 */
walk_apart int comes_with_gil(struct wait_entry *e, __u64 now)
{
	__u64 ns = 0, waited = 0;

	if (e->away == AWAY_HOLDS)
		ns = gil_sum(e) - e->others_ns;
	else
		waited = now - e->gone_ns;
	if ((__s64)ns < 0)
		ns = 0;
	if (e->away == AWAY_WAITS)
		gil_wait_ends(e);
	e->away = AWAY_NEITHER;
	if (e->phase == WAIT_WAITS) {
		e->gil_ns = waited;
		e->held_ns = ns;
	} else {
		e->gil_owed_ns += waited;
		e->blame_ns += ns;
	}
	return 0;
}

/*
 * Called when the current thread, of process @tgid, ends. If the thread is the process's last,
 * forgets the process's GILs.
 */
walk_global int forget_last(__u32 tgid)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (BPF_CORE_READ(task, signal, live.counter) <= 0)
		forget_gils(tgid);
	return 0;
}

#endif
