/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Chrome's trace events (the "Trace Event Format") of any tool: B, E and X slices of threads.
 * The slices that are open between two moments become a sample of that length. V8's profiles in a
 * trace are read too.
 */
#ifndef FORMAT_TRACE_TRACE_IN_H
#define FORMAT_TRACE_TRACE_IN_H

#include "profile/profile.h"

/* Tells whether a file is of this format. @head: its first @n (uncompressed) bytes. */
bool trace_probe(const uint8_t *head, size_t n);

/*
 * Reads @data (plain, gzip or zstd). Since it is hostile input, the work is bounded. Errors name
 * the byte and the JSON member. 0 or -errno + message. The caller frees *ret.
 */
_must_use_ int trace_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
