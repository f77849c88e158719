/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads protocol buffers from bytes that may be hostile; see pprof_in.h. */
#include <errno.h>
#include <stdarg.h>
#include "format/pprof/pprof_in.h"
#include "base/cleanup.h"
#include "base/error.h"

#define CHUNK (1u << 16)

int pb_bad(uint64_t off, const char *name, const char *fmt, ...)
{
	char what[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(-EINVAL, "pprof: byte %llu: %s: %s", (unsigned long long)off, name, what);
}

int pprof_in_open(struct pprof_in *in, const uint8_t *data, size_t n)
{
	*in = (struct pprof_in){};
	return unpack_open(&in->from, data, n);
}

void pprof_in_close(struct pprof_in *in)
{
	unpack_close(&in->from);
	free(in->buf);
	*in = (struct pprof_in){};
}

/* Decompresses into buf[end..cap). The bytes in the buffer aren't moved. */
static int unpack_here(struct pprof_in *in)
{
	size_t got;
	int r = unpack_more(&in->from, in->buf + in->end, in->cap - in->end, &got);

	if (r)
		return r == -EINVAL ? err_wrap(r, "pprof") : r;
	in->end += got;
	return 0;
}

/*
 * Makes at least @want bytes available, or all that are left if there are fewer. Bytes that were
 * consumed already don't count. 0 or -errno + message.
 */
static int fill(struct pprof_in *in, size_t want)
{
	int r = 0;

	if (in->end - in->at >= want)
		return 0;
	if (in->at) {
		memmove(in->buf, in->buf + in->at, in->end - in->at);
		in->base += in->at;
		in->end -= in->at;
		in->at = 0;
	}
	while (!r && in->end < want && !in->from.ended) {
		/*
		 * The buffer grows only as bytes arrive, so that a field with a false length costs
		 * no memory.
		 */
		if (in->end == in->cap) {
			size_t cap = in->cap ? in->cap * 2 : CHUNK;
			uint8_t *buf = realloc(in->buf, cap);

			if (!buf)
				return err_set(-ENOMEM, "out of memory for reading the profile");
			in->buf = buf;
			in->cap = cap;
		}
		r = unpack_here(in);
	}
	return r;
}

/* Reads a varint of at most 10 bytes. Bits above 64 are dropped, as in protobuf's own decoders. */
static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

/*
 * Reads a field's tag and value. Of a PB_BYTES field, reads only the length of the contents into
 * f->v.
 */
static int field_head(struct pb_cursor *c, struct pb_field *f)
{
	const uint8_t *start = c->at;
	uint64_t tag, v = 0;
	unsigned size;

	*f = (struct pb_field){.off = c->off};
	if (!varint(&c->at, c->end, &tag))
		return pb_bad(c->off, c->what, "a field's tag is cut short");
	f->number = (unsigned)(tag >> 3);
	f->wire = tag & 7;
	if (tag >> 32 || !f->number)
		return pb_bad(c->off, c->what, "field number %llu isn't valid: not a pprof file?",
			      (unsigned long long)(tag >> 3));
	switch (f->wire) {
	case PB_VARINT:
	case PB_BYTES:
		if (!varint(&c->at, c->end, &v))
			return pb_bad(c->off, c->what, "field %u is cut short", f->number);
		break;
	case PB_FIXED32:
	case PB_FIXED64:
		size = f->wire == PB_FIXED32 ? 4 : 8;
		if ((size_t)(c->end - c->at) < size)
			return pb_bad(c->off, c->what, "field %u is cut short", f->number);
		for (unsigned i = 0; i < size; i++)
			v |= (uint64_t)*c->at++ << (8 * i);
		break;
	default:
		return pb_bad(c->off, c->what, "field %u has wire type %u: not a pprof file?",
			      f->number, (unsigned)f->wire);
	}
	f->v = v;
	c->off += (uint64_t)(c->at - start);
	f->data_off = c->off;
	return 0;
}

int pb_next(struct pb_cursor *c, struct pb_field *f)
{
	int r;

	if (c->at == c->end)
		return 0;
	r = field_head(c, f);
	if (r)
		return r;
	if (f->wire == PB_BYTES) {
		if (f->v > (size_t)(c->end - c->at))
			return pb_bad(f->off, c->what,
				      "field %u says %llu bytes, but only %zu are left", f->number,
				      (unsigned long long)f->v, (size_t)(c->end - c->at));
		f->s = c->at;
		f->n = (size_t)f->v;
		c->at += f->n;
		c->off += f->n;
	}
	return 1;
}

int pprof_in_next(struct pprof_in *in, struct pb_field *f)
{
	struct pb_cursor c = {.what = "Profile"};
	int r = fill(in, 20); /* the tag and the length of a field have at most 20 bytes together */

	if (r || in->at == in->end)
		return r;
	c.at = in->buf + in->at;
	c.end = in->buf + in->end;
	c.off = in->base + in->at;
	r = field_head(&c, f);
	if (r)
		return r;
	in->at = (size_t)(c.at - in->buf);
	if (f->wire != PB_BYTES)
		return 1;
	if (f->v > PPROF_FIELD_MAX)
		return pb_bad(f->off, c.what, "field %u says %llu bytes, more than krait takes",
			      f->number, (unsigned long long)f->v);
	f->n = (size_t)f->v;
	r = fill(in, f->n);
	if (r)
		return r;
	if (in->end - in->at < f->n)
		return pb_bad(f->off, c.what, "field %u says %zu bytes, but the file only has %zu",
			      f->number, f->n, in->end - in->at);
	f->s = in->buf + in->at;
	in->at += f->n;
	return 1;
}

int pb_enter(const struct pb_field *f, const char *what, struct pb_cursor *c)
{
	if (f->wire != PB_BYTES)
		return pb_bad(f->off, what, "wire type %u instead of a message", (unsigned)f->wire);
	*c = (struct pb_cursor){f->s, f->s + f->n, f->data_off, what};
	return 0;
}

int pb_take(const struct pb_scalar *specs, size_t n, const struct pb_field *f, void *out)
{
	for (size_t i = 0; i < n; i++) {
		if (specs[i].number != f->number)
			continue;
		if (f->wire != PB_VARINT)
			return pb_bad(f->off, specs[i].name, "wire type %u instead of a number",
				      (unsigned)f->wire);
		memcpy((char *)out + specs[i].offset, &f->v, sizeof(f->v));
	}
	return 0;
}

int pb_repeated(const struct pb_field *f, const char *name, size_t limit, pb_numbers *out)
{
	const uint8_t *at = f->s, *end = f->n ? f->s + f->n : f->s;
	uint64_t v = f->v;

	if (f->wire != PB_VARINT && f->wire != PB_BYTES)
		return pb_bad(f->off, name, "wire type %u instead of numbers", (unsigned)f->wire);
	while (f->wire == PB_VARINT || at < end) {
		if (f->wire == PB_BYTES && !varint(&at, end, &v))
			return pb_bad(f->off, name, "a number is cut short");
		if (out->n >= limit)
			return pb_bad(f->off, name, "more than %zu", limit);
		if (vec_push(out, v))
			return err_set(-ENOMEM, "out of memory for reading the profile");
		if (f->wire == PB_VARINT)
			break;
	}
	return 0;
}
