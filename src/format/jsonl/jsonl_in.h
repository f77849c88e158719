/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the JSON lines that krait writes (format/jsonl/jsonl.c, docs/format.md). Unknown members
 * and unknown types of lines are skipped; the others must be as docs/format.md describes them.
 */
#ifndef FORMAT_JSONL_JSONL_IN_H
#define FORMAT_JSONL_JSONL_IN_H

#include "profile/profile.h"

/*
 * Tells whether a file begins with the line that names the format. @head: its first @n
 * (uncompressed) bytes.
 */
bool jsonl_probe(const uint8_t *head, size_t n);

/*
 * Reads @data (plain, gzip or zstd). Since it is hostile input, the work is bounded. Errors name
 * the line, the byte in it and the field. 0 or -errno + message. The caller frees *ret.
 */
_must_use_ int jsonl_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
