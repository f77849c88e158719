/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Base64 (RFC 4648, section 4) in lines. Text files hold an embedded recording in this form.
 */
#ifndef FORMAT_COMMON_BASE64_H
#define FORMAT_COMMON_BASE64_H

#include <stdio.h>
#include "base/util.h"

/*
 * Opens a stream. Bytes that are written to it go to @out as base64, in lines of 120 characters.
 * Closing the stream writes the bytes that are left, and leaves @out open. NULL + errno on failure.
 */
FILE *base64_encoder(FILE *out);

/*
 * Decodes @n characters into a new buffer. Line breaks and blanks are skipped. Returns 0; -EBADMSG,
 * without a message, if anything else in the text isn't base64; or -ENOMEM. The caller frees *ret.
 */
_must_use_ int base64_decode(const char *s, size_t n, uint8_t **ret, size_t *ret_n);

#endif
