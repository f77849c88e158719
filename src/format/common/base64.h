/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Base64 (RFC 4648, section 4) in lines, the form in which text files hold an embedded recording.
 */
#ifndef FORMAT_COMMON_BASE64_H
#define FORMAT_COMMON_BASE64_H

#include <stdio.h>
#include "base/util.h"

/*
 * Opens a stream. What is written to it goes to @out as base64, in lines of 120 characters. Closing
 * the stream writes the rest and leaves @out open. NULL + errno on failure.
 */
FILE *base64_encoder(FILE *out);

/*
 * Decodes @n characters into a new buffer. Line breaks and blanks are skipped. Returns 0; -EBADMSG,
 * without a message, if the rest isn't base64; or -ENOMEM. The caller frees *ret.
 */
_must_use_ int base64_decode(const char *s, size_t n, uint8_t **ret, size_t *ret_n);

#endif
