/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decompresses a file: gzip (RFC 1952), zstd (RFC 8878), or plain bytes. The file is hostile. It is
 * decompressed as a stream, so memory is bounded whatever the file says.
 */
#ifndef FORMAT_COMMON_UNPACK_H
#define FORMAT_COMMON_UNPACK_H

#include <zlib.h>
#include <zstd.h>
#include "base/text/str.h"
#include "base/util.h"

struct unpack {
	const uint8_t *data;
	/* .n: number of bytes in .data; .used: how many of these were decompressed */
	size_t n, used;
	enum { UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD } kind;
	bool ended; /* all bytes of .data were decompressed */
	z_stream z;
	ZSTD_DStream *zstd;
};

/* Prepares decompression. @data is borrowed and must outlive @u. 0 or -ENOMEM + message. */
_must_use_ int unpack_open(struct unpack *u, const uint8_t *data, size_t n);
void unpack_close(struct unpack *u);

/*
 * Decompresses up to @cap (> 0) bytes into @buf. *got: the number of bytes, which may be 0 even
 * before u->ended is set. 0; -EINVAL + a message that says where the data is damaged; or -ENOMEM +
 * message.
 */
_must_use_ int unpack_more(struct unpack *u, uint8_t *buf, size_t cap, size_t *got);

/*
 * Appends all remaining bytes to @ret. Returns what unpack_more() returns, or -E2BIG, without a
 * message, if there are more than @most bytes.
 */
_must_use_ int unpack_rest(struct unpack *u, size_t most, struct str *ret);

#endif
