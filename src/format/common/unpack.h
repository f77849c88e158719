/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a file as its writer meant them: gzip (RFC 1952), zstd (RFC 8878) or as they are.
 * Streams: memory is bounded whatever the file says. Input is hostile.
 */
#ifndef FORMAT_COMMON_UNPACK_H
#define FORMAT_COMMON_UNPACK_H

#include <zlib.h>
#include <zstd.h>
#include "base/str.h"
#include "base/util.h"

struct unpack {
	const uint8_t *data;
	size_t n, used; /* of data */
	enum { UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD } kind;
	bool ended; /* nothing more comes */
	z_stream z;
	ZSTD_DStream *zstd;
};

/* @data stays the caller's and must outlive @u. 0 or -ENOMEM + message. */
_must_use_ int unpack_open(struct unpack *u, const uint8_t *data, size_t n);
void unpack_close(struct unpack *u);

/*
 * Writes up to @cap (not 0) bytes to @buf; *got may be 0 before u->ended. 0; -EINVAL + a message
 * that says where damaged data is; -ENOMEM + message.
 */
_must_use_ int unpack_more(struct unpack *u, uint8_t *buf, size_t cap, size_t *got);

/* Adds all that still comes to @ret; the same, and -E2BIG without a message beyond @most bytes. */
_must_use_ int unpack_rest(struct unpack *u, size_t most, struct str *ret);

#endif
