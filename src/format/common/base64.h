/* SPDX-License-Identifier: BSD-2-Clause */
/* Base64 (RFC 4648, section 4), in lines, as it stands in a text file that embeds a recording. */
#ifndef FORMAT_COMMON_BASE64_H
#define FORMAT_COMMON_BASE64_H

#include <stdio.h>
#include "base/util.h"

/*
 * A stream that writes what it is given to @out in base64, lines of 120 characters; closing it
 * writes the rest and leaves @out open. NULL + errno on failure.
 */
FILE *base64_encoder(FILE *out);

/*
 * Decodes @n characters into a new buffer, line breaks and blanks skipped. 0, -EBADMSG for anything
 * else that isn't base64 (no message), -ENOMEM. *ret is the caller's to free.
 */
_must_use_ int base64_decode(const char *s, size_t n, uint8_t **ret, size_t *ret_n);

#endif
