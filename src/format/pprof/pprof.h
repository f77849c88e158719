/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes pprof's profile.proto (google/pprof). docs/format.md describes what krait adds
 * to it (labels, times, mappings).
 */
#ifndef FORMAT_PPROF_PPROF_H
#define FORMAT_PPROF_PPROF_H

#include <stdio.h>
#include "profile/sample_order.h"

/*
 * Writes @p to @out, gzipped, as a stream, so memory is bounded as profile/sample_order.h says. 0
 * or -errno + message.
 */
_must_use_ int pprof_write(struct profile *p, FILE *out, enum profile_times times);

/*
 * Reads pprof (gzip, zstd or plain protobuf) from @data. Since it is hostile input, the work is
 * bounded. Errors name the offset and the field. The caller frees *ret.
 */
_must_use_ int pprof_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
