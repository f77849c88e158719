/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a profile file: they are refused with a message, or become a profile. The
 * profile can be written as folded stacks, which have the same sum of samples when they are read
 * again.
 */
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/embedded.h"
#include "format/common/writers.h"
#include "format/folded/folded_in.h"
#include "format/read.h"
#include "picture/html/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/*
 * Longer folded stacks aren't read again: with deep stacks, the text is many times as long as the
 * input.
 */
#define TEXT_MAX (16u << 20)

/*
 * Returns the sum of the samples in millionths, or -1 if it doesn't fit. (A sum of fractions may be
 * a whole number, which is then read as a count.)
 */
static int64_t total(struct profile *p)
{
	_cleanup_free_ struct profile_sum *sums = NULL;
	bool micro = streq(profile_meta(p)->values[0].unit, PROFILE_MICROCOUNT);
	int64_t sum = 0;
	size_t n;

	if (profile_sums(p, &sums, &n))
		abort();
	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(sum, sums[i].values[0], &sum))
			return -1;
	return micro || !__builtin_mul_overflow(sum, 1000000, &sum) ? sum : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_str_ struct str source = {};
	_cleanup_free_ char *text = NULL;
	const char *value;
	struct profile *p, *again;
	size_t text_n;
	int64_t sum;
	FILE *f;

	if (source_take((const char *)data, n, EMBEDDED_SOURCE, &source) && !*err_msg())
		abort();
	if (read_profile(data, n, &p)) {
		if (!*err_msg())
			abort();
		return 0;
	}
	/* With several values, nothing is compared, because two of them may have the same name. */
	value = profile_meta(p)->n_values == 1 ? NULL : "";
	sum = value ? -1 : total(p);
	if (sum < 0 || sum > INT64_MAX / 64) {
		profile_free(p);
		return 0;
	}
	f = open_memstream(&text, &text_n);
	if (!f || folded_write(p, f, &(struct render_options){}) || fclose(f))
		abort();
	/*
	 * Skips texts in which a line's first frame begins with #, because that line would be read
	 * as a comment.
	 */
	if (text_n > TEXT_MAX || text[0] == '#' || memmem(text, text_n, "\n#", 2)) {
		profile_free(p);
		return 0;
	}
	if (folded_read((const uint8_t *)text, text_n, &again)) {
		fprintf(stderr, "%s\n%s", err_msg(), text);
		abort();
	}
	if (sum != total(again))
		abort();
	profile_free(p);
	profile_free(again);
	return 0;
}
