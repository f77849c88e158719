/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a picture or an HTML page that krait made, and extracts what is embedded in
 * these: the recording, and the source text.
 */
#include <stdlib.h>
#include "base/cleanup.h"
#include "format/common/embedded.h"
#include "picture/html/page_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Reads a page's source text. In the input, the lines are separated by NULs. */
static void read_page(const uint8_t *data, size_t n)
{
	const struct str json = {.s = (char *)data, .n = n};
	struct page_text t;

	if (!page_text_read(&t, &json))
		vec_foreach(f, &t.files)
			for (size_t i = f->from; i < f->to; i++)
				if (t.lines.v[i].at + strlen(t.text.s + t.lines.v[i].at) >=
				    t.text.n)
					abort();
	page_text_fini(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_free_ uint8_t *out = NULL;
	size_t out_n = 0;

	if (!embedded_extract((const char *)data, n, &out, &out_n) && out_n > n)
		abort();
	read_page(data, n);
	return 0;
}
