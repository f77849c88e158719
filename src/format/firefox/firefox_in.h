/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the Firefox Profiler's "processed profile", as profiler.firefox.com, samply, CPython 3.15
 * or krait write it. With each preprocessedProfileVersion some tables moved or changed
 * (src/profile-logic/processed-profile-versioning of firefox-devtools/profiler). krait knows
 * versions up to 75.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_IN_H
#define FORMAT_FIREFOX_FIREFOX_IN_H

#include "profile/profile.h"

/* Tells whether a file is of this format. @head: its first @n (uncompressed) bytes. */
bool firefox_probe(const uint8_t *head, size_t n);

/*
 * Reads @data (plain, gzip or zstd). Since it is hostile input, the work is bounded. Errors name
 * the byte and the member. 0 or -errno + message. The caller frees *ret.
 */
_must_use_ int firefox_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
