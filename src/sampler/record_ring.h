/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a BPF ring (BPF_MAP_TYPE_RINGBUF): records as they were written, in order, without copying
 * (except one that wraps around). libbpf's reader maps the data twice in a row so that no record
 * wraps; the kernel counts that as twice the memory.
 */
#ifndef SAMPLER_RECORD_RING_H
#define SAMPLER_RECORD_RING_H

#include "base/util.h"

/* the most bytes of one record: STAGING_BYTES of bpf/send.bpf.h */
#define RECORD_RING_MAX (128u << 10)

struct record_ring {
	/*
	 * position up to which records were read, in bytes; on a page of its own. NULL: not mapped
	 */
	uint64_t *consumed;
	/*
	 * position up to which records were written or are being written, in bytes; on the page
	 * before the data
	 */
	const uint64_t *produced;
	const uint8_t *data;
	size_t bytes, page_bytes; /* bytes in .data, a power of two of pages, and bytes of a page */
	uint8_t *wrapped;	  /* room for a record that wraps around the ring's end */
};

/* Maps the ring @fd, which has @bytes (bpf_attr.max_entries). 0 or -errno. */
_must_use_ int record_ring_map(struct record_ring *r, int fd, size_t bytes);
void record_ring_unmap(struct record_ring *r);

/* Takes a record of @n bytes, which are valid during the call. True: stop reading after it. */
typedef bool (*record_ring_take)(void *ctx, const void *record, size_t n);

/*
 * Hands the records that have been written by now to @take. 0; 1: @take stopped before the end;
 * -EBADMSG: a record has an impossible size.
 */
_must_use_ int record_ring_read(struct record_ring *r, record_ring_take take, void *ctx);

#endif
