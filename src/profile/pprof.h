/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof's profile.proto (google/pprof), written and read. krait's contract on top of it is in
 * docs/format.md: labels, times, mappings.
 */
#ifndef PROFILE_PPROF_H
#define PROFILE_PPROF_H

#include <stdio.h>
#include "profile/profile.h"

/* Time buckets of the label "time". */
enum pprof_times { PPROF_TIMES_10MS, PPROF_TIMES_EXACT, PPROF_TIMES_NONE };

/* Writes @p gzipped to @out; streams: memory is bounded by pprof_samples.h. 0 or -errno + message. */
_must_use_ int pprof_write(struct profile *p, FILE *out, enum pprof_times times);

/*
 * Reads pprof (gzip, zstd, or plain protobuf) from @data; hostile input: bounded, error names offset and
 * field. *ret is the caller's to free.
 */
_must_use_ int pprof_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
