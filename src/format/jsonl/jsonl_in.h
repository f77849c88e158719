/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON lines that krait writes (format/jsonl/jsonl.c, docs/format.md). Other members and other types of
 * lines than krait knows are skipped; what it knows must be as it is described.
 */
#ifndef FORMAT_JSONL_JSONL_IN_H
#define FORMAT_JSONL_JSONL_IN_H

#include "profile/profile.h"

/* Does a file whose first @n (unpacked) bytes are @head begin with the line that tells its format? */
bool jsonl_probe(const uint8_t *head, size_t n);

/*
 * Reads from @data (plain, gzip or zstd); hostile input: bounded, errors name the line, the byte in
 * it and the field. 0 or -errno + message. *ret is the caller's to free.
 */
_must_use_ int jsonl_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
