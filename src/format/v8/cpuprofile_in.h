/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads V8's .cpuprofile (Profiler.Profile of the Chrome DevTools Protocol), which `node
 * --cpu-prof` writes and DevTools saves.
 */
#ifndef FORMAT_V8_CPUPROFILE_IN_H
#define FORMAT_V8_CPUPROFILE_IN_H

#include "profile/profile.h"

/* Tells whether a file is of this format. @head: its first @n (uncompressed) bytes. */
bool cpuprofile_probe(const uint8_t *head, size_t n);

/*
 * Reads @data (plain, gzip or zstd). Since it is hostile input, the work is bounded. Errors name
 * the byte and the member. 0 or -errno + message. The caller frees *ret.
 */
_must_use_ int cpuprofile_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
