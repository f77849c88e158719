/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of bpf/state.bpf.h that a test of bpf/python/code.bpf.h alone needs. There is one
 * layout (struct py_layout). The test itself defines read_user().
 */
#ifndef TESTS_HOST_CODE_SEAM_H
#define TESTS_HOST_CODE_SEAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The BPF headers have global functions without prototypes. */
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
 * bpf/python/code.bpf.h needs these two functions to compile. Code that computes a check never
 * calls them.
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
 * Adds a frame of function @func with the code object at @code, as a walk does. Returns false if no
 * check could be computed for the code object.
 */
static inline bool add_frame(__u64 func, __u64 code, __u64 *check)
{
	if (!load_check(&the_walk, &the_out, &the_layout, func, code, check))
		return false;
	the_out.frame[the_walk.n++] = (struct wire_frame){.code = code, .check = *check};
	return true;
}

#endif
