/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests merging several profiles: values are merged by type, times by the wall clock; and labels.
 */
#include "render_profile.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/remake/merge.h"

struct seen {
	struct profile *p;
	int64_t time[8], values[8][PROFILE_MAX_VALUES];
	const char *version[8];
	size_t n;
};

static int see(void *arg, const struct profile_sample *s)
{
	struct seen *seen = arg;
	size_t n;
	const struct profile_label *l = profile_get_labels(seen->p, s->labels, &n);

	for (size_t i = 0; i < n; i++)
		if (streq(profile_get_string(seen->p, l[i].key), "version"))
			seen->version[seen->n] = profile_get_string(seen->p, l[i].value);
	seen->time[seen->n] = s->time_ns;
	memcpy(seen->values[seen->n++], s->values, sizeof(s->values));
	return 0;
}

static struct profile *made(int64_t start_ns, int64_t time_ns, int64_t count, const char *version)
{
	struct profile *p = test_profile();
	uint32_t at = test_location(p, &(struct test_frame){"f", "f.py", 1});
	struct profile_label l = {profile_string(p, "version"), profile_string(p, version)};
	struct profile_sample s = {.time_ns = time_ns, .values = {count, count * 1000}};

	profile_meta(p)->time_ns = start_ns;
	s.stack = profile_stack(p, &at, 1);
	s.labels = profile_labels(p, &l, 1);
	assert_int_equal(profile_add(p, &s), 0);
	return p;
}

static void test_times(void **state)
{
	struct profile *in[3] = {made(5000, 7, 1, "1"), made(2000, 9, 2, "2"), made(0, -1, 4, "3")};
	struct seen seen = {};

	profile_meta(in[0])->duration_ns = 100;
	profile_meta(in[1])->duration_ns = 100;
	assert_int_equal(profile_merge(in, 3, NULL, 0, &seen.p), 0);
	assert_int_equal(profile_each(seen.p, see, &seen), 0);
	assert_int_equal(seen.n, 3);
	assert_int_equal(profile_meta(seen.p)->time_ns, 2000);
	assert_true(profile_meta(seen.p)->duration_ns >= 3100);
	assert_int_equal(seen.time[0], 3007);
	assert_int_equal(seen.time[1], 9);
	assert_int_equal(seen.time[2], -1);
	assert_string_equal(seen.version[0], "1");
	assert_string_equal(seen.version[1], "2");
	assert_int_equal(seen.values[2][0], 4);
	assert_int_equal(seen.values[2][1], 4000);
	assert_int_equal(profile_n_stacks(seen.p), 1);
	for (size_t i = 0; i < 3; i++)
		profile_free(in[i]);
	profile_free(seen.p);
}

/*
 * Values are merged by their type, not by their position. A label that the merge adds replaces one
 * that the profile has.
 */
static void test_values_and_labels(void **state)
{
	struct profile *in[2] = {made(1, 1, 1, "1"), made(1, 1, 2, "2")};
	struct profile_label_text label = {"version", 7, "x"};
	struct seen seen = {};

	profile_meta(in[1])->values[0] = (struct profile_value_type){"off_cpu", "nanoseconds"};
	assert_int_equal(profile_merge(in, 2, &label, 1, &seen.p), 0);
	assert_int_equal(profile_each(seen.p, see, &seen), 0);
	assert_int_equal(profile_meta(seen.p)->n_values, 3);
	assert_int_equal(profile_meta(seen.p)->default_value, 1);
	assert_int_equal(seen.values[0][0], 1);
	assert_int_equal(seen.values[1][0], 0);
	assert_int_equal(seen.values[1][1], 2000);
	assert_int_equal(seen.values[1][2], 2);
	assert_string_equal(seen.version[0], "x");
	profile_free(seen.p);

	for (size_t i = 0; i < 2; i++)
		profile_free(in[i]);
}

static void check_period(struct profile_value_type event, bool samples, bool same)
{
	struct profile *in[2] = {made(1, 1, 1, "1"), made(1, 1, 2, "2")}, *p = NULL;
	struct profile_meta *m = profile_meta(in[1]);

	m->values[1] = m->period_type = event;
	if (!samples)
		m->values[0] = (struct profile_value_type){"objects", "count"};
	assert_int_equal(profile_merge(in, 2, NULL, 0, &p), 0);
	m = profile_meta(p);
	assert_string_equal(m->period_type.type, same ? "cpu" : "samples");
	assert_int_equal(m->period, same ? 1001001 : 1);
	for (unsigned v = 1; v < m->n_values; v++)
		assert_int_equal(profile_samples_are_of(m, v), same && v == 1);
	assert_true(profile_samples_are_of(m, 0));
	for (size_t i = 0; i < 2; i++)
		profile_free(in[i]);
	profile_free(p);
}

/*
 * If the "samples" of the profiles count different events, the merged "samples" are the samples of
 * no other value, and the period is one sample.
 */
static void test_period(void **state)
{
	check_period((struct profile_value_type){"cpu", "nanoseconds"}, true, true);
	check_period((struct profile_value_type){"page-faults", "count"}, true, false);
	check_period((struct profile_value_type){"space", "bytes"}, false, true);
}

/*
 * Adds @n values to the two that the first profile has. Checks whether the merge takes them all
 * (@fits) or refuses them.
 */
static void check_many_values(unsigned n, bool fits)
{
	static const char *const types[] = {"a", "b", "c", "d", "e", "f", "g", "h",
					    "i", "j", "k", "l", "m", "n", "o"};
	struct profile *in[2] = {made(1, 1, 1, "1"), made(1, 1, 2, "2")};
	struct seen seen = {};

	for (unsigned i = 0; i < n; i++)
		profile_meta(in[1])->values[i] = (struct profile_value_type){types[i], "count"};
	profile_meta(in[1])->n_values = n;
	assert_int_equal(profile_merge(in, 2, NULL, 0, &seen.p), fits ? 0 : -E2BIG);
	if (fits) {
		assert_int_equal(profile_each(seen.p, see, &seen), 0);
		assert_int_equal(seen.values[0][1], 1000);
		assert_int_equal(seen.values[1][1], 0);
		assert_int_equal(seen.values[1][2], 2);
		assert_int_equal(seen.values[1][3], 2000);
		profile_free(seen.p);
	} else {
		assert_non_null(strstr(err_msg(), "more than 16 kinds of values"));
	}
	for (size_t i = 0; i < 2; i++)
		profile_free(in[i]);
}

static void test_many_values(void **state)
{
	check_many_values(14, true);
	check_many_values(15, false);
}

/*
 * A profile has two values of the same type: they stay two values. Another profile has one value of
 * that type: it is added to the first of the two.
 */
static void test_type_twice(void **state)
{
	struct profile *in[3] = {made(1, 1, 1, "1"), made(1, 1, 2, "2"), made(1, 1, 4, "3")};
	const struct profile_value_type cpu = profile_meta(in[0])->values[1];
	struct seen seen = {};

	profile_meta(in[0])->values[0] = profile_meta(in[1])->values[0] = cpu;
	profile_meta(in[0])->default_value = profile_meta(in[1])->default_value = 0;
	assert_int_equal(profile_merge(in, 3, NULL, 0, &seen.p), 0);
	assert_int_equal(profile_each(seen.p, see, &seen), 0);
	assert_int_equal(profile_meta(seen.p)->n_values, 3);
	assert_int_equal(profile_meta(seen.p)->default_value, 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(seen.values[i][0], i + 1);
		assert_int_equal(seen.values[i][1], 1000 * (i + 1));
		assert_int_equal(seen.values[i][2], 0);
	}
	assert_int_equal(seen.values[2][0], 4000);
	assert_int_equal(seen.values[2][1], 0);
	assert_int_equal(seen.values[2][2], 4);
	for (size_t i = 0; i < 3; i++)
		profile_free(in[i]);
	profile_free(seen.p);
}

static const char *merged_end(const char *a, const char *b, size_t *n_lines)
{
	static char text[64];
	struct profile *in[2] = {made(1, 1, 1, "1"), made(1, 1, 2, "2")}, *p = NULL;

	profile_add_comment(in[0], "ended", a);
	profile_add_comment(in[1], "ended", b);
	profile_add_comment(in[1], "note", "x");
	assert_int_equal(profile_merge(in, 2, NULL, 0, &p), 0);
	*n_lines = profile_meta(p)->comments.list.n;
	snprintf(text, sizeof(text), "%s", profile_meta(p)->comments.list.v[0]);
	for (size_t i = 0; i < 2; i++)
		profile_free(in[i]);
	profile_free(p);
	return text;
}

/*
 * If all recordings are of whole runs, one comment says how many runs they are. Otherwise a comment
 * says that some aren't, and each recording's own comment stays.
 */
static void test_runs(void **state)
{
	size_t n;

	assert_string_equal(merged_end("0", "0", &n), "ended: 0, 2 runs");
	assert_int_equal(n, 2);
	assert_string_equal(merged_end("0, 40 runs", "0", &n), "ended: 0, 41 runs");
	assert_string_equal(merged_end("0", "1", &n),
			    "ended: not every merged recording ended with 0");
	assert_int_equal(n, 4);
	assert_string_equal(merged_end("0", NULL, &n),
			    "ended: not every merged recording ended with 0");
	assert_string_equal(merged_end(NULL, NULL, &n), "note: x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),	    cmocka_unit_test(test_values_and_labels),
		cmocka_unit_test(test_many_values), cmocka_unit_test(test_type_twice),
		cmocka_unit_test(test_runs),	    cmocka_unit_test(test_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
