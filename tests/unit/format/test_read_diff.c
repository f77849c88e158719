/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads both recordings back from a page that compares them. The page may be cut off, damaged, or
 * lack one of them. Also tests the source text in a page.
 */
#include "render_profile.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/base64.h"
#include "format/common/embedded.h"
#include "format/common/gzip.h"
#include "format/common/options.h"
#include "format/format.h"
#include "format/read.h"
#include "picture/html/html_diff.h"
#include "picture/html/source.h"

struct bytes {
	char *s;
	size_t n;
};

static struct profile *side(const char *name, int64_t count)
{
	static const char *const labels[] = {"pid", "7", "process", "app.py", NULL};
	const struct test_frame frames[] = {
		{"main", "/srv/app.py", 10}, {name, "/srv/app.py", 20}, {}};
	struct profile *p = test_profile();

	test_sample_at(p, frames, labels, count, -1);
	return p;
}

/*
 * Makes a page that compares two recordings. The page itself shows the first of the two; for these
 * tests it could as well be the second.
 */
static struct bytes page(void)
{
	static const uint8_t changed[16];
	struct html_diff d = {
		.name = {"a", "b"}, .verdict = "", .sum = "", .counts = {1, 1}, .changed = changed};
	const struct render_options opt = {.diff = &d};
	struct bytes b = {};
	FILE *f = open_memstream(&b.s, &b.n);

	d.recording[0] = side("gone", 3);
	d.recording[1] = side("new", 4);
	assert_int_equal(render_by_name("html")->write(d.recording[0], f, &opt), 0);
	fclose(f);
	profile_free(d.recording[0]);
	profile_free(d.recording[1]);
	return b;
}

static int64_t samples(struct profile *p)
{
	_cleanup_free_ struct profile_sum *sums = NULL;
	int64_t all = 0;
	size_t n;

	assert_int_equal(profile_sums(p, &sums, &n), 0);
	for (size_t i = 0; i < n; i++)
		all += sums[i].values[0];
	return all;
}

static void test_both(void **state)
{
	struct bytes b = page();
	struct profile *both[2] = {}, *one = NULL;

	assert_int_equal(read_two((const uint8_t *)b.s, b.n, both), 0);
	assert_int_equal(samples(both[0]), 3);
	assert_int_equal(samples(both[1]), 4);
	assert_int_equal(profile_meta(both[1])->duration_ns, 10ll * 1000000000);
	assert_int_equal(read_profile((const uint8_t *)b.s, b.n, &one), 0);
	assert_int_equal(samples(one), 7);
	profile_free(one);
	profile_free(both[0]);
	profile_free(both[1]);
	free(b.s);
}

static void refused(const char *s, size_t n)
{
	struct profile *both[2] = {};
	/* a copy of the exact size, so that the sanitizer notices a read past its end */
	char *copy = malloc(n + 1);

	memcpy(copy, s, n);
	assert_true(read_two((const uint8_t *)copy, n, both) < 0);
	assert_true(*err_msg());
	assert_null(both[0]);
	free(copy);
}

static void test_broken(void **state)
{
	struct bytes b = page();
	char *after = strstr(b.s, "id=\"krait-after\">");

	assert_non_null(after);
	for (size_t cut = 0; cut < 400; cut += 7)
		refused(b.s, (size_t)(after - b.s) + cut / 4);
	refused(b.s, b.n / 2);
	refused(b.s, 0);
	after[strlen("id=\"krait-after\">") + 5] = '\1';
	refused(b.s, b.n);
	memcpy(after, "id=\"krait-other\">", strlen("id=\"krait-other\">"));
	refused(b.s, b.n);
	free(b.s);
}

/* Reads the source text from a page that contains @base64. */
static int take(const char *base64, struct str *ret)
{
	_cleanup_str_ struct str page = {};

	str_addf(&page, "<p>%s\n%s</script>", EMBEDDED_SOURCE_AFTER, base64);
	str_clear(ret);
	return source_take(page.s, page.n, EMBEDDED_SOURCE_AFTER, ret);
}

static void test_source(void **state)
{
	_cleanup_str_ struct str text = {};
	_cleanup_free_ char *bomb = NULL;
	char spaces[1 << 16];
	size_t n;
	FILE *f = open_memstream(&bomb, &n), *encoder = base64_encoder(f),
	     *zip = gzip_encoder(encoder);

	(void)state;
	assert_int_equal(take("W10=", &text), 0);
	assert_string_equal(str_cstr(&text), "[]");
	str_clear(&text);
	assert_int_equal(source_take("<p>", 3, EMBEDDED_SOURCE_AFTER, &text), 0);
	assert_int_equal(text.n, 0);
	assert_int_equal(take("W1%=", &text), -EINVAL);
	assert_int_equal(take("H4sIAAAA", &text), -EINVAL);
	assert_non_null(strstr(err_msg(), "source text in the page"));
	memset(spaces, ' ', sizeof(spaces));
	for (int i = 0; i < 1200; i++)
		fwrite(spaces, 1, sizeof(spaces), zip);
	assert_int_equal(fclose(zip) | fclose(encoder) | fclose(f), 0);
	assert_int_equal(take(bomb, &text), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
