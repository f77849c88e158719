/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The opening tags of the elements in which krait embeds data in pages and pictures. A recording is
 * pprof, gzipped, in base64, up to the next '<'. docs/format.md names the tags.
 */
#ifndef FORMAT_COMMON_EMBEDDED_H
#define FORMAT_COMMON_EMBEDDED_H

#include <stdio.h>
#include "base/util.h"

#define EMBEDDED_SVG  "<metadata id=\"krait-recording\">"
#define EMBEDDED_HTML "<script type=\"application/octet-stream\" id=\"krait-recording\">"
/* Tags of the two recordings in a page that compares them. */
#define EMBEDDED_BEFORE "<script type=\"application/octet-stream\" id=\"krait-before\">"
#define EMBEDDED_AFTER	"<script type=\"application/octet-stream\" id=\"krait-after\">"

/*
 * Tags of source text, which is in the form that picture/html/source.h describes: in a page with
 * one recording, and for each of the two recordings that a page compares.
 */
#define EMBEDDED_SOURCE "<script type=\"application/octet-stream\" id=\"krait-source\">"
#define EMBEDDED_SOURCE_BEFORE                                                                     \
	"<script type=\"application/octet-stream\" id=\"krait-source-before\">"
#define EMBEDDED_SOURCE_AFTER "<script type=\"application/octet-stream\" id=\"krait-source-after\">"

/*
 * The recording (gzipped pprof) inside a picture or page that krait wrote. The input is hostile, so
 * memory is bounded by the file's size. embedded_probe() tells whether the file has a recording.
 * embedded_extract() returns the recording in *ret, which the caller frees. 0; -EINVAL + message if
 * the file has no recording or the recording is damaged; or -ENOMEM.
 */
bool embedded_probe(const char *data, size_t n);
_must_use_ int embedded_extract(const char *data, size_t n, uint8_t **ret, size_t *ret_n);

/*
 * For files that aren't text (pstats), which have the recording at their end, not encoded.
 * embedded_put_end() writes the bytes that follow the recording. @n: the recording's length in
 * bytes. embedded_at_end() gets such a file as a whole. It returns where the recording begins, and
 * its length in *ret_n; NULL: the file has no recording.
 */
void embedded_put_end(FILE *out, uint64_t n);
const uint8_t *embedded_at_end(const uint8_t *data, size_t n, size_t *ret_n);

/* Returns what follows the first @tag in a file, or NULL. */
const char *embedded_find(const char *data, size_t n, const char *tag);

/*
 * Decodes base64 from @start, a place in the file's @data, up to the next '<'. Returns 0; -EINVAL +
 * message; or -ENOMEM. The caller frees *ret.
 */
_must_use_ int embedded_decode(const char *data, size_t n, const char *start, uint8_t **ret,
			       size_t *ret_n);

#endif
