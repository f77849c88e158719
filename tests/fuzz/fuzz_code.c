/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as the record of a code object. The record is refused, or its texts are bounded,
 * valid UTF-8, and one line each.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "python/code/code.h"
#include "python/heap/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_text(const char *s)
{
	if (!s)
		return;
	if (strlen(s) > TEXT_MAX_BYTES)
		abort();
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			abort();
}

/* Checks that a line of source text is returned whole, and as one line. */
static void check_line(const uint8_t *data, size_t n)
{
	struct wire_text w = {.kind = data[0] & 7,
			      .len = (uint32_t)(n - 1) / (data[0] & 7 ? data[0] & 7 : 1)};
	_cleanup_str_ struct str line = {};

	if (text_add_line(&w, data + 1, n - 1, &line))
		return;
	if (!line.n || strlen(str_cstr(&line)) != line.n ||
	    strchr(line.s, '\n') != line.s + line.n - 1 || line.n > 3 * n + 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	_cleanup_free_ uint8_t *rec = NULL;
	unsigned version;

	if (!n)
		return 0;
	check_line(data, n);
	version = *data & 0x80 ? 0x207 : 0x300 | (*data & 15);
	n--;
	rec = malloc(n + !n);
	if (!rec)
		return 0;
	memcpy(rec, data + 1, n);
	if (py_code_from_record((const struct rec_code *)rec, n, version, &code))
		return 0;
	check_text(code->name);
	check_text(code->file);
	for (int lasti = -2; lasti < 64; lasti++)
		if (py_code_position(code, lasti).line < 0)
			abort();
	return 0;
}
