/* SPDX-License-Identifier: BSD-2-Clause */
/* Gets debug files from the servers in DEBUGINFOD_URLS, if libdebuginfod is installed. */
#ifndef SYMBOL_ELF_DEBUGINFOD_H
#define SYMBOL_ELF_DEBUGINFOD_H

#include "base/util.h"

/*
 * Fetches the debug file with a build id of @n bytes, and returns a descriptor. -ENOENT: no servers
 * are named, the library isn't installed, or no server has the file. The caller must check the file
 * that it gets. A statically linked krait can't load a library, so it never fetches.
 *
 * All fetches of a process share DEBUGINFOD_SECONDS. After these seconds, or after the first
 * time-out of a server (DEBUGINFOD_TIMEOUT, 90 s), nothing more is fetched: -ETIME. A fetch may
 * take all that time, so only a job in a worker thread should call this function. The fetch is
 * given up when nobody waits for the job any more (worker_cancelled()). Threads may fetch at the
 * same time.
 */
#define DEBUGINFOD_SECONDS 10
_must_use_ int debuginfod_fetch(const uint8_t *id, size_t n);

/* Returns how many fetches failed because no time was left or a server didn't answer. */
unsigned debuginfod_unfetched(void);

/* For tests: forgets all earlier fetches, and allows @ns for all later ones together. */
void debuginfod_reset(uint64_t ns);

#endif
