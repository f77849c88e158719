/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers for the tests of pictures and pages: functions that draw, and a profile to draw. */
#ifndef TESTS_UNIT_RENDER_DRAW_H
#define TESTS_UNIT_RENDER_DRAW_H

#include "render_profile.h"

#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/embedded.h"
#include "format/common/options.h"
#include "format/format.h"
#include "format/pprof/pprof.h"

struct bytes {
	char *s;
	size_t n;
};

/*
 * Draws the profile @p. If KRAIT_PICTURES=DIR is set and @name isn't NULL, also writes the result
 * to DIR/@name, for the tests that open it in a browser.
 */
static inline struct bytes draw_as(const char *format, struct profile *p,
				   const struct render_options *opt, const char *name)
{
	const char *dir = getenv("KRAIT_PICTURES");
	struct bytes b = {};
	FILE *f = open_memstream(&b.s, &b.n);
	char path[4096];

	if (render_by_name(format)->write(p, f, opt))
		fail_msg("%s", err_msg());
	fclose(f);
	if (!dir || !name)
		return b;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b.s, 1, b.n, f), b.n);
	assert_int_equal(fclose(f), 0);
	return b;
}

static inline size_t occurrences(const char *s, const char *what)
{
	size_t n = 0;

	for (s = strstr(s, what); s; s = strstr(s + strlen(what), what))
		n++;
	return n;
}

static inline char *fold(struct profile *p)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(render_by_name("folded")->write(p, f, &(struct render_options){0}), 0);
	fclose(f);
	return text;
}

/* Checks that the recording that krait reads back from the picture equals @p. */
static inline void assert_comes_back(const struct bytes *picture, struct profile *p)
{
	_cleanup_free_ char *before = fold(p), *after = NULL;
	_cleanup_free_ uint8_t *pprof = NULL;
	struct profile *back = NULL;
	size_t n;

	assert_true(embedded_probe(picture->s, picture->n));
	assert_int_equal(embedded_extract(picture->s, picture->n, &pprof, &n), 0);
	assert_int_equal(pprof_read(pprof, n, &back), 0);
	after = fold(back);
	assert_string_equal(before, after);
	profile_free(back);
}

#define MAIN                                                                                       \
	{                                                                                          \
		"main", "/srv/app.py", 10                                                          \
	}
#define A                                                                                          \
	{                                                                                          \
		"a", "/srv/lib/a.py", 3                                                            \
	}
#define B(line)                                                                                    \
	{                                                                                          \
		"b", "/srv/lib/b.py", line                                                         \
	}
#define APP LABELS("pid", "7", "process", "app.py", "cwd", "/srv")

/*
 * Makes 100 samples. tests/golden/formats/svg.py and tests/golden/page/page.py know their shares:
 * function a has 50 %, b has 30 % (20 % on line 4, 10 % on line 5).
 */
static inline struct profile *shares(void)
{
	struct profile *p = test_profile();

	test_sample(p, FRAMES(MAIN, A), APP, 30);
	test_sample(p, FRAMES(MAIN, B(4), A), APP, 20);
	test_sample(p, FRAMES(MAIN, B(5)), APP, 10);
	test_sample(p, FRAMES(MAIN, {"deflate", NULL, 0, KIND_NATIVE}), APP, 25);
	test_sample(p, FRAMES(MAIN, {"do_syscall_64", NULL, 0, KIND_KERNEL}), APP, 15);
	return p;
}

#endif
