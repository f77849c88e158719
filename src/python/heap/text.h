/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts strings in a target's memory to UTF-8 that can be shown in any output. Python strings
 * are arrays of code points (PEP 393: 1, 2 or 4 bytes each, depending on the largest code point).
 * Strings of 2.7 are bytes of an unknown encoding.
 */
#ifndef PYTHON_HEAP_TEXT_H
#define PYTHON_HEAP_TEXT_H

#include "base/text/str.h"
#include "records.h"

/* the most bytes of a name in UTF-8, including the ellipsis if the name is cut off */
#define TEXT_MAX_BYTES 4096

/*
 * Appends to @out the text that @w describes. @raw: its @n bytes, hostile, with any alignment.
 * Appends at most TEXT_MAX_BYTES. If the text is longer, or if only its beginning was copied, it is
 * cut between two code points and ends in U+2026. What isn't a code point becomes U+FFFD. Control
 * characters and line separators become escapes as Python writes them (\n, \x1b, \u2028), so that
 * no name can break a line or control a terminal. Byte strings (kind 0) are read as UTF-8 if they
 * are valid UTF-8, else as latin-1. 0; -EINVAL: @w can't be a string (kind isn't 0, 1, 2 or 4). If
 * there is no memory, out->failed is set.
 */
_must_use_ int text_to_utf8(const struct wire_text *w, const uint8_t *raw, size_t n,
			    struct str *out);

/*
 * Appends a line of source text unchanged, followed by a newline. -EINVAL: the text isn't complete,
 * isn't one line, or has a NUL. In that case a part of it may have been appended.
 */
_must_use_ int text_add_line(const struct wire_text *w, const uint8_t *raw, size_t n,
			     struct str *out);

/* Returns how many bytes @w's text has in the target: len * (kind or 1). */
uint64_t text_raw_bytes(const struct wire_text *w);

#endif
