/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a record of a ring that may continue at the ring's beginning, for perf's rings and BPF's
 * rings.
 */
#ifndef SAMPLER_WRAPPED_H
#define SAMPLER_WRAPPED_H

#include "base/util.h"

/*
 * Returns the @n bytes at @at of the ring @data[0..@bytes). Bytes that wrap around the ring's end
 * are put together in @room.
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
