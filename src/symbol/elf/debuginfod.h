/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug files from the servers that DEBUGINFOD_URLS names, if libdebuginfod is installed. */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "base/util.h"

/*
 * The debug file for a build id of @n bytes: a descriptor. -ENOENT: no servers were named, the
 * library isn't there, or no server has it. What comes is to be checked. Not in a static krait,
 * which can't load a library.
 *
 * All fetches of a process have DEBUGINFOD_SECONDS together; after that, and after the first
 * time-out of a server (DEBUGINFOD_TIMEOUT, 90 s), nothing is fetched any more: -ETIME. So it is
 * for a job that nobody waits for (worker_cancelled()). Threads may fetch at the same time.
 */
#define DEBUGINFOD_SECONDS 10
_must_use_ int debuginfod_fetch(const uint8_t *id, size_t n);

/* So often -ETIME was returned. */
unsigned debuginfod_unfetched(void);

/* For tests: as if nothing had been fetched, and with @ns for all fetches. */
void debuginfod_reset(uint64_t ns);

#endif
