/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out the lines of a text file, compressed or not, one after the other. The file is hostile.
 */
#ifndef FORMAT_COMMON_LINES_H
#define FORMAT_COMMON_LINES_H

#include "base/util.h"

struct line {
	const char *s; /* text of the line, without its line break; valid during the call */
	size_t n;
	/*
	 * offset of the line's first byte in the uncompressed file, and the number of the line,
	 * from 1
	 */
	uint64_t off, number;
};

/*
 * Calls @take for every line of @data (plain, gzip or zstd). The last line may lack its line break.
 * Stops at the first return that isn't 0, and returns it. -EINVAL + message for damaged files and
 * for lines of more than 16 MiB, -ENOMEM + message. Messages begin with @what, such as "folded
 * stacks".
 */
_must_use_ int lines_each(const uint8_t *data, size_t n, const char *what,
			  int (*take)(void *arg, const struct line *line), void *arg);

#endif
