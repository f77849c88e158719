/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash function BLAKE2b, as RFC 7693 describes it; see blake2.h. The names are the RFC's. */
#include "base/blake2.h"

#include <string.h>

#define ROUNDS 12

static const uint64_t iv[8] = {
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const uint8_t sigma[ROUNDS][16] = {
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

static inline uint64_t turn(uint64_t v, int by)
{
	return v >> by | v << (64 - by);
}

#define G(a, b, c, d, x, y)                                                                        \
	do {                                                                                       \
		a += b + x;                                                                        \
		d = turn(d ^ a, 32);                                                               \
		c += d;                                                                            \
		b = turn(b ^ c, 24);                                                               \
		a += b + y;                                                                        \
		d = turn(d ^ a, 16);                                                               \
		c += d;                                                                            \
		b = turn(b ^ c, 63);                                                               \
	} while (0)

static void compress(struct blake2 *b, const uint8_t block[static BLAKE2_BLOCK], bool last)
{
	uint64_t v[16], m[16];

	/*
	 * BLAKE2b reads little-endian words, and all machines that krait runs on are little-endian
	 */
	memcpy(m, block, sizeof(m));
	memcpy(v, b->h, sizeof(b->h));
	memcpy(v + 8, iv, sizeof(iv));
	v[12] ^= b->bytes;
	v[14] ^= last ? UINT64_MAX : 0;
#pragma GCC unroll 12
	for (int i = 0; i < ROUNDS; i++) {
		const uint8_t *s = sigma[i];

		G(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
		G(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
		G(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
		G(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
		G(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
		G(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
		G(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
		G(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
	}
	for (int i = 0; i < 8; i++)
		b->h[i] ^= v[i] ^ v[i + 8];
}

void blake2_init(struct blake2 *b)
{
	*b = (struct blake2){};
	memcpy(b->h, iv, sizeof(iv));
	b->h[0] ^= 0x01010000 | BLAKE2_BYTES; /* parameters of BLAKE2b: no key, one node */
}

/* The last block is hashed differently, so a full block waits until more bytes come. */
void blake2_add(struct blake2 *b, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n) {
		size_t take = MIN(n, BLAKE2_BLOCK - b->n);

		if (b->n == BLAKE2_BLOCK) {
			b->bytes += BLAKE2_BLOCK;
			compress(b, b->block, false);
			b->n = 0;
			continue;
		}
		if (!b->n && n > BLAKE2_BLOCK) {
			b->bytes += BLAKE2_BLOCK;
			compress(b, at, false);
			take = BLAKE2_BLOCK;
		} else {
			memcpy(b->block + b->n, at, take);
			b->n += take;
		}
		at += take;
		n -= take;
	}
}

void blake2_end(struct blake2 *b, uint8_t ret[static BLAKE2_BYTES])
{
	b->bytes += b->n;
	memset(b->block + b->n, 0, BLAKE2_BLOCK - b->n);
	compress(b, b->block, true);
	memcpy(ret, b->h, BLAKE2_BYTES);
}
