/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as pprof: they are refused with a message, or become a profile. Written, read,
 * and written again, the profile must give the same bytes.
 */
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/pprof/pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t write_profile(struct profile *p, char **bytes)
{
	size_t n;
	FILE *f = open_memstream(bytes, &n);

	if (!f || pprof_write(p, f, PROFILE_TIMES_EXACT) || fclose(f))
		abort();
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_free_ char *first = NULL, *second = NULL;
	struct profile *p;
	size_t first_n, second_n;

	if (pprof_read(data, n, &p)) {
		if (!*err_msg())
			abort();
		return 0;
	}
	first_n = write_profile(p, &first);
	profile_free(p);
	if (pprof_read((const uint8_t *)first, first_n, &p)) {
		fprintf(stderr, "%s\n", err_msg());
		abort();
	}
	second_n = write_profile(p, &second);
	profile_free(p);
	if (first_n != second_n || memcmp(first, second, first_n))
		abort();
	return 0;
}
