/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a perf ring. The kernel writes at data_head, and never over data between data_tail and
 * data_head. The barriers are those that include/uapi/linux/perf_event.h requires for data_head.
 */
#include "sampler/perf_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proc/machine/perf_paranoid.h"
#include "sampler/wrapped.h"

#define RECORD_MAX 65536 /* the most bytes of a record: perf_event_header.size has 16 bits */

int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

int perf_event_error(int r, const char *what)
{
	switch (r) {
	case -EACCES:
	case -EPERM:
		if (perf_event_restricted())
			return err_set(
				r,
				"%s needs root here: with kernel.perf_event_paranoid above 2 this "
				"kernel may refuse CAP_PERFMON; `sudo sysctl "
				"kernel.perf_event_paranoid=2` changes that",
				what);
		return err_set(r,
			       "%s needs root or CAP_PERFMON (a container also a seccomp profile "
			       "that allows perf_event_open); try `krait doctor`",
			       what);
	case -ENOSYS:
		return err_set(r,
			       "%s isn't possible: this kernel has no perf events "
			       "(CONFIG_PERF_EVENTS)",
			       what);
	case -EMFILE:
		return err_set(r,
			       "%s needs file descriptors for each CPU and event; raise the limit "
			       "with `ulimit -n 65536`",
			       what);
	default:
		return err_sys(r, "%s isn't possible", what);
	}
}

int perf_ring_map(struct perf_ring *r, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page;
	void *p;

	while (size < bytes)
		size *= 2;
	*r = (struct perf_ring){.bytes = size, .page_bytes = page};
	r->wrapped = malloc(MIN(size, (size_t)RECORD_MAX));
	if (!r->wrapped)
		return -ENOMEM;
	p = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		int e = -errno;

		free(r->wrapped);
		*r = (struct perf_ring){};
		return e;
	}
	r->page = p;
	r->data = (const uint8_t *)p + page;
	return 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, r->page_bytes + r->bytes);
	free(r->wrapped);
	*r = (struct perf_ring){};
}

uint64_t perf_ring_unread(const struct perf_ring *r)
{
	return r->page ? __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) - r->tail : 0;
}

bool perf_ring_begin(struct perf_ring *r)
{
	if (!r->page)
		return false;
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	return r->head != r->tail;
}

const struct perf_event_header *perf_ring_peek(struct perf_ring *r)
{
	uint64_t mask = r->bytes - 1, left = r->head - r->tail;
	size_t at = r->tail & mask, size;
	struct perf_event_header h;

	if (!left)
		return NULL;
	/*
	 * Records take multiples of 8 bytes, so a header (8 bytes) never wraps around the ring's
	 * end.
	 */
	memcpy(&h, r->data + at, sizeof(h));
	size = h.size;
	if (size < sizeof(h) || size % 8 || size > left || size > r->bytes) {
		r->tail = r->head;
		r->malformed++;
		return NULL;
	}
	return ring_record(r->data, r->bytes, at, size, r->wrapped);
}

void perf_ring_next(struct perf_ring *r)
{
	struct perf_event_header h;

	if (r->tail == r->head)
		return;
	memcpy(&h, r->data + (r->tail & (r->bytes - 1)), sizeof(h));
	r->tail += MIN((uint64_t)h.size, r->head - r->tail);
}

void perf_ring_end(struct perf_ring *r)
{
	/*
	 * All reads of the records before data_tail must be done before the kernel may overwrite
	 * these bytes.
	 */
	if (r->page)
		__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}
