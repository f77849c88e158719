/* SPDX-License-Identifier: BSD-2-Clause */
/* gzip (RFC 1952) as a stream, for data that a page unpacks with the browser's own decoder. */
#ifndef FORMAT_COMMON_GZIP_H
#define FORMAT_COMMON_GZIP_H

#include <stdio.h>
#include "base/util.h"

/*
 * A stream that writes what it is given to @out compressed; closing it writes the rest and leaves
 * @out open. NULL + errno on failure. Errors of @out show at fclose().
 */
FILE *gzip_encoder(FILE *out);

#endif
