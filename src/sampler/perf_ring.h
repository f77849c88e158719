/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the ring that perf maps into user space for one event: records as they were written, in
 * order, without copying (except one that wraps around). Used for the side band and for the
 * throttle rings of the sampling events.
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
	size_t bytes, page_bytes; /* bytes in .data, a power of two, and bytes of a page */
	/* where reading goes on, and where the records ended at perf_ring_begin() */
	uint64_t tail, head;
	uint64_t malformed; /* how often reading stopped at a record of an impossible size */
	/* room for a record that wraps around; perf's records have at most 64 KiB */
	uint8_t *wrapped;
};

/* Calls perf_event_open(2). Returns the descriptor (close-on-exec) or -errno, without a message. */
_must_use_ int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu);

/*
 * Sets the message for a failed perf_event_open() or mmap of a ring: @what isn't possible because
 * of @r.
 */
int perf_event_error(int r, const char *what);

/* Maps @fd's ring with at least @bytes of data (rounded up to 2^n pages). 0 or -errno. */
_must_use_ int perf_ring_map(struct perf_ring *r, int fd, size_t bytes);
void perf_ring_unmap(struct perf_ring *r);

/* Returns how many bytes were written that perf_ring_next() hasn't taken out. */
uint64_t perf_ring_unread(const struct perf_ring *r);

/* Notes where the records end that were written so far. True: there are records to read. */
bool perf_ring_begin(struct perf_ring *r);

/*
 * The next record, or NULL. Valid until the next call for this ring. perf_ring_peek() leaves the
 * record in the ring, perf_ring_next() takes it out. A record with an impossible size ends the
 * reading: everything up to the head is dropped.
 */
const struct perf_event_header *perf_ring_peek(struct perf_ring *r);
void perf_ring_next(struct perf_ring *r);

/* Gives the kernel back the space of the records that were read. */
void perf_ring_end(struct perf_ring *r);

#endif
