/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes numbers in as many bytes as each needs (LEB128). ui/data/data.js reads them. */
#ifndef FORMAT_COMMON_VARINT_H
#define FORMAT_COMMON_VARINT_H

#include <stdio.h>
#include "base/util.h"

static inline void varint_put(FILE *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		putc_unlocked((int)(v & 0x7f) | 0x80, out);
	putc_unlocked((int)v, out);
}

static inline void varint_put_signed(FILE *out, int64_t v)
{
	varint_put(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

#endif
