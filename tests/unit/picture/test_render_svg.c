/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the SVG pictures: their contents, byte by byte, and the recording that krait reads back
 * from them. If KRAIT_PICTURES=DIR is set, the pictures are left in DIR for
 * tests/golden/formats/svg.sh, which opens them in a browser.
 */
#include "render_draw.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/base64.h"
#include "format/common/embedded.h"
#include "picture/markup.h"

static struct bytes draw(struct profile *p, const struct render_options *opt, const char *name)
{
	return draw_as("svg", p, opt, name);
}

static void test_picture(void **state)
{
	struct profile *p = shares();
	struct bytes b = draw(p, &(struct render_options){0}, "shares.svg");

	assert_int_equal(occurrences(b.s, "<g class=\"b r\"><title>app.py"), 1);
	assert_non_null(strstr(b.s,
			       "<title>main\n/srv/app.py\n100.0 % of all, 100 ms, 100 samples\n"
			       "lines 10: 100.0 %</title>"));
	assert_non_null(strstr(b.s, "<title>b\n/srv/lib/b.py\n30.0 % of all, 30.0 ms, 30 samples; "
				    "itself 10.0 %\nlines 4: 66.7 %, 5: 33.3 %</title>"));
	assert_non_null(
		strstr(b.s, ">deflate<tspan class=\"f\" dx=\"7\">libz.so.1</tspan></text>"));
	assert_non_null(
		strstr(b.s, "id=\"numbers\" x=\"12\" y=\"48\">100 samples \xc2\xb7 100 ms CPU time "
			    "in 10.0 s \xc2\xb7 999 Hz \xc2\xb7 2023-11-14 22:13 UTC</text>"));
	assert_non_null(strstr(
		b.s,
		"\"value\":[100100100,100100100,30030030,30030030,20020020,25025025,15015015]"));
	free(b.s);
	profile_free(p);
}

/*
 * The stacks have frames of all kinds but Python. tests/golden/formats/svg.py knows their shares.
 */
static void test_kinds(void **state)
{
	struct profile *p = test_profile();
	struct bytes b;

	test_sample(p,
		    FRAMES(MAIN, {"ns::f", "/src/f.cc", 7, KIND_NATIVE, "_ZN2ns1fEv"},
			   {"", NULL, 0, KIND_NATIVE, .address = 0x1234}),
		    APP, 40);
	test_sample(p,
		    FRAMES(MAIN, {"core::g", NULL, 0, KIND_NATIVE, "_RNvC4core1g"},
			   {"", NULL, 0, KIND_NATIVE, .address = 0x5678}),
		    APP, 30);
	test_sample(p, FRAMES(MAIN, {"py::h:/srv/app.py", NULL, 0, KIND_JIT}), APP, 20);
	test_sample(p, FRAMES(MAIN, {"gc_collect_main", NULL, 0, KIND_GC}), APP, 10);
	b = draw(p, &(struct render_options){0}, "kinds.svg");
	assert_non_null(strstr(b.s,
			       "<title>ns::f\n/src/f.cc\nlibz.so.1, C++\n40.0 % of all, 40.0 ms, "
			       "40 samples\nlines 7: 100.0 %</title>"));
	assert_non_null(strstr(
		b.s,
		"<title>[libz.so.1+0x1234]\n/usr/lib/x86_64-linux-gnu/libz.so.1\n40.0 % of all"));
	assert_non_null(strstr(
		b.s,
		"<title>[libz.so.1+0x5678]\n/usr/lib/x86_64-linux-gnu/libz.so.1\n30.0 % of all"));
	assert_non_null(strstr(b.s, "<title>core::g\nlibz.so.1, Rust\n30.0 % of all"));
	assert_int_equal(occurrences(b.s, "<g class=\"b j\"><title>py::h:/srv/app.py\n[jit]\n"), 1);
	assert_int_equal(occurrences(b.s, "<g class=\"b g\"><title>gc_collect_main\n[gc]\n"), 1);
	assert_non_null(strstr(b.s, ">JIT code</text>"));
	free(b.s);
	profile_free(p);
}

/* The caller chooses which value the picture shows, and its title. */
static void test_options(void **state)
{
	struct profile *p = shares();
	const struct render_options opt = {.value = "samples", .title = "python app.py <&>"};
	struct bytes b = draw(p, &opt, "samples.svg");

	assert_non_null(strstr(b.s, "<title>main\n/srv/app.py\n100.0 % of all, 100 samples\n"));
	assert_non_null(strstr(b.s, "y=\"28\">python app.py &lt;&amp;&gt;</text>"));
	assert_non_null(strstr(b.s, "\"value\":[100,100,30,30,20,25,15]"));
	free(b.s);
	profile_free(p);
}

static void test_recording_comes_back(void **state)
{
	struct profile *p = shares();
	struct bytes b = draw(p, &(struct render_options){0}, NULL);

	assert_comes_back(&b, p);
	profile_free(p);
	free(b.s);
}

static int extract(const char *s, size_t n)
{
	/* a copy of the exact size, so that ASan notices a read past its end */
	_cleanup_free_ char *copy = n ? memcpy(malloc(n), s, n) : NULL;
	_cleanup_free_ uint8_t *out = NULL;
	size_t out_n;

	return embedded_extract(copy, n, &out, &out_n);
}

static void test_damaged_picture(void **state)
{
	static const char start[] = "<metadata id=\"krait-recording\">";
	struct profile *p = shares();
	struct bytes b = draw(p, &(struct render_options){0}, NULL);
	size_t at = strstr(b.s, start) - b.s + strlen(start);

	for (size_t n = 0; n < b.n && n < at + 500; n += n < at - 40 ? 97 : 1)
		assert_int_equal(extract(b.s, n), -EINVAL);
	assert_int_equal(extract(b.s, b.n), 0);
	b.s[at + 9] = '!';
	assert_int_equal(extract(b.s, b.n), -EINVAL);
	assert_non_null(strstr(err_msg(), "is damaged"));
	assert_int_equal(extract("<svg/>", 6), -EINVAL);
	assert_false(embedded_probe("<svg/>", 6));
	free(b.s);
	profile_free(p);
}

/*
 * The recorded program chooses names. No name may end an element, a script or the embedded data, or
 * make the XML invalid.
 */
static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"</title><script>alert(1)</script>",
		"]]></script><rect/>",
		"\"onload=\"alert(1)",
		"&amp;&#60;&lt;",
		"<metadata id=\"krait-recording\">AAAA</metadata>",
		"tab\tnewline\nescape\x1b[31m del\x7f",
		"\xff\xfe broken \xc3( \xed\xa0\x80 \xf4\x90\x80\x80",
		"\xef\xbf\xbe\xef\xbf\xbf not characters",
		("\xf0\x9f\x90\x8d snake \xe8\x9b\x87 \xd7\xa0\xd7\x97\xd7\xa9 \xe2\x80\xaeright "
		 "to left"),
		"\\u003cb\\\\\"",
		"__proto__",
		"",
	};
	struct profile *p = test_profile();
	const struct render_options opt = {.title = "\xff</title><script>alert(2)</script>"};
	struct bytes b;

	profile_meta(p)->values[1].unit = "</title><script>alert(3)</script>";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		test_sample(p, FRAMES({names[i], names[i], 1}),
			    LABELS("process", names[i], "pid", names[i]), 10);
	}
	b = draw(p, &opt, "hostile.svg");
	assert_null(strstr(b.s, "<script>alert"));
	assert_non_null(strstr(b.s, " &lt;/title&gt;&lt;script&gt;alert(3)&lt;/script&gt;"));
	assert_int_equal(occurrences(b.s, "<script>"), 1);
	assert_int_equal(occurrences(b.s, "<metadata "), 2);
	assert_int_equal(occurrences(b.s, "]]>"), 2);
	assert_int_equal(extract(b.s, b.n), 0);
	free(b.s);
	profile_free(p);
}

static void test_empty(void **state)
{
	struct profile *p = test_profile();
	struct bytes b = draw(p, &(struct render_options){0}, "empty.svg");

	assert_non_null(strstr(b.s, ">No samples. The recording is in this file.</text>"));
	assert_int_equal(extract(b.s, b.n), 0);
	free(b.s);
	profile_free(p);
}

/*
 * The profile has 40,000 distinct stacks, 800 frames deep. The picture has few boxes, and says how
 * much it leaves out.
 */
static void test_large(void **state)
{
	struct profile *p = test_profile();
	struct profile_sample s = {.time_ns = -1, .values = {1, 1001001}};
	uint32_t locations[100], stack[800];
	struct bytes b;
	unsigned r = 1;
	char name[32];

	for (size_t i = 0; i < ARRAY_SIZE(locations); i++) {
		snprintf(name, sizeof(name), "function_%zu", i);
		locations[i] = test_location(p, &(struct test_frame){name, "/srv/app.py", i});
	}
	for (size_t i = 0; i < 40000; i++) {
		size_t n = i % 1000 ? 10 : 800;

		for (size_t k = n; k--;) {
			r = r * 1103515245 + 12345;
			stack[k] = locations[(r >> 16) % (k > n - 3 ? 3 : 100)];
		}
		s.stack = profile_stack(p, stack, n);
		assert_int_equal(profile_add(p, &s), 0);
	}
	b = draw(p, &(struct render_options){0}, "large.svg");
	assert_in_range(occurrences(b.s, "<g class=\"b "), 1000, 20010);
	assert_non_null(strstr(b.s, " not drawn, together "));
	assert_in_range(b.n, 1, 16 << 20);
	free(b.s);
	profile_free(p);
}

static void test_deep(void **state)
{
	struct profile *p = test_profile();
	struct profile_sample s = {.time_ns = -1, .values = {1, 1001001}};
	uint32_t location = test_location(p, &(struct test_frame){"f", "/srv/app.py", 1});
	_cleanup_free_ uint32_t *stack = calloc(5000, sizeof(*stack));
	struct bytes b;

	for (size_t i = 0; i < 5000; i++)
		stack[i] = location;
	s.stack = profile_stack(p, stack, 5000);
	assert_int_equal(profile_add(p, &s), 0);
	b = draw(p, &(struct render_options){0}, "deep.svg");
	assert_non_null(
		strstr(b.s, ">3,001 boxes narrower than 0.0085 % or deeper than 2,000 not drawn, "
			    "together 100.0 % of all. "));
	free(b.s);
	profile_free(p);
}

static void test_roots(void **state)
{
	struct profile *p = test_profile();
	struct bytes b;

	test_sample(p, FRAMES(MAIN), LABELS("pid", "1", "process", "web"), 60);
	test_sample(p, FRAMES(MAIN), LABELS("pid", "2", "process", "web"), 30);
	test_sample(p, FRAMES(MAIN), LABELS("pid", "3", "process", "cron"), 10);
	b = draw(p, &(struct render_options){0}, "roots.svg");
	assert_non_null(strstr(b.s, "y=\"28\">3 processes</text>"));
	assert_non_null(strstr(b.s, "<g class=\"b r\"><title>all processes\n100.0 % of all"));
	assert_non_null(strstr(b.s, "<g class=\"b r\"><title>web\n90.0 % of all"));
	free(b.s);
	b = draw(p, &(struct render_options){.by = "process"}, NULL);
	assert_non_null(strstr(b.s, "<g class=\"b r\"><title>web (pid 2)\n30.0 % of all"));
	free(b.s);
	profile_free(p);
}

/* The same samples give the same picture, in whatever order they are added. */
static void test_stable(void **state)
{
	struct bytes b[2];

	for (int turn = 0; turn < 2; turn++) {
		struct profile *p = test_profile();

		for (int i = 0; i < 50; i++) {
			int k = turn ? 49 - i : i;
			char name[16];

			snprintf(name, sizeof(name), "f%d", k);
			test_sample(p, FRAMES({name, "/srv/app.py", k + 1}), NULL, 1 + k % 3);
		}
		b[turn] = draw(p, &(struct render_options){0}, NULL);
		profile_free(p);
		*strstr(b[turn].s, "<metadata id=\"krait-boxes\">") = '\0';
	}
	assert_string_equal(b[0].s, b[1].s);
	free(b[0].s);
	free(b[1].s);
}

/* Tests the examples of RFC 4648, section 10. */
static void test_base64(void **state)
{
	static const char *const vectors[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
	};
	static const char *const bad[] = {
		"Z", "Zg", "Zg=", "Zg===", "Z===", "=", "Zg==Zg==", "Zm9\x80"};
	uint8_t *out;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct bytes b = {};
		FILE *f = open_memstream(&b.s, &b.n), *e = base64_encoder(f);

		fputs(vectors[i][0], e);
		assert_int_equal(fclose(e), 0);
		fclose(f);
		assert_string_equal(b.s, vectors[i][1]);
		assert_int_equal(base64_decode(b.s, b.n, &out, &n), 0);
		assert_int_equal(n, strlen(vectors[i][0]));
		assert_memory_equal(out, vectors[i][0], n);
		free(out);
		free(b.s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &out, &n), -EBADMSG);
}

static void check_value(int64_t value, const char *unit, const char *want)
{
	_cleanup_str_ struct str b = {};

	markup_add_value(&b, value, unit);
	assert_string_equal(str_cstr(&b), want);
}

static void check_percent(double part, double whole, const char *want)
{
	_cleanup_str_ struct str b = {};

	markup_add_percent(&b, part, whole);
	assert_string_equal(str_cstr(&b), want);
}

static void test_numbers(void **state)
{
	check_value(999, "nanoseconds", "999 ns");
	check_value(1500, "nanoseconds", "1.50 \xc2\xb5s");
	check_value(12345678, "nanoseconds", "12.3 ms");
	check_value(999600000, "nanoseconds", "1.00 s");
	check_value(123456000000, "nanoseconds", "123 s");
	check_value(1234567890123456, "nanoseconds", "1,234,567 s");
	check_value(-1234567, "count", "-1,234,567");
	check_value(123, "cycles", "123 cycles");
	check_percent(1, 3, "33.3 %");
	check_percent(1, 2000, "0.050 %");
	check_percent(1, 100000, "0.0010 %");
	check_percent(0, 0, "0.0 %");
}

static void test_unwritable(void **state)
{
	struct profile *p = shares();
	FILE *full = fopen("/dev/full", "w");

	assert_int_equal(render_by_name("svg")->write(p, full, &(struct render_options){0}),
			 -ENOSPC);
	fclose(full);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_recording_comes_back),
		cmocka_unit_test(test_damaged_picture),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_stable),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_unwritable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
