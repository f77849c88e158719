/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds whether the sampled thread holds the GIL, waits for it, or neither. The thread runs on this
 * CPU and was interrupted, so what only this thread writes can't change meanwhile. What other
 * threads write (last_holder, locked) may change at any time. A state is given only if no other
 * state is possible; see docs/decisions/0007-gil.md.
 *
 * held	     3.13+: tstate.holds_gil is set. Only take_gil() and drop_gil() write it, each for its
 *	     own thread.
 *	     3.12: _status.active is set, last_holder is this thread state, and locked is 1.
 *	     (.active alone is also set while PyThreadState_Swap() waits for another interpreter's
 *	     GIL.)
 *	     <= 3.11: the thread's state is the current one, and locked is 1. Only its own thread
 *	     makes a state current (after taking the GIL) and ends that (before dropping the GIL).
 *	     locked is checked because PyEval_ReleaseLock(), long deprecated, left the state
 *	     current.
 * waiting   The thread doesn't hold the GIL, and is in a futex call that waits for one of the GIL's
 *	     words. 3.15: or its thread state says that it wants the GIL.
 * released  The thread has a thread state, doesn't hold the GIL and doesn't wait for it.
 * none	     The thread has no thread state: the key or variable is unset. Or the build is
 *	     free-threaded, and its GIL is disabled.
 * unknown   The thread is taking or dropping the GIL: the GIL and the thread state disagree on
 *	     whether the thread holds it. Or memory couldn't be read.
 */
#ifndef BPF_PYTHON_GIL_H
#define BPF_PYTHON_GIL_H

#include "python/thread.bpf.h"

/* mask for a futex operation without its flags FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
#define FUTEX_OP	  0x7f
#define FUTEX_WAIT	  0
#define FUTEX_WAIT_BITSET 9
/*
 * how far from sp a word in the waiting function's own C frame may be: with musl,
 * pthread_cond_timedwait() waits for such a word
 */
#define OWN_STACK_BYTES 4096
/*
 * size of 2.7's lock in bytes, if the lock consists of a mutex and a condition and has no semaphore
 */
#define LOCK_BYTES 96

#define NO_WORD	   (~0ull)
/*
 * the low bits of the pointer to a PyCriticalSection, which aren't part of its address; and the
 * offset of _cs_mutex in a PyCriticalSection
 */
#define SECTION_TAG   3ull
#define SECTION_MUTEX 8

/* The futex call in which the thread is. .op < 0: the thread is in no futex call. */
struct futex_call {
	__u64 addr, sp;
	__s64 op;
};

/*
 * Addresses of the GIL's words. 0: the address isn't known. NO_WORD: there is no GIL (yet) to wait
 * for.
 */
struct gil_place {
	__u64 holder, locked, wait;
};

/* Finds the GIL of a process that has a single GIL (2.7-3.11). False: the GIL isn't readable. */
walk_inline bool find_one_gil(const struct walk *w, const struct py_layout *l, struct gil_place *g)
{
	g->holder = w->where.gil_holder;
	g->locked = w->where.gil_locked;
	g->wait = w->where.gil_wait;
	if (!PY_HAS(l->can, LOCK_GIL) || !g->wait)
		return true;
	if (read_user(&g->wait, sizeof(g->wait), g->wait))
		return false;
	if (!g->wait)
		g->wait = NO_WORD;
	return true;
}

/* Finds the GIL of the thread's interpreter. False: the GIL isn't readable. */
walk_inline bool find_gil(const struct walk *w, const struct py_layout *l, struct gil_place *g)
{
	__u64 gil = 0;

	if (!l->interp_gil)
		return find_one_gil(w, l, g);
	if (read_user(&gil, sizeof(gil), w->interp + l->interp_gil))
		return false;
	g->holder = g->locked = 0;
	g->wait = NO_WORD;
	if (gil && w->where.gil == PY_GIL_FREE)
		gil += PY_GIL_ENABLED_BYTES;
	if (gil) {
		g->holder = gil + PY_GIL_HOLDER;
		g->locked = gil + PY_GIL_LOCKED;
		g->wait = gil + PY_GIL_WAIT;
	}
	return true;
}

walk_inline bool is_waiting_call(const struct futex_call *f)
{
	__u32 op = (__u32)f->op & FUTEX_OP;

	return f->op >= 0 && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET);
}

/* Returns the enum gil_state of a thread that doesn't hold the GIL. */
walk_inline __u8 without_gil(const struct walk *w, const struct py_layout *l,
			     const struct gil_place *g, const struct futex_call *f)
{
	if (w->gil_requested)
		return GIL_WAITING;
	if (!is_waiting_call(f))
		return GIL_RELEASED;
	if (g->wait && f->addr - g->wait < w->where.gil_wait_bytes)
		return GIL_WAITING;
	if (!g->wait || (PY_HAS(l->can, LOCK_GIL) && f->addr - g->wait < LOCK_BYTES) ||
	    (w->where.stack_waits && f->addr - f->sp < OWN_STACK_BYTES))
		return GIL_UNKNOWN;
	return GIL_RELEASED;
}

/* Reads last_holder and locked, which lie side by side from 3.7 on. False: they aren't readable. */
walk_inline bool read_gil(struct walk *w, const struct gil_place *g)
{
	__u64 both[2] = {};

	if (w->gil_read)
		return true;
	if (g->locked == g->holder + 8) {
		if (read_user(both, 12, g->holder))
			return false;
	} else if (read_user(&both[0], sizeof(both[0]), g->holder) ||
		   read_user(&both[1], sizeof(w->gil_locked), g->locked)) {
		return false;
	}
	w->gil_holder = both[0];
	w->gil_locked = (__s32)both[1];
	w->gil_read = 1;
	return true;
}

/*
 * Does the GIL itself say that thread state w->tstate holds it? Returns 1 if it does, 0 if it
 * doesn't, a negative number if the GIL isn't readable.
 */
walk_inline int says_held(struct walk *w, const struct gil_place *g)
{
	if (!g->locked || !g->holder)
		return 0;
	if (!read_gil(w, g))
		return -1;
	return w->gil_locked == 1 && w->gil_holder == w->tstate;
}

/*
 * For 2.7-3.11: returns the enum gil_state that follows from which thread state is the current one.
 */
walk_inline __u8 by_current(struct walk *w, const struct py_layout *l, const struct futex_call *f)
{
	struct gil_place g = {};
	__s32 locked = 0;

	if (w->current == CURRENT_UNKNOWN || !find_gil(w, l, &g))
		return GIL_UNKNOWN;
	if (w->current == CURRENT_YES) {
		if (!g.locked)
			return GIL_HELD;
		if (w->gil_read)
			locked = w->gil_locked;
		else if (read_user(&locked, sizeof(locked), g.locked))
			return GIL_UNKNOWN;
		if (locked) /* `locked` is -1 as long as the GIL isn't made yet */
			return GIL_HELD;
	} else if (says_held(w, &g)) {
		return GIL_UNKNOWN;
	}
	return without_gil(w, l, &g, f);
}

/* For 3.12: returns the enum gil_state that follows from _status.active. */
walk_inline __u8 by_active(struct walk *w, const struct py_layout *l, const struct futex_call *f)
{
	bool active = w->gil_word & l->gil_bit;
	struct gil_place g = {};
	__u8 state;
	int held;

	if (!find_gil(w, l, &g))
		return GIL_UNKNOWN;
	held = says_held(w, &g);
	if (held)
		return active && held > 0 ? GIL_HELD : GIL_UNKNOWN;
	state = without_gil(w, l, &g, f);
	/*
	 * If _status.active is set though the thread doesn't hold the GIL, the thread waits for
	 * another interpreter's GIL, or another thread state has replaced the thread state that
	 * took the GIL.
	 */
	return active && state == GIL_RELEASED ? GIL_UNKNOWN : state;
}

/* For 3.13 and later: returns the enum gil_state that follows from holds_gil. */
walk_inline __u8 by_holding(struct walk *w, const struct py_layout *l, const struct futex_call *f)
{
	struct gil_place g = {};

	if (w->gil_word & l->gil_bit)
		return GIL_HELD;
	/*
	 * take_gil() sets holds_gil last. Before it does, the thread may be in a futex call that
	 * wakes the thread from which it got the GIL.
	 */
	if (f->op >= 0 && (!find_gil(w, l, &g) || says_held(w, &g)))
		return GIL_UNKNOWN;
	return without_gil(w, l, &g, f);
}

/*
 * What does a thread without a GIL wait for, if it is in this futex call? Threads wait by
 * _PyParkingLot_Park(): they sleep on the semaphore of a struct wait_entry, and before the
 * semaphore comes the address of what they wait for (3.13-3.15, Python/parking_lot.c). A thread
 * that waits while all threads are stopped waits for its own thread state. A thread that waits for
 * a critical section already has that section as its innermost one, and stores the section's mutex
 * only when it has locked it.
 */
walk_inline __u8 parked_for(const struct walk *w, const struct py_layout *l,
			    const struct futex_call *f)
{
	__u64 at = 0, section = 0, mutex = 0;

	if (!is_waiting_call(f) || !l->tstate_state || read_user(&at, sizeof(at), f->addr - 8))
		return GIL_NONE;
	if (at == w->tstate + l->tstate_state)
		return GIL_NONE_STOPPED;
	if (read_user(&section, sizeof(section), w->tstate + l->tstate_section))
		return GIL_NONE;
	section &= ~SECTION_TAG;
	if (!section || read_user(&mutex, sizeof(mutex), section + SECTION_MUTEX) || mutex)
		return GIL_NONE;
	return GIL_NONE_SECTION;
}

/*
 * For free-threaded builds: returns the enum gil_state. While the GIL is disabled, nobody takes it.
 * It is enabled by PYTHON_GIL=1, or by an extension module that needs it.
 */
walk_inline __u8 by_enabled(struct walk *w, const struct py_layout *l, const struct futex_call *f)
{
	struct gil_place g = {};
	__u32 enabled = 0;

	if (w->gil_word & l->gil_bit)
		return GIL_HELD;
	if (!find_gil(w, l, &g) || g.wait == NO_WORD ||
	    read_user(&enabled, sizeof(enabled), g.wait - PY_GIL_WAIT - PY_GIL_ENABLED_BYTES))
		return GIL_UNKNOWN;
	return enabled ? by_holding(w, l, f) : parked_for(w, l, f);
}

/* Returns the enum gil_state of the thread whose state find_tstate() has searched for. */
walk_inline __u8 gil_of(struct walk *w, const struct py_layout *l, const struct futex_call *f)
{
	if (w->thread != THREAD_STATE)
		return w->thread == THREAD_NONE ? GIL_NONE : GIL_UNKNOWN;
	switch (w->where.gil) {
	case PY_GIL_CURRENT:
		return by_current(w, l, f);
	case PY_GIL_ACTIVE:
		return by_active(w, l, f);
	case PY_GIL_HOLDS:
		return by_holding(w, l, f);
	case PY_GIL_FREE:
		return by_enabled(w, l, f);
	}
	return GIL_UNKNOWN;
}

#endif
