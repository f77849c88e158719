/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples that aren't in the profile yet, and stacks whose frames have no names yet, in the form in
 * which the kernel programs sent them.
 */
#ifndef COLLECT_COMMON_RAW_H
#define COLLECT_COMMON_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

/* A sample that wasn't handed to the profile yet. */
struct waiting {
	struct rec_sample rec;
	uint32_t process; /* the sample's process, as an index into processes.all */
	/* how often collect_flush() had been called (collect.flushes) when the sample came */
	uint32_t flush;
	uint32_t state; /* what the thread waited for (wait_state.h); 0: the thread ran */
	/* which file, peer or child the thread waited for (thread/on.h); 0: not known */
	uint32_t on;
	bool met;	/* the sample waits, but it was counted already and its thread was noted */
	uint32_t round; /* value of collect.rounds when the sample came */
	/* the sample's time in the profile: when the sample was taken, or when the wait began */
	uint64_t shown_ns;
	uint64_t gil_ns; /* how long the thread waited for the GIL */
	/*
	 * if this is a wait: the members of the same names in struct rec_wait; see thread_share()
	 */
	uint64_t others_ns, gil_others_ns;
	uint32_t times, cost_ns;
	uint8_t site; /* below WAIT_SITES */
	/*
	 * .woken: the next entry in intake.waiting stands for the thread that ended this wait.
	 * .waker: this entry stands for the thread that ended the wait in the entry before it. Such
	 * an entry isn't a sample, and is handled right after that wait.
	 */
	bool woken, waker;
	/*
	 * if .waker: 1 + index of the thread whose wait this entry's thread ended; 0: the wait
	 * wasn't added to the profile yet
	 */
	uint32_t waiter;
	/*
	 * the number (tid) of thread .waiter: after that thread is forgotten, another thread may
	 * have its index
	 */
	uint32_t waiter_tid;
};
/*
 * a value of waiting.waiter: this entry isn't shown, because the wait that its thread ended isn't
 * shown or isn't for a lock
 */
#define NO_WAITER UINT32_MAX

/* A stack whose frames have no names yet. */
struct raw_stack {
	uint64_t id;
	uint32_t process; /* the stack's process, as an index into processes.all */
	uint16_t n;
	uint8_t outcome;
	/* this stack keeps its process and mappings from being forgotten until it has its names */
	bool pins;
	/* how often collect_flush() had been called (collect.flushes) when the stack came */
	uint32_t flush;
	struct wire_frame *frames;
	struct raw_native *native; /* native and kernel frames; NULL: there are none */
};

/* The native and kernel frames of a stack. */
struct raw_native {
	uint64_t id;
	/*
	 * version of the space (which reading of the mappings) with which the addresses were
	 * unwound
	 */
	uint32_t version;
	uint16_t n, n_kernel;
	uint8_t outcome;
	/* addresses of .n_kernel kernel frames, followed by the addresses of native frames */
	uint64_t pc[];
};

#endif
