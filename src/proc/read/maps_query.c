/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks the kernel for the executable mappings one by one, if it has PROCMAP_QUERY on /proc/PID/maps
 * (Linux 6.11). One mapping in ten is executable, and reading all of them as text is much of what
 * examining a new process costs.
 */
#include <errno.h>
#include <limits.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "proc/read/maps.h"

/* struct procmap_query of linux/fs.h; the headers that krait is built with may lack it. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, ino;
	uint32_t major, minor;
	uint32_t name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)

enum query_flags {
	VMA_READABLE = 0x01,
	VMA_WRITABLE = 0x02,
	VMA_EXECUTABLE = 0x04,
	VMA_SHARED = 0x08,
	OR_NEXT = 0x10, /* flag of a query: find the first mapping that ends after .addr */
};

_Static_assert(sizeof(struct query) == 104, "the kernel's struct procmap_query has 104 bytes");

static struct mapping mapping_of(const struct query *q)
{
	return (struct mapping){.start = q->start,
				.end = q->end,
				.offset = q->offset,
				.dev = (uint64_t)q->major << 20 | q->minor,
				.ino = q->ino,
				.prot = (q->vma_flags & VMA_READABLE ? PROT_READ : 0) |
					(q->vma_flags & VMA_WRITABLE ? PROT_WRITE : 0) | PROT_EXEC,
				.shared = q->vma_flags & VMA_SHARED};
}

/*
 * Adds the first executable mapping at or after *@addr, and sets *@addr to the mapping's end. 1:
 * there may be more mappings; 0: there are no more; -errno.
 */
static int add_next(int fd, struct maps *m, uint64_t *addr)
{
	char name[PATH_MAX];
	struct query q = {.size = sizeof(q),
			  .flags = OR_NEXT | VMA_EXECUTABLE,
			  .addr = *addr,
			  .name = (uintptr_t)name,
			  .name_bytes = sizeof(name)};
	struct mapping e;

	if (ioctl(fd, QUERY, &q))
		return errno == ENOENT ? 0 : -errno;
	if (q.end <= *addr)
		return -EINVAL;
	*addr = q.end;
	e = mapping_of(&q);
	return maps_add(m, &e, name, q.name_bytes ? strnlen(name, sizeof(name)) : 0) ?: 1;
}

bool maps_query_exec(int fd, struct maps *m)
{
	uint64_t addr = 0;
	int r;

	while ((r = add_next(fd, m, &addr)) > 0 && !m->truncated)
		;
	if (r >= 0)
		return true;
	m->list.n = 0;
	m->truncated = false;
	return false;
}
