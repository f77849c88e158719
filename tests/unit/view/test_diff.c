/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the verdicts on differences, with made-up numbers, and the thresholds of --fail-if. */
#include "render_profile.h"

#include <math.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/diff/diff.h"
#include "view/compare/noise.h"

/*
 * Fills a row. Each time block costs @cost on side A, and @factor times as much on side B. @jitter:
 * how much single blocks differ from that.
 */
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

static void judge_per(struct noise_row *rows, size_t n, bool per_time)
{
	struct noise noise = {.rows = rows, .n = n, .per = {1e6, 1e6}, .per_time = per_time};

	for (size_t r = 0; r < n; r++)
		for (int side = 0; side < 2; side++) {
			for (int i = 0; i < NOISE_BLOCKS; i++)
				noise.all[side][i] += rows[r].in[side][i];
			noise.sum[side] += rows[r].sum[side];
		}
	assert_int_equal(noise_judge(&noise), 0);
}

static void judge(struct noise_row *rows, size_t n)
{
	judge_per(rows, n, false);
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

/* A function has all its cost in one time block of one side: that can be chance. */
static void test_burst(void **state)
{
	struct noise_row rows[2] = {};

	fill(&rows[0], 100, 1, 0.3, 1);
	rows[1].in[1][7] = rows[1].sum[1] = 900;
	judge(rows, 2);
	assert_false(rows[1].value_changed);
}

/*
 * All costs are half as large on side B, because the machine was busy during side A or all work got
 * cheaper. No function's share has changed.
 */
static void test_busy(void **state)
{
	for (int per_time = 0; per_time < 2; per_time++) {
		struct noise_row rows[4] = {};

		for (unsigned i = 0; i < 4; i++)
			fill(&rows[i], 100, 0.5, 0.3, i + 1);
		judge_per(rows, 4, per_time);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(rows[i].value_changed, !per_time);
			assert_false(rows[i].share_changed);
		}
	}
}

/*
 * Within a run, time blocks don't differ, but runs do: at 20 %, a difference of 2 points can be
 * chance, but one of 4 points can't.
 */
static void test_runs(void **state)
{
	struct noise_row rows[5] = {};

	for (unsigned i = 0; i < 5; i++)
		fill(&rows[i], 200, i ? 1 : 1.14, 0.01, i + 1);
	judge(rows, 5);
	assert_false(rows[0].share_changed);
	memset(rows, 0, sizeof(rows));
	for (unsigned i = 0; i < 5; i++)
		fill(&rows[i], 200, i ? 1 : 1.32, 0.01, i + 1);
	judge(rows, 5);
	assert_true(rows[0].share_changed);
}

static void add_cost(struct noise_row *row, int side, int block, double cost)
{
	row->in[side][block] += cost;
	row->sum[side] += cost;
}

/*
 * A task runs in every fourth time block, at a cost of 800. So the task's share of a whole run is
 * known only roughly, but the division of its cost between two functions (rows) is known exactly.
 * On side A, the share @part_before of the task's cost is the first row's. On side B that share is
 * @part_after, and the rest costs @dearer times as much.
 */
static void make_tasks(struct noise_row *rows, double part_before, double part_after, double dearer)
{
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < NOISE_BLOCKS; i++) {
			double task = i % 4 ? 0 : 800, part = side ? part_after : part_before;

			add_cost(&rows[0], side, i, part * task);
			add_cost(&rows[1], side, i, (1 - part) * task * (side ? dearer : 1));
			add_cost(&rows[2], side, i, 200 + i % 3);
		}
}

static void test_tasks(void **state)
{
	struct noise_row rows[3] = {}, same[3] = {}, other[3] = {};

	make_tasks(rows, 0.25, 0.375, 1);
	judge(rows, 3);
	assert_true(rows[0].share_changed);
	assert_false(rows[2].share_changed);
	make_tasks(same, 0.25, 0.26, 1);
	judge(same, 3);
	assert_false(same[0].share_changed || same[1].share_changed || same[2].share_changed);
	make_tasks(other, 0.25, 0.25, 1.4);
	judge(other, 3);
	assert_false(other[0].share_changed);
}

/*
 * Both runs do other work in their first quarter. That work must not hide that a function went from
 * 3 % to 6 % in the other three quarters.
 */
static void test_start(void **state)
{
	struct noise_row rows[3] = {};

	for (int side = 0; side < 2; side++)
		for (int i = 0; i < NOISE_BLOCKS; i++) {
			double leaf = (side ? 60 : 30) + i % 3;

			add_cost(&rows[0], side, i, i < 12 ? 0 : leaf);
			add_cost(&rows[1], side, i, i < 12 ? 0 : 1000 - leaf);
			add_cost(&rows[2], side, i, i < 12 ? 1000 : 0);
		}
	judge(rows, 3);
	assert_true(rows[0].share_changed);
	assert_false(rows[2].share_changed);
}

/*
 * Returns the factor by which noise_speed() says that all costs changed. Each of the @n functions
 * has 1,000 samples on side A, and @factors times as many on side B. @apart: the result of
 * noise_apart() for each.
 */
static double speed_of(const double *factors, size_t n, int *apart)
{
	struct noise_row rows[8] = {};
	struct noise noise = {.rows = rows, .n = n, .per = {1, 1}, .sample = {1, 1}};
	double speed;

	for (size_t i = 0; i < n; i++) {
		rows[i].sum[0] = 1000;
		rows[i].sum[1] = 1000 * factors[i];
		for (int side = 0; side < 2; side++)
			noise.sum[side] += rows[i].sum[side];
	}
	speed = noise_speed(&noise, rows, n);
	for (size_t i = 0; i < n; i++)
		apart[i] = noise_apart(&noise, &rows[i], speed);
	return exp(speed);
}

/*
 * Two small functions cost more than twice as much as before (one frees what the other makes). They
 * must not outweigh two large functions that cost a little less. The numbers are samples of real
 * recordings; the program itself had measured what each function took.
 */
static void test_speed_of_large(void **state)
{
	static const double sums[4][2] = {{6480, 6054}, {2706, 2367}, {1368, 3160}, {557, 1251}};
	struct noise_row rows[4] = {};
	struct noise noise = {.rows = rows, .n = 4, .per = {1, 1}, .sample = {1, 1}};
	double speed;

	for (size_t i = 0; i < 4; i++)
		for (int side = 0; side < 2; side++) {
			rows[i].sum[side] = sums[i][side];
			noise.sum[side] += sums[i][side];
		}
	speed = noise_speed(&noise, rows, 4);
	assert_in_range(100 * exp(speed), 86, 100);
	assert_int_equal(noise_apart(&noise, &rows[2], speed), 1);
	assert_int_equal(noise_apart(&noise, &rows[0], speed), 0);
}

/*
 * A change that all functions share is the machine's. A change of one function is its own, even if
 * it is larger.
 */
static void test_speed(void **state)
{
	static const struct {
		size_t n;
		double factors[4], speed;
		int apart[4];
	} of[] = {
		{4, {1.2, 1.2, 1.2, 1.2}, 1.2, {}},
		{4, {0.7, 0.7, 0.7, 0.7}, 0.7, {}},
		{2, {1, 1.5}, 1, {0, 1}},
		{2, {1.5, 1}, 1, {1, 0}},
		{4, {1, 1, 6, 1}, 1, {0, 0, 1, 0}},
		{4, {0.8, 0.8, 0.8, 1.3}, 0.8, {0, 0, 0, 1}},
		{4, {0.8, 0.8, 0.8, 0.96}, 0.8, {0, 0, 0, 1}},
		{4, {1.5, 1.5, 1.5, 1.1}, 1.5, {0, 0, 0, -1}},
		{1, {1.5}, 1, {1}},
		{0, {}, 1, {}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		int apart[8] = {};

		assert_true(fabs(speed_of(of[i].factors, of[i].n, apart) - of[i].speed) < 1e-9);
		assert_memory_equal(apart, of[i].apart, sizeof(of[i].apart));
	}
}

/*
 * A slower machine doesn't slow all functions equally. If most take 1.45 times as long, one may
 * take 1.22 times as long, but none takes 2.5 times as long.
 */
static void test_response(void **state)
{
	static const double sums[4][2] = {{1000, 1220}, {1000, 1450}, {1000, 1400}, {200, 500}};
	struct noise_row rows[4] = {};
	struct noise noise = {
		.rows = rows, .n = 4, .per = {1, 1}, .sample = {.2, .2}, .runs = {5, 5}};
	double speed;

	for (size_t i = 0; i < 4; i++)
		for (int side = 0; side < 2; side++) {
			rows[i].sum[side] = sums[i][side];
			noise.sum[side] += sums[i][side];
		}
	speed = noise_speed(&noise, rows, 4);
	assert_in_range(100 * exp(speed), 135, 150);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(noise_apart(&noise, &rows[i], speed), i == 3);
}

/*
 * Two of three functions got a fifth cheaper. If runs of the same side also differ that much, the
 * machine was faster; otherwise the functions have changed.
 */
static void test_speed_of_runs(void **state)
{
	static const double sums[3][2] = {{1000, 800}, {1000, 790}, {1000, 1000}};
	static const struct noise_runs alike = {.squares = 0.001, .freedom = 8},
				       unlike = {.squares = 0.25, .freedom = 8};
	struct noise_row rows[3] = {};
	struct noise noise = {
		.rows = rows, .n = 3, .per = {1, 1}, .sample = {.2, .2}, .runs = {5, 5}};

	for (size_t i = 0; i < 3; i++)
		for (int side = 0; side < 2; side++) {
			rows[i].sum[side] = sums[i][side];
			noise.sum[side] += sums[i][side];
		}
	noise.speed_sd = noise_speed_sd(&alike);
	assert_true(noise_speed(&noise, rows, 3) == 0);
	noise.speed_sd = noise_speed_sd(&unlike);
	assert_in_range(100 * exp(noise_speed(&noise, rows, 3)), 78, 81);
}

/*
 * Two runs that cost 100 and 200 differ by log 2, so the sum of squared deviations is twice (log 2
 * / 2)^2. Samples without the label belong to no run.
 */
static void test_add_runs(void **state)
{
	static const struct test_frame frames[] = {{"f", "/a.py", 1}, {}};
	static const char *const first[] = {"run", "1", NULL}, *const second[] = {"run", "2", NULL};
	struct profile *p = test_profile(), *none = test_profile();
	struct noise_runs runs = {};

	test_sample_at(p, frames, first, 60, -1);
	test_sample_at(p, frames, first, 40, -1);
	test_sample_at(p, frames, second, 200, -1);
	test_sample_at(p, frames, NULL, 1000, -1);
	test_sample_at(none, frames, NULL, 1000, -1);
	assert_int_equal(comments_add(&profile_meta(p)->comments, "ended: 0, 2 runs"), 0);
	assert_int_equal(noise_add_runs(p, 1, &runs), 0);
	assert_int_equal(noise_add_runs(none, 1, &runs), 0);
	assert_true(runs.freedom == 1);
	assert_true(fabs(runs.squares - pow(log(2), 2) / 2) < 1e-9);
	assert_true(fabs(noise_speed_sd(&runs) - hypot(NOISE_SPEED, log(2))) < 1e-9);
	profile_free(p);
	profile_free(none);
}

/* A program's own label `run` marks parts of one run that do different work. */
static void test_no_runs(void **state)
{
	static const struct test_frame frames[] = {{"f", "/a.py", 1}, {}};
	static const char *const first[] = {"run", "fast", NULL}, *const second[] = {"run", "slow",
										     NULL};
	struct profile *p = test_profile();
	struct noise_runs runs = {};

	test_sample_at(p, frames, first, 10, -1);
	test_sample_at(p, frames, second, 1000, -1);
	assert_int_equal(noise_add_runs(p, 1, &runs), 0);
	assert_true(runs.freedom == 0);
	assert_int_equal(comments_add(&profile_meta(p)->comments, "ended: 0"), 0);
	assert_int_equal(noise_add_runs(p, 1, &runs), 0);
	assert_true(runs.freedom == 0);
	assert_true(fabs(noise_speed_sd(&runs) - NOISE_SPEED) < 1e-9);
	profile_free(p);
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
		{"self:a.f>+5%", "a.f", DIFF_SELF, false, false, 5},
		{"total:a.f.<locals>.<lambda>>+2.5points", "a.f.<locals>.<lambda>", DIFF_TOTAL,
		 false, true, 2.5},
		{"own:a.<module><-10%", "a.<module>", DIFF_SELF, true, false, -10},
		{"own:std::map<int>>1pt", "std::map<int>", DIFF_SELF, false, true, 1},
		{"own:/a|b/>5%", "/a|b/", DIFF_SELF, false, false, 5},
	};
	static const char *const bad[] = {"a.f>+5%",	  "own:>+5%",  "own:a.f>5",
					  "own:a.f",	  "own:a.f>%", "mine:a.f>+5%",
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
		cmocka_unit_test(test_noise),	 cmocka_unit_test(test_burst),
		cmocka_unit_test(test_busy),	 cmocka_unit_test(test_runs),
		cmocka_unit_test(test_tasks),	 cmocka_unit_test(test_start),
		cmocka_unit_test(test_speed),	 cmocka_unit_test(test_speed_of_large),
		cmocka_unit_test(test_response), cmocka_unit_test(test_speed_of_runs),
		cmocka_unit_test(test_add_runs), cmocka_unit_test(test_no_runs),
		cmocka_unit_test(test_nothing),	 cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
