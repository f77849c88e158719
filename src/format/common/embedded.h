/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The opening tags before the data that krait embeds in pages and pictures. A recording is pprof,
 * gzipped, in base64, up to the next '<'. docs/format.md names the tags.
 */
#ifndef FORMAT_COMMON_EMBEDDED_H
#define FORMAT_COMMON_EMBEDDED_H

#include <stdio.h>
#include "base/util.h"

#define EMBEDDED_SVG  "<metadata id=\"krait-recording\">"
#define EMBEDDED_HTML "<script type=\"application/octet-stream\" id=\"krait-recording\">"
/* Tags before the recordings in a page that compares two. */
#define EMBEDDED_BEFORE "<script type=\"application/octet-stream\" id=\"krait-before\">"
#define EMBEDDED_AFTER	"<script type=\"application/octet-stream\" id=\"krait-after\">"

/* Tag before the source text of the recordings, which has the form of source.h. */
#define EMBEDDED_SOURCE "<script type=\"application/octet-stream\" id=\"krait-source\">"
#define EMBEDDED_SOURCE_BEFORE                                                                     \
	"<script type=\"application/octet-stream\" id=\"krait-source-before\">"
#define EMBEDDED_SOURCE_AFTER "<script type=\"application/octet-stream\" id=\"krait-source-after\">"

/*
 * Finds the recording (gzipped pprof) inside a picture or page that krait wrote. Input is hostile;
 * memory is bounded by its size. embedded_probe(): is there one? embedded_extract(): 0; -EINVAL +
 * message if there is none or it is damaged; -ENOMEM. The caller frees *ret.
 */
bool embedded_probe(const char *data, size_t n);
_must_use_ int embedded_extract(const char *data, size_t n, uint8_t **ret, size_t *ret_n);

/*
 * A file that isn't text has the recording unencoded, at its end. embedded_put_end() writes what
 * follows the recording; @n: the recording's length in bytes. embedded_at_end() returns where the
 * recording begins in a whole file, and its length; NULL: there is none.
 */
void embedded_put_end(FILE *out, uint64_t n);
const uint8_t *embedded_at_end(const uint8_t *data, size_t n, size_t *ret_n);

/* Returns what follows the first @tag in a file, or NULL. */
const char *embedded_find(const char *data, size_t n, const char *tag);

/*
 * Decodes base64 from @start, which is in the file, up to the next '<'. 0, or -EINVAL + message;
 * -ENOMEM. The caller frees *ret.
 */
_must_use_ int embedded_decode(const char *data, size_t n, const char *start, uint8_t **ret,
			       size_t *ret_n);

#endif
