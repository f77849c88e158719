/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chrome's trace events (the "Trace Event Format"), whoever wrote them: slices B and E, and X, of
 * threads. What is open between two moments is a sample of that length. Also V8's profiles in them.
 */
#ifndef FORMAT_TRACE_TRACE_IN_H
#define FORMAT_TRACE_TRACE_IN_H

#include "profile/profile.h"

/* Does a file whose first @n (unpacked) bytes are @head say that it is of this format? */
bool trace_probe(const uint8_t *head, size_t n);

/*
 * Reads from @data (plain, gzip or zstd); hostile input: bounded, errors name the byte and the
 * member. 0 or -errno + message. *ret is the caller's to free.
 */
_must_use_ int trace_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
