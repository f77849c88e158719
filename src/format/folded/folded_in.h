/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads folded stacks of any tool: "root;...;leaf COUNT\n". It understands the frames that krait,
 * py-spy, Austin, perf script and others write, as docs/format.md describes them. Any other text is
 * the name of a frame.
 */
#ifndef FORMAT_FOLDED_FOLDED_IN_H
#define FORMAT_FOLDED_FOLDED_IN_H

#include "profile/profile.h"

/*
 * The names that the profile's two values get if each line of the file has two counts, as
 * difffolded.pl writes them.
 */
#define FOLDED_BEFORE "before"
#define FOLDED_AFTER  "after"
/*
 * A comment that krait writes into the file: each line has one count, although the frame before
 * each count ends with a number too.
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
