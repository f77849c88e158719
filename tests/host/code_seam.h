/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What bpf/python/code.bpf.h needs of bpf/state.bpf.h, for tests of code.bpf.h alone. There is one
 * layout (struct py_layout). The test that includes this header defines read_user().
 */
#ifndef TESTS_HOST_CODE_SEAM_H
#define TESTS_HOST_CODE_SEAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* the BPF headers have global functions without prototypes */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "python/code.bpf.h"

static struct walk the_walk;
static struct walk_out the_out;
static struct py_layout the_layout;

__attribute__((unused)) walk_inline __u64 walk_clock(void)
{
	return 0;
}

walk_inline struct walk *walk_state(__u32 slot)
{
	return &the_walk;
}

/*
 * bpf/python/code.bpf.h needs these two functions to compile. The code that computes the checks of
 * code objects never calls them.
 */
__attribute__((unused)) walk_inline struct walk_out *walk_out(__u32 slot)
{
	return NULL;
}

__attribute__((unused)) walk_inline struct walk_addrs *walk_addrs(__u32 slot)
{
	return NULL;
}

walk_inline const struct py_layout *walk_layout(__u32 index)
{
	return &the_layout;
}

/*
 * Adds a frame to the stack walk; the frame runs the code object at @code; @func is its function
 * object. Returns false if the code object's check (a 64-bit value that identifies it) can't be
 * computed.
 */
static inline bool add_frame(__u64 func, __u64 code, __u64 *check)
{
	if (!load_check(&the_walk, &the_out, &the_layout, func, code, check))
		return false;
	the_out.frame[the_walk.n++] = (struct wire_frame){.code = code, .check = *check};
	return true;
}

#endif
