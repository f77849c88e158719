/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads gzip, zstd and uncompressed bytes as one stream; see unpack.h. */
#include "format/common/unpack.h"

#include <errno.h>
#include <zstd_errors.h>

#include "base/error.h"

#define NO_MEMORY err_set(-ENOMEM, "out of memory for reading the profile")

/*
 * A zstd frame may ask for a window of this size (128 MiB), which is zstd's own limit without
 * --long.
 */
#define ZSTD_WINDOW_LOG 27

static bool starts_with(const uint8_t *data, size_t n, const char *magic, size_t magic_n)
{
	return n >= magic_n && memcmp(data, magic, magic_n) == 0;
}

int unpack_open(struct unpack *u, const uint8_t *data, size_t n)
{
	*u = (struct unpack){.data = data, .n = n};
	if (starts_with(data, n, "\x1f\x8b", 2))
		u->kind = UNPACK_GZIP;
	else if (starts_with(data, n, "\x28\xb5\x2f\xfd", 4))
		u->kind = UNPACK_ZSTD;
	if (u->kind == UNPACK_GZIP && inflateInit2(&u->z, 15 + 16) != Z_OK) {
		u->kind = UNPACK_PLAIN;
		return NO_MEMORY;
	}
	if (u->kind == UNPACK_ZSTD) {
		u->zstd = ZSTD_createDStream();
		if (!u->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax,
								    ZSTD_WINDOW_LOG)))
			return NO_MEMORY;
	}
	return 0;
}

void unpack_close(struct unpack *u)
{
	if (u->kind == UNPACK_GZIP)
		inflateEnd(&u->z);
	ZSTD_freeDStream(u->zstd);
	*u = (struct unpack){};
}

/*
 * Decompresses more of a gzip file. Members that follow one another are one stream, as in gzip(1).
 */
static int more_gzip(struct unpack *u, uint8_t *buf, size_t cap, size_t *got)
{
	int r;

	if (u->z.avail_in == 0) {
		size_t part = MIN(u->n - u->used, (size_t)1 << 30);

		u->z.next_in = (uint8_t *)u->data + u->used;
		u->z.avail_in = (unsigned)part;
		u->used += part;
	}
	cap = MIN(cap, (size_t)1 << 30);
	u->z.next_out = buf;
	u->z.avail_out = (unsigned)cap;
	r = inflate(&u->z, Z_NO_FLUSH);
	*got = cap - u->z.avail_out;
	if (r == Z_STREAM_END) {
		u->ended = u->z.avail_in == 0 && u->used == u->n;
		return u->ended || inflateReset(&u->z) == Z_OK ? 0 : NO_MEMORY;
	}
	if (r == Z_BUF_ERROR && u->z.avail_out && u->z.avail_in == 0 && u->used == u->n)
		return err_set(-EINVAL, "the gzip data ends early, after %zu bytes", u->n);
	if (r == Z_OK || r == Z_BUF_ERROR)
		return 0;
	if (r == Z_MEM_ERROR)
		return NO_MEMORY;
	return err_set(-EINVAL, "the gzip data is damaged near byte %zu (%s)",
		       u->used - u->z.avail_in, u->z.msg ? u->z.msg : "unknown reason");
}

/*
 * Decompresses more of a zstd file. Frames that follow one another are one stream, as in zstd(1).
 */
static int more_zstd(struct unpack *u, uint8_t *buf, size_t cap, size_t *got)
{
	ZSTD_inBuffer in = {u->data, u->n, u->used};
	ZSTD_outBuffer out = {buf, cap, 0};
	size_t r = ZSTD_decompressStream(u->zstd, &out, &in);

	if (ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation)
		return NO_MEMORY;
	if (ZSTD_isError(r))
		return err_set(-EINVAL, "the zstd data is damaged near byte %zu (%s)", in.pos,
			       ZSTD_getErrorName(r));
	if (r && out.pos == 0 && in.pos == u->used)
		return err_set(-EINVAL, "the zstd data ends early, after %zu bytes", u->n);
	u->used = in.pos;
	u->ended = r == 0 && u->used == u->n;
	*got = out.pos;
	return 0;
}

static int more_plain(struct unpack *u, uint8_t *buf, size_t cap, size_t *got)
{
	*got = MIN(u->n - u->used, cap);
	if (*got)
		memcpy(buf, u->data + u->used, *got);
	u->used += *got;
	u->ended = u->used == u->n;
	return 0;
}

int unpack_more(struct unpack *u, uint8_t *buf, size_t cap, size_t *got)
{
	*got = 0;
	if (u->ended)
		return 0;
	switch (u->kind) {
	case UNPACK_GZIP:
		return more_gzip(u, buf, cap, got);
	case UNPACK_ZSTD:
		return more_zstd(u, buf, cap, got);
	default:
		return more_plain(u, buf, cap, got);
	}
}

int unpack_rest(struct unpack *u, size_t most, struct str *ret)
{
	uint8_t buf[1 << 14];
	size_t got;

	while (!u->ended) {
		int r = unpack_more(u, buf, sizeof(buf), &got);

		if (r)
			return r;
		str_add_n(ret, (const char *)buf, got);
		if (ret->failed)
			return NO_MEMORY;
		if (ret->n > most)
			return -E2BIG;
	}
	return 0;
}
