/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug files from the servers that DEBUGINFOD_URLS names, if libdebuginfod is installed. */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "base/util.h"

/*
 * The debug file for a build id of @n bytes: a descriptor. -ENOENT: no servers were named, the
 * library isn't there, or no server has it. May take as long as DEBUGINFOD_TIMEOUT says (90 s). What
 * comes is to be checked. Not in a static krait, which can't load a library.
 */
_must_use_ int debuginfod_fetch(const uint8_t *id, size_t n);

#endif
