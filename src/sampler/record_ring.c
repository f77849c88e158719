/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a BPF ring (kernel/bpf/ringbuf.c). The first page has the reader's position, the next page
 * has the writer's position. The data follow. A record starts at a multiple of 8 with a header of 8
 * bytes, whose first word has the record's size and two flags. The barriers are those of the
 * kernel's own reader, __bpf_user_ringbuf_peek().
 */
#include "sampler/record_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/wrapped.h"

int record_ring_map(struct record_ring *r, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *reader, *writer;
	int e;

	*r = (struct record_ring){.bytes = bytes, .page_bytes = page};
	reader = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (reader == MAP_FAILED)
		return -errno;
	r->consumed = reader;
	writer = mmap(NULL, page + bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (writer == MAP_FAILED) {
		e = -errno;
		record_ring_unmap(r);
		return e;
	}
	r->produced = writer;
	r->data = (const uint8_t *)writer + page;
	r->wrapped = malloc(MIN(bytes, (size_t)RECORD_RING_MAX));
	if (!r->wrapped) {
		record_ring_unmap(r);
		return -ENOMEM;
	}
	return 0;
}

void record_ring_unmap(struct record_ring *r)
{
	if (r->consumed)
		munmap(r->consumed, r->page_bytes);
	if (r->produced)
		munmap((void *)r->produced, r->page_bytes + r->bytes);
	free(r->wrapped);
	*r = (struct record_ring){};
}

/* Returns the @n bytes after the record header at @at. */
static const void *record_at(struct record_ring *r, uint64_t at, size_t n)
{
	return ring_record(r->data, r->bytes, (at + BPF_RINGBUF_HDR_SZ) & (r->bytes - 1), n,
			   r->wrapped);
}

int record_ring_read(struct record_ring *r, record_ring_take take, void *ctx)
{
	uint64_t end = __atomic_load_n(r->produced, __ATOMIC_ACQUIRE), at = *r->consumed;
	bool stop = false;

	while (!stop && at != end) {
		const void *header = r->data + (at & (r->bytes - 1));
		uint32_t word = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);
		size_t n = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		size_t size = (BPF_RINGBUF_HDR_SZ + n + 7) & ~(size_t)7;

		if (word & BPF_RINGBUF_BUSY_BIT)
			return 0;
		if (size > end - at || size > r->bytes || n > RECORD_RING_MAX)
			return -EBADMSG;
		if (!(word & BPF_RINGBUF_DISCARD_BIT))
			stop = take(ctx, record_at(r, at, n), n);
		at += size;
		/*
		 * All reads of the records before @at must be done before the kernel may overwrite
		 * these bytes.
		 */
		__atomic_store_n(r->consumed, at, __ATOMIC_RELEASE);
	}
	return stop;
}

void record_ring_mark(struct record_ring *r)
{
	r->mark = __atomic_load_n(r->produced, __ATOMIC_ACQUIRE);
}

bool record_ring_reached(const struct record_ring *r)
{
	return *r->consumed >= r->mark;
}
