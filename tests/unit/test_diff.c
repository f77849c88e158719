/* SPDX-License-Identifier: BSD-2-Clause */
/* Verdicts on numbers made here, and the limits of --fail-if. */
#include "render_profile.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/diff.h"
#include "view/noise.h"

/* Every block of both sides costs the same but for @jitter, B @factor times A. */
static void fill(struct noise_row *row, double cost, double factor, double jitter, unsigned seed)
{
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < NOISE_BLOCKS; i++) {
			seed = seed * 1103515245 + 12345;
			row->in[side][i] = cost * (side ? factor : 1) *
					   (1 + jitter * ((seed >> 16) % 1000 / 500.0 - 1));
			row->sum[side] += row->in[side][i];
		}
}

static void judge(struct noise_row *rows, size_t n)
{
	struct noise noise = {.rows = rows, .n = n, .per = {1e6, 1e6}};

	for (size_t r = 0; r < n; r++)
		for (int side = 0; side < 2; side++) {
			for (int i = 0; i < NOISE_BLOCKS; i++)
				noise.all[side][i] += rows[r].in[side][i];
			noise.sum[side] += rows[r].sum[side];
		}
	assert_int_equal(noise_judge(&noise), 0);
}

static void test_noise(void **state)
{
	struct noise_row rows[4] = {};

	fill(&rows[0], 100, 1, 0.5, 1);
	fill(&rows[1], 100, 1.5, 0.5, 2);
	fill(&rows[2], 100, 1, 0.5, 3);
	fill(&rows[3], 100, 1.01, 0.5, 4);
	judge(rows, 4);
	assert_false(rows[0].value_changed);
	assert_true(rows[1].value_changed && rows[1].share_changed);
	assert_false(rows[2].value_changed);
	assert_false(rows[3].value_changed);
}

/* All in one block, once on either side: chance can do that. */
static void test_burst(void **state)
{
	struct noise_row rows[2] = {};

	fill(&rows[0], 100, 1, 0.3, 1);
	rows[1].in[1][7] = rows[1].sum[1] = 900;
	judge(rows, 2);
	assert_false(rows[1].value_changed);
}

static void test_nothing(void **state)
{
	struct noise_row rows[1] = {};

	judge(rows, 1);
	assert_false(rows[0].value_changed || rows[0].share_changed);
	judge(NULL, 0);
}

static void test_limits(void **state)
{
	static const struct {
		const char *text, *name;
		enum diff_what what;
		bool less, points;
		double limit;
	} good[] = {
		{"own:a.f>+5%", "a.f", DIFF_SELF, false, false, 5},
		{"total:a.f.<locals>.<lambda>>+2.5points", "a.f.<locals>.<lambda>", DIFF_TOTAL,
		 false, true, 2.5},
		{"own:a.<module><-10%", "a.<module>", DIFF_SELF, true, false, -10},
		{"own:std::map<int>>1pt", "std::map<int>", DIFF_SELF, false, true, 1},
		{"own:/a|b/>5%", "/a|b/", DIFF_SELF, false, false, 5},
	};
	static const char *const bad[] = {"a.f>+5%",	  "own:>+5%",  "own:a.f>5",
					  "own:a.f",	  "own:a.f>%", "self:a.f>+5%",
					  "own:a.f>+5%%", "",	       "own:/(/>5%"};
	struct fail_rule r;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(fail_rule_parse(good[i].text, &r), 0);
		assert_string_equal(r.name, good[i].name);
		assert_int_equal(r.what, good[i].what);
		assert_int_equal(r.less, good[i].less);
		assert_int_equal(r.points, good[i].points);
		assert_true(r.limit == good[i].limit);
		fail_rule_fini(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(fail_rule_parse(bad[i], &r), -EINVAL);
		fail_rule_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
