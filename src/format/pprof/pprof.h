/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof's profile.proto (google/pprof), written and read. krait's contract on top of it is in
 * docs/format.md: labels, times, mappings.
 */
#ifndef FORMAT_PPROF_PPROF_H
#define FORMAT_PPROF_PPROF_H

#include <stdio.h>
#include "profile/sample_order.h"

/* Writes @p gzipped to @out; streams: memory is bounded by pprof_samples.h. 0 or -errno + message. */
_must_use_ int pprof_write(struct profile *p, FILE *out, enum profile_times times);

/*
 * Reads pprof (gzip, zstd, or plain protobuf) from @data; hostile input: bounded, error names offset and
 * field. *ret is the caller's to free.
 */
_must_use_ int pprof_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
