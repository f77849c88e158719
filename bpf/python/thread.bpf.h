/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the sampled thread's PyThreadState and its innermost frame. How they are found depends on
 * the version: pthread key (3.6-3.14), TLS variable (3.15), gilstate.tstate_current (<= 3.11), list
 * of thread states by thread_id (2.7).
 */
#ifndef BPF_PYTHON_THREAD_H
#define BPF_PYTHON_THREAD_H

#include "state.bpf.h"

#define MAX_LISTED_THREADS 512 /* how many thread states are looked at in one sample */
/* how many bytes of C stack can lie below an evaluation loop */
#define LOOP_BYTES (256 << 10)
/* a value of w->outer that is no frame's address: .outer isn't set */
#define LOOP_NOT_SET	     (~0ull)
#define GLIBC_KEYS_PER_BLOCK 32 /* number of keys in a block of nptl: PTHREAD_KEY_2NDLEVEL_SIZE */

walk_inline __u64 read_u64(__u64 addr)
{
	__u64 v = 0;

	if (read_user(&v, sizeof(v), addr))
		return 0;
	return v;
}

/*
 * Reads a word of a list of thread states. If the read fails, it isn't known whether the list goes
 * on to this thread's state: THREAD_UNKNOWN.
 */
walk_inline __u64 list_u64(struct walk *w, __u64 addr)
{
	__u64 v = 0;

	if (read_user(&v, sizeof(v), addr)) {
		note_absent(w, ABSENT_THREAD, addr, sizeof(v));
		w->thread = THREAD_UNKNOWN;
	}
	return v;
}

/*
 * Reads a word on the way to the thread state. A failed read doesn't prove that there is no thread
 * state, so the outcome is WALK_TLS_FAULT then.
 */
walk_inline __u64 tls_u64(struct walk *w, __u64 addr)
{
	__u64 v = 0;

	if (read_user(&v, sizeof(v), addr)) {
		note_absent(w, ABSENT_THREAD, addr, sizeof(v));
		w->outcome = WALK_TLS_FAULT;
	}
	return v;
}

/*
 * Reads a pthread key's value with nptl: specific_1stblock[32] of {seq, data}, then specific[32]
 * pointers to more blocks.
 */
walk_inline __u64 glibc_key_value(struct walk *w, __u32 key)
{
	__u64 block = w->tp + (__s64)w->where.tsd_offset;

	if (key >= GLIBC_KEYS_PER_BLOCK * GLIBC_KEYS_PER_BLOCK)
		return 0;
	if (key >= GLIBC_KEYS_PER_BLOCK)
		block = tls_u64(w, block + 16 * GLIBC_KEYS_PER_BLOCK +
					   8 * (key / GLIBC_KEYS_PER_BLOCK));
	if (!block)
		return 0;
	return tls_u64(w, block + 16 * (key % GLIBC_KEYS_PER_BLOCK) + 8);
}

walk_inline __u64 key_value(struct walk *w)
{
	/*
	 * 3.7+: the members of Py_tss_t, is_initialized and key. 3.6 has only the key, which is -1
	 * if it isn't set.
	 */
	__s32 tss[2] = {1, -1};
	const struct py_layout *l = walk_layout(w->where.layout);
	__u32 key;

	if (!l || (PY_HAS(l->can, RUNTIME) ? read_user(tss, 8, w->where.tss_key - 4)
					   : read_user(&tss[1], 4, w->where.tss_key))) {
		note_absent(w, ABSENT_THREAD, w->where.tss_key, 4);
		/* the memory was never touched or isn't resident, so nothing is known */
		w->thread = THREAD_UNKNOWN;
		return 0;
	}
	if (!tss[0] || tss[1] < 0)
		return 0;
	key = tss[1];
	if (w->where.tss == PY_TSS_KEY_GLIBC)
		return glibc_key_value(w, key);
	if (key >= 128) /* PTHREAD_KEYS_MAX of musl */
		return 0;
	return tls_u64(w, tls_u64(w, w->tp + (__s64)w->where.tsd_offset) + 8 * (__u64)key);
}

/*
 * Offset of the DTV's address from the thread pointer: glibc's tcbhead_t.dtv, musl's struct
 * pthread.dtv.
 */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define DTV_GLIBC 0
#define DTV_MUSL  -8
#else
#define DTV_GLIBC 8
#define DTV_MUSL  8
#endif

/* Reads dynamic TLS: entries of the DTV are {pointer, to_free} in glibc, pointers in musl. */
walk_inline __u64 dtv_value(struct walk *w, __u64 pair_addr)
{
	__u64 pair[2] = {}, dtv = 0, block = 0;
	bool musl = w->where.tss == PY_TSS_TLS_DTV_MUSL;

	if (read_user(pair, sizeof(pair), pair_addr)) {
		note_absent(w, ABSENT_THREAD, pair_addr, sizeof(pair));
		w->outcome = WALK_TLS_FAULT;
		return 0;
	}
	dtv = tls_u64(w, w->tp + (__s64)(musl ? DTV_MUSL : DTV_GLIBC));
	block = tls_u64(w, dtv + (musl ? 8 : 16) * pair[0]);
	if (!block || block == ~0ull) /* TLS_DTV_UNALLOCATED of glibc */
		return 0;
	return tls_u64(w, block + pair[1] + w->where.tls_offset);
}

/*
 * Returns the value of the TLS variable. The word that the loader stored is the variable's offset
 * from the thread pointer or, if that isn't fixed, the address of a pair (module, offset).
 */
walk_inline __u64 word_value(struct walk *w)
{
	__s64 word = tls_u64(w, w->where.tls_got);

	if (w->outcome != WALK_OK)
		return 0;
	if (word >= 1ll << 31)
		return dtv_value(w, word);
	return tls_u64(w, w->tp + word + w->where.tls_offset);
}

walk_inline __u64 tss_value(struct walk *w)
{
	switch (w->where.tss) {
	case PY_TSS_KEY_GLIBC:
	case PY_TSS_KEY_MUSL:
		return key_value(w);
	case PY_TSS_TLS_STATIC:
		return tls_u64(w, w->tp + w->where.tls_offset);
	case PY_TSS_TLS_DTV:
	case PY_TSS_TLS_DTV_MUSL:
		return dtv_value(w, w->where.tls_got);
	case PY_TSS_TLS_WORD:
		return word_value(w);
	}
	return 0;
}

/*
 * 3.11, 3.12: is the last evaluation loop of the loaded thread state on this thread's stack? Then
 * the state runs here, whichever thread created it. A thread's stack lies below the address in its
 * thread pointer. The process's first thread is an exception: for that thread the answer is always
 * false.
 */
walk_inline bool loop_is_here(const struct walk *w, const struct py_layout *l)
{
	__u64 loop = object_u64(w, l->tstate_frame);

	return l->walk == PY_WALK_CFRAME && w->sp && loop - w->sp < LOOP_BYTES && loop < w->tp;
}

/*
 * 3.11, 3.12: keeps where the thread's data stack ends. The thread doesn't run during the walk, so
 * these words stay the same. (They are one after the other in the thread state: datastack_chunk,
 * datastack_top, datastack_limit.)
 */
walk_inline void keep_data_stack(struct walk *w, const struct py_layout *l)
{
	w->chunk = object_u64(w, l->tstate_datastack_top - 8u);
	w->stack_top = object_u64(w, l->tstate_datastack_top);
	w->stack_limit = object_u64(w, l->tstate_datastack_top + 8u);
}

/*
 * Reads the part of thread state @tstate with all fields that a walk needs. True: the state is this
 * thread's.
 */
walk_inline bool load_tstate(struct walk *w, const struct py_layout *l, __u64 tstate)
{
	__u32 n =
		l->tstate_datastack_top ? l->tstate_datastack_top + 16u : l->tstate_thread_id + 8u;

	if (!tstate)
		return false;
	n = bounded(n, OBJECT_ROOM);
	if (read_user(w->object, n, tstate)) {
		note_absent(w, ABSENT_THREAD, tstate, n);
		w->outcome = WALK_TSTATE_FAULT;
		return false;
	}
	if (object_u64(w, l->tstate_thread_id) != w->tp + (__s64)w->where.self_offset &&
	    !loop_is_here(w, l))
		return false;
	w->thread = THREAD_STATE;
	w->interp = object_u64(w, l->tstate_interp);
	w->gil_word = object_u32(w, l->tstate_gil);
	w->gil_requested = l->tstate_gil_requested && object_u32(w, l->tstate_gil_requested);
	if (l->tstate_datastack_top)
		keep_data_stack(w, l);
	return true;
}

/*
 * Looks at thread state w->tstate of the list. 1 = it is this thread's. 0 = it isn't, and w->tstate
 * is now the next thread state. -1 = the list has ended, or can't be read.
 */
walk_global int next_listed_tstate(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l;
	__u64 id = 0;

	if (!w)
		return -1;
	l = walk_layout(w->where.layout);
	if (!l || !w->tstate)
		return -1;
	if (read_user(&id, sizeof(id), w->tstate + l->tstate_thread_id)) {
		note_absent(w, ABSENT_THREAD, w->tstate + l->tstate_thread_id, sizeof(id));
		w->outcome = WALK_TSTATE_FAULT;
		return -1;
	}
	if (id == w->tp + (__s64)w->where.self_offset)
		return 1;
	w->listed = check_mix(w->listed, w->tstate);
	w->tstate = list_u64(w, w->tstate + l->tstate_next);
	return 0;
}

#define LISTED_GROUP 16 /* how many thread states one call of search_listed() looks at */

/*
 * Looks at the next LISTED_GROUP thread states of the list. Returns what the last call of
 * next_listed_tstate() has returned.
 */
walk_global int search_listed(__u32 slot)
{
	for (int i = 0; i < LISTED_GROUP; i++) {
		int r = next_listed_tstate(slot);

		if (r)
			return r;
	}
	return 0;
}

/*
 * Searches the list of w->interp. 1 = w->tstate is this thread's state. 0 = this thread's state
 * isn't in the list, and w->listed is a hash over the states in the list.
 */
walk_global int search_list(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);

	if (!l)
		return 0;
	w->listed = 0;
	w->tstate = w->interp ? list_u64(w, w->interp + l->interp_tstate_head) : 0;
	for (int i = 0; i < MAX_LISTED_THREADS / LISTED_GROUP; i++) {
		int r = search_listed(slot);

		if (r)
			return r > 0;
	}
	w->tstate = 0;
	w->thread = THREAD_UNKNOWN;
	return 0;
}

/*
 * Searches the list of thread states, as 2.7 has no other way to find the state of a thread that
 * doesn't hold the GIL. The list is the first interpreter's; a sub-interpreter's thread is found
 * only while it holds the GIL. If another thread's state is freed during a search, the list may
 * seem to end early, but not twice at the same place. So a thread counts as having no state only if
 * two searches in a row give the same result.
 */
walk_inline bool find_listed_tstate(struct walk *w, const struct py_layout *l)
{
	__u64 listed;

	w->interp = list_u64(w, w->where.interp_head);
	if (search_list(w->slot))
		return true;
	listed = w->listed;
	if (w->outcome != WALK_OK || w->thread == THREAD_UNKNOWN)
		return false;
	if (search_list(w->slot))
		return true;
	if (w->listed != listed || (w->interp && list_u64(w, w->interp + l->interp_next)))
		w->thread = THREAD_UNKNOWN;
	return false;
}

/*
 * <= 3.11: reads the address of the current thread state (that of the thread with the GIL) into
 * w->tstate. From 3.7 on the GIL lies shortly before that address in _PyRuntime (.ceval.gil and
 * .gilstate), so the same read gets the GIL's fields.
 */
walk_inline bool read_current(struct walk *w)
{
	__u64 holder = w->where.gil_holder, at = w->where.tstate_current - holder;
	__u64 locked = w->where.gil_locked - holder;

	if (holder && locked < at && at <= 256 - sizeof(__u64)) {
		__u32 n = bounded(at, 256) + sizeof(__u64);

		if (!read_user(w->object, n, holder)) {
			w->gil_read = 1;
			w->gil_holder = object_u64(w, 0);
			w->gil_locked = (__s32)object_u32(w, (__u32)locked);
			w->tstate = object_u64(w, (__u32)at);
			return true;
		}
	}
	w->tstate = 0;
	if (!read_user(&w->tstate, sizeof(w->tstate), w->where.tstate_current))
		return true;
	note_absent(w, ABSENT_THREAD, w->where.tstate_current, sizeof(w->tstate));
	return false;
}

walk_inline bool find_tstate(struct walk *w, const struct py_layout *l)
{
	w->thread = THREAD_NONE; /* what is known unless a thread state is found or a read fails */
	w->current = w->where.tstate_current ? CURRENT_NO : CURRENT_UNKNOWN;
	w->gil_read = 0;
	if (!w->tp)
		return false; /* the C library isn't set up yet, so there is no thread pointer */
	/*
	 * Up to 3.11 the pthread key of the interpreter leads to the thread's first thread state,
	 * even while the thread runs in a sub-interpreter.
	 */
	if (w->where.tstate_current) {
		if (!read_current(w))
			w->current = CURRENT_UNKNOWN;
		if (load_tstate(w, l, w->tstate)) {
			w->current = CURRENT_YES;
			return true;
		}
	}
	w->outcome = WALK_OK;
	if (w->where.tss != PY_TSS_NONE) {
		w->tstate = tss_value(w);
		return load_tstate(w, l, w->tstate);
	}
	return find_listed_tstate(w, l) && load_tstate(w, l, w->tstate);
}

/*
 * Can @outer be the _PyCFrame of the next loop further out than @loop's? It can't if it lies
 * between the stack pointer and @loop, further in.
 */
walk_inline bool is_further_out(const struct walk *w, const struct py_layout *l, __u64 loop,
				__u64 outer)
{
	return outer == w->tstate + l->tstate_root_cframe ||
	       (outer && outer - w->sp > loop - w->sp);
}

/*
 * 3.11, 3.12: loads the _PyCFrame at w->frame. An evaluation loop publishes its _PyCFrame a few
 * instructions before it sets current_frame in it (Python/ceval.c, _PyEval_EvalFrameDefault). Until
 * then the field holds whatever lay on the C stack. But the next loop further out was set up long
 * ago, so its current frame (w->outer) is right. The innermost loop's frames count only if their
 * callers lead to that frame. The outermost loop's `previous` is the thread state's root_cframe. So
 * a loop whose `previous` doesn't lead further out isn't set up yet. False: the walk is over.
 */
walk_inline bool load_cframe(struct walk *w, const struct py_layout *l)
{
	__u64 pair[2] = {}, cframe = w->frame; /* _PyCFrame's members current_frame, previous */

	w->frame = 0;
	if (read_user(pair, sizeof(pair), cframe + l->cframe_current_frame)) {
		note_absent(w, ABSENT_THREAD, cframe, sizeof(pair) + 8);
		walk_end(w, WALK_TSTATE_FAULT);
		return false;
	}
	w->frame = pair[0];
	if (cframe == w->tstate + l->tstate_root_cframe)
		/* no evaluation loop runs, but functions that Nuitka has compiled may run */
		return true;
	w->loop = cframe;
	w->outer_loop = pair[1];
	w->loop_previous = l->cframe_current_frame + 8u;
	w->inner = INNER_UNPROVED;
	if (is_further_out(w, l, cframe, pair[1])) {
		if (!read_user(&w->outer, sizeof(w->outer), pair[1] + l->cframe_current_frame))
			return true;
		note_absent(w, ABSENT_THREAD, pair[1], 16);
	}
	w->outer_loop = 0;
	w->outer = LOOP_NOT_SET;
	return true;
}

/*
 * The flags of _PyRuntime's initialization, and the pointer after them that Py_FinalizeEx() sets
 * for good (pycore_runtime.h).
 */
struct runtime_life {
	__u32 word[6];
	__u64 finalizing;
};

/*
 * Returns the enum walk_outcome that says why a thread runs no Python code. The interpreter's own
 * flags show whether the interpreter starts, ends, or does neither. A program that only embeds an
 * interpreter may run for long before it starts the interpreter. So its interpreter counts as
 * starting only after the initialization has begun.
 */
walk_inline __u8 without_python(const struct walk *w, const struct py_layout *l)
{
	struct runtime_life r = {};
	__u32 initialized, begun;

	if (!w->tp) /* the dynamic loader runs: the C library isn't set up yet */
		return w->where.own_program ? WALK_STARTING : WALK_NO_PYTHON;
	if (!w->where.finalizing || read_user(&r, sizeof(r), w->where.finalizing - sizeof(r.word)))
		return WALK_NO_PYTHON;
	if (r.finalizing)
		return WALK_ENDING;
	if (PY_HAS(l->can, RUNTIME_READY)) {
		/*
		 * the words are _initialized, preinitializing, preinitialized, core_initialized,
		 * initialized
		 */
		initialized = r.word[4];
		begun = r.word[1] | r.word[2] | r.word[3];
	} else if (PY_HAS(l->can, PREINIT)) {
		/* the words are preinitializing, preinitialized, core_initialized, initialized */
		initialized = r.word[5];
		begun = r.word[2] | r.word[3] | r.word[4];
	} else {
		/* the words are initialized, core_initialized */
		initialized = r.word[4];
		begun = r.word[5];
	}
	return !initialized && (begun || w->where.own_program) ? WALK_STARTING : WALK_NO_PYTHON;
}

/* Sets w->frame to the innermost frame; false with an outcome set if there is none. */
walk_inline bool find_frame(struct walk *w, const struct py_layout *l)
{
	if (!find_tstate(w, l)) {
		if (w->outcome != WALK_OK || w->tstate)
			w->thread = THREAD_UNKNOWN;
		if (w->outcome == WALK_OK)
			w->outcome = w->tstate ? WALK_TSTATE_MISMATCH : WALK_NO_PYTHON;
		walk_end(w, w->outcome);
		return false;
	}
	w->frame = object_u64(w, l->tstate_frame);
	if (l->walk == PY_WALK_CFRAME && w->frame && !load_cframe(w, l))
		return false;
	if (!w->frame && w->inner == INNER_PROVED) {
		walk_end(w, WALK_NO_PYTHON);
		return false;
	}
	return true;
}

/*
 * Does the thread run Python in the interpreter w->where? A greater value is a better answer. The
 * best interpreter is one whose GIL the thread holds, the next best is one where the thread has
 * frames.
 */
enum runs { RUNS_NOT, RUNS_UNKNOWN, RUNS_FRAMES, RUNS_WITH_GIL };

walk_inline enum runs runs_python(struct walk *w, const struct py_layout *l)
{
	bool holds;

	w->outcome = WALK_OK;
	w->done = w->inner = 0;
	w->tstate = w->frame = w->loop = 0;
	if (!find_frame(w, l))
		return w->outcome == WALK_NO_PYTHON ? RUNS_NOT : RUNS_UNKNOWN;
	holds = l->gil_bit ? w->gil_word & l->gil_bit : w->current == CURRENT_YES;
	return holds ? RUNS_WITH_GIL : RUNS_FRAMES;
}

#endif
