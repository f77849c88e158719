/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tags before the recording in what krait draws: pprof, gzipped, base64, up to the next '<'.
 * docs/format.md names them.
 */
#ifndef FORMAT_COMMON_EMBEDDED_H
#define FORMAT_COMMON_EMBEDDED_H

#include <stdio.h>
#include "base/util.h"

#define EMBEDDED_SVG  "<metadata id=\"krait-recording\">"
#define EMBEDDED_HTML "<script type=\"application/octet-stream\" id=\"krait-recording\">"
/* Of a page of two. */
#define EMBEDDED_BEFORE "<script type=\"application/octet-stream\" id=\"krait-before\">"
#define EMBEDDED_AFTER	"<script type=\"application/octet-stream\" id=\"krait-after\">"

/* Their source text, as source.h has it. */
#define EMBEDDED_SOURCE "<script type=\"application/octet-stream\" id=\"krait-source\">"
#define EMBEDDED_SOURCE_BEFORE                                                                     \
	"<script type=\"application/octet-stream\" id=\"krait-source-before\">"
#define EMBEDDED_SOURCE_AFTER "<script type=\"application/octet-stream\" id=\"krait-source-after\">"

/*
 * The recording (pprof, gzipped) inside a picture or page that krait wrote. Input is hostile: memory is
 * bounded by its size. 0, or -EINVAL + message if there is none or it is damaged; -ENOMEM. *ret is
 * the caller's to free. embedded_probe() tells whether there is one.
 */
bool embedded_probe(const char *data, size_t n);
_must_use_ int embedded_extract(const char *data, size_t n, uint8_t **ret, size_t *ret_n);

/*
 * In a file that isn't text: the recording as it is, behind all else. embedded_put_end() appends the end of such a file;
 * @n: bytes of the recording before it. embedded_at_end(): where a whole file's recording begins and its length; NULL:
 * there is none.
 */
void embedded_put_end(FILE *out, uint64_t n);
const uint8_t *embedded_at_end(const uint8_t *data, size_t n, size_t *ret_n);

/* What follows the first @tag in a file, or NULL. */
const char *embedded_find(const char *data, size_t n, const char *tag);

/*
 * The bytes in base64 from @start, a place in the file, up to the next '<'. 0, or -EINVAL + message;
 * -ENOMEM. *ret is the caller's to free.
 */
_must_use_ int embedded_decode(const char *data, size_t n, const char *start, uint8_t **ret,
			       size_t *ret_n);

#endif
