/* SPDX-License-Identifier: BSD-2-Clause */
/* Compresses the pprof writer's output as a stream; see pprof_out.h. */
#include <errno.h>
#include "format/pprof/pprof_out.h"
#include "base/error.h"

/*
 * The level of compression. Level 6 compresses these files as well as level 9, because neighbouring
 * samples are nearly equal.
 */
#define LEVEL 6

int pprof_out_init(struct pprof_out *o, FILE *f)
{
	*o = (struct pprof_out){.f = f};
	/*
	 * 15 is the size of zlib's usual window; + 16 makes zlib write a gzip header, without time
	 * and name
	 */
	if (deflateInit2(&o->z, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(-ENOMEM, "out of memory for compressing the profile");
	return 0;
}

void pprof_out_fini(struct pprof_out *o)
{
	deflateEnd(&o->z);
}

static void deflate_raw(struct pprof_out *o, int flush)
{
	int r = Z_OK;

	o->z.next_in = o->raw;
	o->z.avail_in = (unsigned)o->n;
	o->n = 0;
	do {
		size_t n;

		o->z.next_out = o->packed;
		o->z.avail_out = sizeof(o->packed);
		r = deflate(&o->z, flush);
		n = sizeof(o->packed) - o->z.avail_out;
		if (r != Z_STREAM_ERROR && n && fwrite(o->packed, 1, n, o->f) != n)
			o->error = errno ? -errno : -EIO;
	} while (!o->error && r != Z_STREAM_ERROR && (o->z.avail_out == 0 || o->z.avail_in));
	if (r == Z_STREAM_ERROR)
		o->error = -EINVAL;
}

static void put(struct pprof_out *o, const uint8_t *s, size_t n)
{
	while (n && !o->error) {
		size_t part = MIN(n, sizeof(o->raw) - o->n);

		memcpy(o->raw + o->n, s, part);
		o->n += part;
		s += part;
		n -= part;
		if (o->n == sizeof(o->raw))
			deflate_raw(o, Z_NO_FLUSH);
	}
}

static void put_varint(struct pprof_out *o, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	put(o, bytes, n);
}

void pprof_out_bytes(struct pprof_out *o, unsigned field, const void *s, size_t n)
{
	put_varint(o, field << 3 | PB_BYTES);
	put_varint(o, n);
	put(o, s, n);
}

void pprof_out_uint(struct pprof_out *o, unsigned field, uint64_t v)
{
	if (!v)
		return;
	put_varint(o, field << 3 | PB_VARINT);
	put_varint(o, v);
}

int pprof_out_finish(struct pprof_out *o)
{
	if (!o->error)
		deflate_raw(o, Z_FINISH);
	if (!o->error && fflush(o->f))
		o->error = errno ? -errno : -EIO;
	if (o->error)
		return err_sys(o->error, "can't write the profile");
	return 0;
}
