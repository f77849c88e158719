/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reader of a BPF ring (BPF_MAP_TYPE_RINGBUF): the records as they were written, in order, without copying (one
 * that wraps around is copied). libbpf's reader maps the data twice in a row, so that none wraps, which the
 * kernel counts as twice the memory.
 */
#ifndef SAMPLER_RECORD_RING_H
#define SAMPLER_RECORD_RING_H

#include "base/util.h"

#define RECORD_RING_MAX (128u << 10) /* bytes of a record: bpf/send.bpf.h, STAGING_BYTES */

struct record_ring {
	uint64_t *consumed;	  /* bytes: read up to here; a page of its own. NULL: not mapped */
	const uint64_t *produced; /* written or being written up to here; a page before the data */
	const uint8_t *data;
	size_t bytes, page_bytes; /* data: a power of two of pages */
	uint8_t *wrapped;	  /* a record that wraps around, put together */
};

/* Maps the ring @fd of @bytes, as in bpf_attr.max_entries. 0 or -errno. */
_must_use_ int record_ring_map(struct record_ring *r, int fd, size_t bytes);
void record_ring_unmap(struct record_ring *r);

/* Takes a record, whose bytes are valid during the call. True if reading is to stop after it. */
typedef bool (*record_ring_take)(void *ctx, const void *record, size_t n);

/*
 * Hands over what has been written by now: 0, or 1 if @take stopped it before the end. -EBADMSG at an impossible
 * size.
 */
_must_use_ int record_ring_read(struct record_ring *r, record_ring_take take, void *ctx);

#endif
