/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Condensing a profile (summing up what is rare in it) keeps the functions with a large share of
 * any of the profile's values, whatever the values' units.
 */
#include "render_profile.h"

#include "base/cleanup.h"
#include "base/text/str.h"
#include "profile/remake/condense.h"

#define RARE "[rare code]"

/* Makes a profile with @n_values values: "samples", "cpu", and more. */
static struct profile *several(unsigned n_values)
{
	static const char *const types[PROFILE_MAX_VALUES] = {
		[2] = "v2",   [3] = "v3",   [4] = "v4",	  [5] = "v5",	[6] = "v6",
		[7] = "v7",   [8] = "v8",   [9] = "v9",	  [10] = "v10", [11] = "v11",
		[12] = "v12", [13] = "v13", [14] = "v14", [15] = "v15"};
	struct profile *p = test_profile();
	struct profile_meta *m = profile_meta(p);

	for (unsigned v = m->n_values; v < n_values; v++)
		m->values[v] = (struct profile_value_type){types[v], "count"};
	m->n_values = n_values;
	return p;
}

/* Adds a sample of function @name that has @value in the value number @type. */
static void add(struct profile *p, const char *name, unsigned type, int64_t value)
{
	uint32_t at = test_location(p, &(struct test_frame){name, "f.py", 1});
	struct profile_sample s = {.time_ns = -1, .values = {type == 1}};

	s.values[type] = value;
	s.stack = profile_stack(p, &at, 1);
	assert_int_equal(profile_add(p, &s), 0);
}

static void condense(struct profile *p, size_t keep)
{
	_cleanup_(sums_fini) struct sums none, all;
	const struct sums *const sums[] = {&all};
	struct profile_sum *of = NULL;
	struct condense c;
	size_t n = 0;

	sums_init(&none, profile_meta(p)->n_values);
	sums_init(&all, profile_meta(p)->n_values);
	assert_int_equal(profile_sums(p, &of, &n), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			sums_add(&all, &(struct sums_key){of[i].stack, 0, -1}, of[i].values), 0);
	free(of);
	assert_int_equal(condense_begin(&c, p, &none, sums, 1, keep), 0);
	assert_int_equal(condense_end(&c, 0), 0);
}

/* Returns the sum of value number @type over stacks whose innermost function is @name. */
static int64_t value_in(struct profile *p, const char *name, unsigned type)
{
	struct profile_sum *sums = NULL;
	size_t n = 0, depth;
	int64_t sum = 0;

	assert_int_equal(profile_sums(p, &sums, &n), 0);
	for (size_t i = 0; i < n; i++) {
		const uint32_t *stack = profile_get_stack(p, sums[i].stack, &depth);
		uint32_t f = profile_get_location(p, stack[0])->function;

		if (streq(profile_get_string(p, profile_get_function(p, f)->name), name))
			sum += sums[i].values[type];
	}
	free(sums);
	return sum;
}

/*
 * A value whose sum is 900 context switches counts as much as one of billions of ns: the function
 * that has 890 of these switches is kept.
 */
static void test_small_numbers(void **state)
{
	struct profile *p = several(3);
	char name[16];

	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		add(p, name, 1, (int64_t)i * NSEC_PER_SEC);
	}
	add(p, "sleeps", 2, 890);
	add(p, "seldom", 2, 10);
	condense(p, 10);
	assert_int_equal(value_in(p, "sleeps", 2), 890);
	assert_int_equal(value_in(p, RARE, 2), 10);
	for (int i = 32; i <= 40; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(value_in(p, name, 1), (int64_t)i * NSEC_PER_SEC);
	}
	assert_int_equal(value_in(p, "f31", 1), 0);
	assert_int_equal(value_in(p, RARE, 1), 31 * 32 / 2 * (int64_t)NSEC_PER_SEC);
	profile_free(p);
}

/*
 * In a profile with one event, the functions with the largest values are kept. Of two functions
 * with equal values, the later one is kept.
 */
static void test_one_event(void **state)
{
	struct profile *p = several(2);

	add(p, "first", 1, 1001001);
	add(p, "second", 1, 1001001);
	add(p, "third", 1, 1001002);
	condense(p, 2);
	assert_int_equal(value_in(p, "first", 1), 0);
	assert_int_equal(value_in(p, "second", 1), 1001001);
	assert_int_equal(value_in(p, "third", 1), 1001002);
	profile_free(p);
}

/*
 * The profile has as many values as possible, each as large as possible. Their weights must be
 * added without an overflow (UBSan).
 */
static void test_large_numbers(void **state)
{
	struct profile *p = several(PROFILE_MAX_VALUES);

	for (unsigned v = 1; v < PROFILE_MAX_VALUES; v++) {
		add(p, "much", v, INT64_MAX / 4 * 3);
		add(p, "some", v, INT64_MAX / 8);
		add(p, "little", v, 1);
	}
	condense(p, 2);
	assert_int_equal(value_in(p, "much", 7), INT64_MAX / 4 * 3);
	assert_int_equal(value_in(p, "some", 7), INT64_MAX / 8);
	assert_int_equal(value_in(p, RARE, 7), 1);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_numbers),
		cmocka_unit_test(test_one_event),
		cmocka_unit_test(test_large_numbers),
	};

	return cmocka_run_group_tests_name("condense", tests, NULL, NULL);
}
