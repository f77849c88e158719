/* SPDX-License-Identifier: BSD-2-Clause */
/* A record in a ring, which may continue at the ring's beginning. For perf's rings and BPF's. */
#ifndef SAMPLER_WRAPPED_H
#define SAMPLER_WRAPPED_H

#include "base/util.h"

/*
 * The @n bytes at @at of the ring @data[0..@bytes). If they wrap around, they are put together in
 * @room.
 */
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
