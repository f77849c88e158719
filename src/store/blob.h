/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame (about a second's samples) or a segment as the database stores it: columns (batch.h),
 * compressed, behind a head. The head says to which segment and time the columns belong, and has a
 * checksum of itself and the columns. krait verifies the checksum because SQLite doesn't notice a
 * changed byte in a blob.
 */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "base/text/str.h"
#include "base/util.h"

/* In which pieces the columns of a blob are compressed. */
enum blob_way {
	/*
	 * all columns as one piece: for a frame (about a second's samples), which is compressed
	 * again when its segment is sealed
	 */
	BLOB_FAST,
	/* each long column by itself, because columns differ in which bytes are frequent */
	BLOB_SMALL,
};

/*
 * Where in the store a blob belongs. The blob's head says this, and the columns of its row in the
 * database must say the same.
 */
struct blob_place {
	uint64_t segment;
	/*
	 * for a frame (about a second's samples): its index in the segment, from 0; for a sealed
	 * segment: how many frames it had
	 */
	uint32_t sequence;
	uint32_t samples; /* how many samples the blob has */
	/* the wall clock times that the blob covers: those of all its samples are within them */
	int64_t first_ms, last_ms;
};

/* Appends the blob of columns data[0..n) to *ret. 0 or -ENOMEM + message. */
_must_use_ int blob_pack(const struct blob_place *place, const void *data, size_t n,
			 enum blob_way way, struct str *ret);

/*
 * Reads the columns of blob data[0..n) into *ret, which is empty. Returns 0; -EBADMSG + message if
 * the blob is damaged, or its head doesn't say @place (NULL: any place will do); -ENOMEM + message.
 */
_must_use_ int blob_unpack(const struct blob_place *place, const void *data, size_t n,
			   struct str *ret);

#endif
