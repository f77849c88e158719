/* SPDX-License-Identifier: BSD-2-Clause */
/* gzip (RFC 1952) as a stream, for data that a page decompresses with the browser's decoder. */
#ifndef FORMAT_COMMON_GZIP_H
#define FORMAT_COMMON_GZIP_H

#include <stdio.h>
#include "base/util.h"

/*
 * Opens a stream. Bytes that are written to it are compressed and go to @out. Closing the stream
 * writes the bytes that are left, and leaves @out open. NULL + errno on failure. fclose() reports
 * errors of @out.
 */
FILE *gzip_encoder(FILE *out);

#endif
