/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for the functions of the sampler that the collector calls, in tests with one
 * interpreter's layout.
 */
#ifndef TESTS_UNIT_COLLECT_ONE_LAYOUT_H
#define TESTS_UNIT_COLLECT_ONE_LAYOUT_H

#include "collect/internal.h"

static struct py_layout one_layout = {.version = 0x30c};

static inline int add_layout(void *ctx, const struct py_layout *l, uint16_t *index)
{
	*index = 0;
	return 0;
}

static inline const struct py_layout *get_layout(void *ctx, uint16_t index)
{
	return index ? NULL : &one_layout;
}

static inline int set_no_proc(void *ctx, const struct proc_key *k, enum proc_state state,
			      const struct py_where *where, const struct image_place *place,
			      uint32_t space)
{
	return 0;
}

#endif
