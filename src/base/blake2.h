/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash function BLAKE2b (RFC 7693) with a result of 32 bytes and without a key. Nobody can find
 * two inputs with the same result. It is faster than SHA-256 on CPUs without instructions for
 * SHA-256.
 */
#ifndef BASE_BLAKE2_H
#define BASE_BLAKE2_H

#include "base/util.h"

#define BLAKE2_BYTES 32
#define BLAKE2_BLOCK 128

struct blake2 {
	uint64_t h[8];
	uint64_t bytes; /* how many bytes were hashed so far, not counting those in .block */
	size_t n;	/* how many bytes of .block wait to be hashed */
	uint8_t block[BLAKE2_BLOCK];
};

void blake2_init(struct blake2 *b);
void blake2_add(struct blake2 *b, const void *bytes, size_t n);
/* Writes to @ret the hash of all bytes that were added. Nothing can be added to @b afterwards. */
void blake2_end(struct blake2 *b, uint8_t ret[static BLAKE2_BYTES]);

#endif
