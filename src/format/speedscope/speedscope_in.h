/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's own format, whoever wrote it (file-format-schema.json, unchanged since speedscope
 * 0.6): "sampled" and "evented" profiles. Members that krait doesn't know are skipped.
 */
#ifndef FORMAT_SPEEDSCOPE_SPEEDSCOPE_IN_H
#define FORMAT_SPEEDSCOPE_SPEEDSCOPE_IN_H

#include "profile/profile.h"

/* Does a file whose first @n (unpacked) bytes are @head say that it is of this format? */
bool speedscope_probe(const uint8_t *head, size_t n);

/*
 * Reads from @data (plain, gzip or zstd); hostile input: bounded, errors name the byte and the
 * member. A sampled profile has weights and no times, so samples have none. 0 or -errno + message.
 * *ret is the caller's to free.
 */
_must_use_ int speedscope_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
