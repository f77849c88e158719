/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stand-ins for the functions of src/sampler that the collector calls. They know the layout of one
 * interpreter.
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
