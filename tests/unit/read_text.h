/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads profiles that tests have as text, in formats of other tools, and returns their folded
 * stacks.
 */
#ifndef TESTS_UNIT_READ_TEXT_H
#define TESTS_UNIT_READ_TEXT_H

#include "render_profile.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "format/read.h"
#include "format/common/options.h"
#include "format/format.h"

static inline struct profile *read_text(const char *text)
{
	struct profile *p;

	if (read_profile((const uint8_t *)text, strlen(text), &p))
		fail_msg("%s", err_msg());
	return p;
}

static inline void assert_reads_as(const char *text, const struct render_options *opt,
				   const char *want)
{
	struct profile *p = read_text(text);
	_cleanup_free_ char *got = NULL;
	size_t n;
	FILE *f = open_memstream(&got, &n);

	assert_int_equal(render_by_name("folded")->write(p, f, opt), 0);
	fclose(f);
	profile_free(p);
	assert_string_equal(got, want);
}

#endif
