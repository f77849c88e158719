/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads folded stacks of any tool: "root;...;leaf COUNT\n". It understands the frames of krait,
 * py-spy, Austin, perf script and others as docs/format.md describes them. Any other text is a
 * frame with that name.
 */
#ifndef FORMAT_FOLDED_FOLDED_IN_H
#define FORMAT_FOLDED_FOLDED_IN_H

#include "profile/profile.h"

/* Names of the two values in files with two counts on a line, as difffolded.pl writes them. */
#define FOLDED_BEFORE "before"
#define FOLDED_AFTER  "after"
/*
 * A comment that krait writes: each line has one count, although the frame before each count ends
 * with a number too.
 */
#define FOLDED_ONE_COUNT "# counts: 1"

/*
 * Tells whether a file looks like folded stacks. @head: its first @n (uncompressed) bytes. These
 * bytes must be text, and either the first line or most lines must end with a count. Also true for
 * an empty file.
 */
bool folded_probe(const uint8_t *head, size_t n);

/*
 * Reads @data (plain, gzip or zstd). Since it is hostile input, the work is bounded. Errors name
 * the byte and what is wrong. 0 or -errno + message. The caller frees *ret.
 */
_must_use_ int folded_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
