/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes pprof's profile.proto (google/pprof). What krait defines beyond it (labels,
 * times, mappings) is in docs/format.md.
 */
#ifndef FORMAT_PPROF_PPROF_H
#define FORMAT_PPROF_PPROF_H

#include <stdio.h>
#include "profile/sample_order.h"

/*
 * Writes @p to @out, gzipped. It streams: memory is bounded by profile/sample_order.h. 0 or -errno
 * + message.
 */
_must_use_ int pprof_write(struct profile *p, FILE *out, enum profile_times times);

/*
 * Reads pprof (gzip, zstd or plain protobuf) from @data. Hostile input: work is bounded, errors
 * name offset and field. The caller frees *ret.
 */
_must_use_ int pprof_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
