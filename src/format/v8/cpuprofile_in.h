/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V8's .cpuprofile (Profiler.Profile of the Chrome DevTools Protocol): what `node --cpu-prof` writes
 * and DevTools saves.
 */
#ifndef FORMAT_V8_CPUPROFILE_IN_H
#define FORMAT_V8_CPUPROFILE_IN_H

#include "profile/profile.h"

/* Does a file whose first @n (unpacked) bytes are @head say that it is of this format? */
bool cpuprofile_probe(const uint8_t *head, size_t n);

/*
 * Reads from @data (plain, gzip or zstd); hostile input: bounded, errors name the byte and the
 * member. 0 or -errno + message. *ret is the caller's to free.
 */
_must_use_ int cpuprofile_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
