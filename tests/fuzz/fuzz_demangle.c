/* SPDX-License-Identifier: BSD-2-Clause */
/* Demangles any bytes as a linkage name. There is always a result, and its length is bounded. */
#include <stdlib.h>
#include "base/cleanup.h"
#include "symbol/demangle/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_free_ char *name = strndup((const char *)data, n);
	enum symbol_language language = 99;
	_cleanup_free_ char *s = symbol_demangle(name, &language);

	if (!s || language > LANGUAGE_GO || strlen(s) > MAX(n, (size_t)SYMBOL_SHOWN_MAX + 3))
		abort();
	return 0;
}
