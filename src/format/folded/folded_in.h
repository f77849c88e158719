/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, whoever wrote them: "root;...;leaf COUNT\n". What docs/format.md says about frames
 * of krait, py-spy, Austin, perf script and others is read here; any other text is a frame too.
 */
#ifndef FORMAT_FOLDED_FOLDED_IN_H
#define FORMAT_FOLDED_FOLDED_IN_H

#include "profile/profile.h"

/* The values of lines with two counts, as difffolded.pl writes them. */
#define FOLDED_BEFORE "before"
#define FOLDED_AFTER  "after"
/* A comment of krait's: lines have one count, though all frames before it end with a number too. */
#define FOLDED_ONE_COUNT "# counts: 1"

/*
 * Does the file whose first @n (unpacked) bytes are @head look like folded stacks: text, and its
 * first line, or most of them, end with a count? Also true if there is nothing at all.
 */
bool folded_probe(const uint8_t *head, size_t n);

/*
 * Reads from @data (plain, gzip or zstd); hostile input: bounded, errors name the byte and what is
 * wrong. 0 or -errno + message. *ret is the caller's to free.
 */
_must_use_ int folded_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
