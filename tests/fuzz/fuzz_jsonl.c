/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as JSON Lines: they are refused with a message, or become a profile. The profile
 * can be written in every format. Written as JSON Lines, read, and written again, it gives the same
 * bytes.
 */
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/options.h"
#include "format/format.h"
#include "format/jsonl/jsonl_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t write_jsonl(struct profile *p, char **bytes)
{
	size_t n;
	FILE *f = open_memstream(bytes, &n);
	struct render_options opt = {.times = PROFILE_TIMES_EXACT};

	if (!f || render_by_name("jsonl")->write(p, f, &opt) || fclose(f))
		abort();
	return n;
}

/* Only the writer of trace events may refuse a profile, because it needs the samples' times. */
static void write_all(struct profile *p)
{
	static const char *const names[] = {"pprof", "speedscope", "firefox", "trace", "pstats"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *bytes = NULL;
		struct render_options opt = {.times = PROFILE_TIMES_EXACT};
		size_t n;
		FILE *f = open_memstream(&bytes, &n);
		int r = render_by_name(names[i])->write(p, f, &opt);

		if (fclose(f) || (r && !(streq(names[i], "trace") && r == -EINVAL)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_free_ char *first = NULL, *second = NULL;
	struct profile *p;
	size_t first_n, second_n;

	jsonl_probe(data, n);
	if (jsonl_read(data, n, &p)) {
		if (!*err_msg())
			abort();
		return 0;
	}
	first_n = write_jsonl(p, &first);
	write_all(p);
	profile_free(p);
	if (jsonl_read((const uint8_t *)first, first_n, &p)) {
		fprintf(stderr, "%s\n", err_msg());
		abort();
	}
	second_n = write_jsonl(p, &second);
	profile_free(p);
	if (first_n != second_n || memcmp(first, second, first_n))
		abort();
	return 0;
}
