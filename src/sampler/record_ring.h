/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a BPF ring (BPF_MAP_TYPE_RINGBUF). Records come in the order in which they were written.
 * Only a record that wraps around the ring's end is copied. libbpf's reader maps the data twice in
 * a row so that no record wraps around, but the kernel counts that as twice the memory.
 */
#ifndef SAMPLER_RECORD_RING_H
#define SAMPLER_RECORD_RING_H

#include "base/util.h"

/* the most bytes of one record: STAGING_BYTES of bpf/send.bpf.h */
#define RECORD_RING_MAX (128u << 10)

struct record_ring {
	/*
	 * position, in bytes, up to which records were read; on a page of its own; NULL: the ring
	 * isn't mapped
	 */
	uint64_t *consumed;
	/*
	 * position, in bytes, up to which records were written or are being written; on the page
	 * before the data
	 */
	const uint64_t *produced;
	const uint8_t *data;
	/* .bytes: size of .data, a power of two of pages; .page_bytes: size of a page */
	size_t bytes, page_bytes;
	uint8_t *wrapped; /* room for a record that wraps around the ring's end */
	uint64_t mark;	  /* position up to which records were written at record_ring_mark() */
};

/* Maps the ring @fd, which has @bytes (bpf_attr.max_entries). 0 or -errno. */
_must_use_ int record_ring_map(struct record_ring *r, int fd, size_t bytes);
void record_ring_unmap(struct record_ring *r);

/*
 * A function that takes a record of @n bytes, which are valid during the call. It returns true if
 * reading has to stop after this record.
 */
typedef bool (*record_ring_take)(void *ctx, const void *record, size_t n);

/*
 * Hands the records that have been written by now to @take. 0; 1: @take stopped before the end;
 * -EBADMSG: a record has an impossible size.
 */
_must_use_ int record_ring_read(struct record_ring *r, record_ring_take take, void *ctx);

/*
 * record_ring_mark() notes how far the ring is written now. record_ring_reached() tells whether all
 * records up to there have been read since.
 */
void record_ring_mark(struct record_ring *r);
bool record_ring_reached(const struct record_ring *r);

#endif
