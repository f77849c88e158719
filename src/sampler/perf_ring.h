/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the ring that perf maps into user space for one event. Records come in the order in which
 * they were written. Only a record that wraps around the ring's end is copied. Such rings are those
 * of the side band (perf's reports of what processes do), and the throttle rings of the sampling
 * events.
 */
#ifndef SAMPLER_PERF_RING_H
#define SAMPLER_PERF_RING_H

#include <linux/perf_event.h>
#include <sys/types.h>
#include "base/util.h"

struct perf_ring {
	/* first page of the ring; NULL: the ring isn't mapped */
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	/* .bytes: size of .data, a power of two; .page_bytes: size of a page */
	size_t bytes, page_bytes;
	/*
	 * .tail: where reading goes on; .head: where the records ended at the last
	 * perf_ring_begin()
	 */
	uint64_t tail, head;
	uint64_t malformed; /* how often reading stopped at a record of an impossible size */
	/* room for a record that wraps around; perf's records have at most 64 KiB */
	uint8_t *wrapped;
};

/* Calls perf_event_open(2). Returns the descriptor (close-on-exec) or -errno, without a message. */
_must_use_ int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu);

/*
 * Sets the message after perf_event_open() or the mmap() of a ring has failed: @what isn't possible
 * because of @r.
 */
int perf_event_error(int r, const char *what);

/* Maps @fd's ring with at least @bytes of data (rounded up to 2^n pages). 0 or -errno. */
_must_use_ int perf_ring_map(struct perf_ring *r, int fd, size_t bytes);
void perf_ring_unmap(struct perf_ring *r);

/* Returns how many bytes were written to the ring that perf_ring_next() hasn't taken out. */
uint64_t perf_ring_unread(const struct perf_ring *r);

/* Notes where the records that were written so far end. True: there are records to read. */
bool perf_ring_begin(struct perf_ring *r);

/*
 * perf_ring_peek() returns the next record, or NULL; it is valid until the next call for this ring.
 * perf_ring_next() takes this record out of the ring. A record with an impossible size ends the
 * reading: everything up to the head is dropped.
 */
const struct perf_event_header *perf_ring_peek(struct perf_ring *r);
void perf_ring_next(struct perf_ring *r);

/* Gives the kernel back the space of the records that were taken out. */
void perf_ring_end(struct perf_ring *r);

#endif
