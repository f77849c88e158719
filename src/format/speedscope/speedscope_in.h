/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads speedscope's own format (file-format-schema.json, unchanged since speedscope 0.6),
 * whichever tool wrote it: "sampled" and "evented" profiles. Unknown members are skipped.
 */
#ifndef FORMAT_SPEEDSCOPE_SPEEDSCOPE_IN_H
#define FORMAT_SPEEDSCOPE_SPEEDSCOPE_IN_H

#include "profile/profile.h"

/* Tells whether a file is of this format. @head: its first @n (uncompressed) bytes. */
bool speedscope_probe(const uint8_t *head, size_t n);

/*
 * Reads @data (plain, gzip or zstd). Since it is hostile input, the work is bounded. Errors name
 * the byte and the member. A sampled profile has weights but no times, so its samples have no time.
 * 0 or -errno + message. The caller frees *ret.
 */
_must_use_ int speedscope_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
