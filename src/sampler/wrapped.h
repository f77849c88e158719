/* SPDX-License-Identifier: BSD-2-Clause */
/* A record of a ring, which may go on at the ring's beginning: what perf's rings and BPF's have in common. */
#ifndef SAMPLER_WRAPPED_H
#define SAMPLER_WRAPPED_H

#include "base/util.h"

/* The @n bytes at @at of the ring @data[0..@bytes); those that wrap around are put together in @room. */
static inline const void *ring_record(const uint8_t *data, size_t bytes, size_t at, size_t n,
				      uint8_t *room)
{
	size_t first = bytes - at;

	if (n <= first)
		return data + at;
	memcpy(room, data + at, first);
	memcpy(room + first, data, n - first);
	return room;
}

#endif
