/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Firefox Profiler's "processed profile", whoever wrote it: the site, samply, CPython 3.15, krait.
 * Its tables moved and changed with preprocessedProfileVersion (src/profile-logic/
 * processed-profile-versioning of firefox-devtools/profiler); krait knows them up to version 75.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_IN_H
#define FORMAT_FIREFOX_FIREFOX_IN_H

#include "profile/profile.h"

/* Does a file whose first @n (unpacked) bytes are @head say that it is of this format? */
bool firefox_probe(const uint8_t *head, size_t n);

/*
 * Reads from @data (plain, gzip or zstd); hostile input: bounded, errors name the byte and the
 * member. 0 or -errno + message. *ret is the caller's to free.
 */
_must_use_ int firefox_read(const uint8_t *data, size_t n, struct profile **ret);

#endif
