/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads records of code made at run time from a jitdump file; see jitdump.h. */
#include "symbol/madecode/jitdump.h"

#include <errno.h>
#include <unistd.h>

#include "base/system/far.h"
#include "base/work/slice.h"

#define MAGIC	   0x4a695444u
#define NAME_BYTES 4096 /* how many bytes of a name are read; a longer name is cut off */
#define HEADER_MIN 40

/*
 * how much of the thread's slice of work (base/work/slice.h) one record takes: two reads, and an
 * entry (perf_map.c)
 */
#define WORK_RECORD 2000

enum { RECORD_LOAD = 0, RECORD_MOVE = 1 };

struct header {
	uint32_t magic, version, total_size, machine, pad, pid;
	uint64_t time, flags;
};

struct record {
	uint32_t id, total_size;
	uint64_t time;
};

/*
 * What comes after the head of a record of code. After this struct come the NUL-terminated name and
 * the code.
 */
struct load {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, old_addr, new_addr, size, index;
};

union body {
	struct load load;
	struct move move;
	char bytes[sizeof(struct load) + NAME_BYTES];
};

static bool is_range(uint64_t start, uint64_t size)
{
	return size && start + size > start;
}

static bool read_header(struct jitdump *d)
{
	struct header h;

	if (far_pread(d->fd, &h, sizeof(h), 0) != sizeof(h) || h.magic != MAGIC || h.version != 1 ||
	    h.total_size < HEADER_MIN)
		return false;
	d->offset = h.total_size;
	return true;
}

/*
 * Reads a record of code. @n: how many bytes of the record's body were read. False: the contents of
 * the record make no sense.
 */
static bool take_load(const union body *b, size_t n, struct jitdump_code *ret)
{
	const char *name = b->bytes + sizeof(b->load);

	if (n <= sizeof(b->load) || !is_range(b->load.addr, b->load.size))
		return false;
	*ret = (struct jitdump_code){b->load.addr, b->load.size, b->load.index, name,
				     strnlen(name, n - sizeof(b->load))};
	return ret->name_n > 0;
}

static bool take_move(const union body *b, size_t n, struct jitdump_code *ret)
{
	if (n < sizeof(b->move) || !is_range(b->move.new_addr, b->move.size))
		return false;
	*ret = (struct jitdump_code){b->move.new_addr, b->move.size, b->move.index};
	return true;
}

static int read_record(struct jitdump *d, const struct record *r, jitdump_fn *fn, void *arg)
{
	size_t want = MIN((size_t)r->total_size - sizeof(*r), sizeof(union body));
	struct jitdump_code code;
	union body b;
	ssize_t n;

	if (r->id != RECORD_LOAD && r->id != RECORD_MOVE)
		return 0;
	n = far_pread(d->fd, &b, want, (off_t)(d->offset + sizeof(*r)));
	if (n < 0)
		return -errno;
	if (!(r->id == RECORD_LOAD ? take_load : take_move)(&b, (size_t)n, &code)) {
		d->malformed++;
		return 0;
	}
	return fn(arg, &code);
}

int jitdump_read(struct jitdump *d, uint64_t end, jitdump_fn *fn, void *arg)
{
	struct record record;
	int r = 0;

	if (!d->offset && end >= sizeof(struct header) && !d->broken)
		d->broken = !read_header(d);
	while (d->offset && !d->broken && !r && d->offset < end && slice_spend(WORK_RECORD)) {
		if (end - d->offset < sizeof(record) ||
		    far_pread(d->fd, &record, sizeof(record), (off_t)d->offset) != sizeof(record) ||
		    (record.total_size >= sizeof(record) && end - d->offset < record.total_size))
			break;
		d->broken =
			record.total_size < sizeof(record) || ++d->records > JITDUMP_RECORDS_MAX;
		if (d->broken)
			break;
		r = read_record(d, &record, fn, arg);
		d->offset += record.total_size;
	}
	return r;
}
