/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings as they lie in a target's memory -> UTF-8 that can stand in any output. Python strings
 * are arrays of code points (PEP 393: 1, 2 or 4 bytes each, by the largest one); those of 2.7 are
 * bytes of unknown encoding.
 */
#ifndef PYTHON_TEXT_H
#define PYTHON_TEXT_H

#include "base/str.h"
#include "records.h"

#define TEXT_MAX_BYTES 4096 /* of one name in UTF-8, the mark of the cut included */

/*
 * Appends to @out the text that @w describes; @raw has @n bytes, hostile, any alignment. Never more
 * than TEXT_MAX_BYTES: longer texts (or texts of which only the beginning was copied) are cut on a
 * code point boundary and end in U+2026. What isn't a code point becomes U+FFFD. Control characters
 * and line separators become escapes as Python writes them (\n, \x1b, \u2028), so that no name can
 * break a line or drive a terminal. Byte strings (kind 0) are UTF-8 if they are valid UTF-8, else
 * latin-1.
 * Returns 0; -EINVAL if @w isn't a possible string (kind not 0, 1, 2, 4). Memory: out->failed.
 */
_must_use_ int text_to_utf8(const struct wire_text *w, const uint8_t *raw, size_t n,
			    struct str *out);

/*
 * Appends a line of source text as it is, with a newline behind it. -EINVAL: the text isn't whole, isn't one line, or has a
 * NUL. Then a part of it may have been appended.
 */
_must_use_ int text_add_line(const struct wire_text *w, const uint8_t *raw, size_t n,
			     struct str *out);

/* Bytes that @w's text takes in the target: len * (kind or 1). */
uint64_t text_raw_bytes(const struct wire_text *w);

#endif
