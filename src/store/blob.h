/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame or segment as it is stored: columns (batch.h), compressed, behind a head that says where
 * they belong, with a checksum over both. SQLite doesn't notice a byte of a blob that has changed.
 */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "base/text/str.h"
#include "base/util.h"

#define BLOB_FAST  1 /* levels of compression: for a frame, which is written again when sealed */
#define BLOB_SMALL 3

/* Where a blob belongs. What a row of the database says must be equal. */
struct blob_place {
	uint64_t segment;
	uint32_t sequence; /* of the frame in its segment, from 0; a sealed segment: its frames */
	uint32_t samples;  /* how many samples are in it */
	/* the time that it is of, which includes those of its samples; wall clock */
	int64_t first_ms, last_ms;
};

/* Appends the blob of columns data[0..n) to *ret. 0 or -ENOMEM + message. */
_must_use_ int blob_pack(const struct blob_place *place, const void *data, size_t n, int level,
			 struct str *ret);

/*
 * Appends the columns of blob data[0..n) to *ret. 0, or -EBADMSG + message: the blob is damaged, or
 * isn't the one of @place (NULL: any); or -ENOMEM + message.
 */
_must_use_ int blob_unpack(const struct blob_place *place, const void *data, size_t n,
			   struct str *ret);

#endif
