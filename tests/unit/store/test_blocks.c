/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sealed segments of the agent's store: a block of samples for each service, and names that the
 * blocks share. Also stores with segments of format 1, and of format 2.
 */
#include "store_writer.h"

#include <sqlite3.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/internal.h"

/* number of samples in tests/unit/store/format-1, a store that an older krait wrote in format 1 */
#define FORMAT_1_SAMPLES 41

static void expect_samples(struct writer *w)
{
	struct profile *p = read_back(&all);

	assert_same_samples(w->p, p);
	profile_free(p);
}

/*
 * The samples of each service are a block. If one block is damaged, the samples of all other
 * services can still be read.
 */
static void test_services(void **state)
{
	const struct profile_label_text service = {"service", 7, "shop-1"};
	const struct store_query q = {BEGIN_MS, BEGIN_MS + 100000, &service, 1};
	struct profile *p;
	struct writer w;
	uint64_t n[4] = {};

	begin(&w, 21);
	for (unsigned i = 0; i < 400; i++) {
		struct profile_sample s = random_sample(w.p, &w.random);
		unsigned number = random_below(&w.random, 4);
		char name[16];

		snprintf(name, sizeof(name), "shop-%u", number);
		const struct profile_label l[] = {
			{profile_string(w.p, "service"), profile_string(w.p, name)},
			{profile_string(w.p, "pid"), random_text(w.p, &w.random, "", 9)},
		};
		s.labels = number ? profile_labels(w.p, l, 2) : 0;
		add_sample(&w, &s);
		n[number]++;
	}
	write_frame(&w);
	assert_int_equal(store_seal(w.s, w.place.segment), 0);
	expect_samples(&w);
	p = read_back(&q);
	assert_int_equal(profile_n_samples(p), n[1]);
	profile_free(p);
	sql("UPDATE block SET body = substr(body, 1, 90) WHERE service = 'shop-2'");
	p = read_back(&all);
	assert_int_equal(profile_n_samples(p), n[0] + n[1] + n[3]);
	assert_int_equal(profile_meta(p)->comments.n_warnings, 1);
	profile_free(p);
	/* a block's head also says whose block it is, so krait notices this change */
	sql("UPDATE block SET service = 'shop-1' WHERE service = 'shop-3'");
	p = read_back(&q);
	assert_int_equal(profile_n_samples(p), n[1]);
	assert_int_equal(profile_meta(p)->comments.n_warnings, 1);
	profile_free(p);
	end(&w);
}

/*
 * A second segment adds its new names to those of the first one. The segments of another agent
 * don't share names with these.
 */
static void test_names(void **state)
{
	struct writer w;
	int64_t epochs;

	begin(&w, 22);
	for (int i = 0; i < 6; i++) {
		add_samples(&w, 100);
		write_frame(&w);
		assert_int_equal(store_seal(w.s, w.place.segment), 0);
		end_segment(&w);
		if (i == 3) {
			store_close(w.s);
			w.s = open_store(getpid());
		}
		expect_samples(&w);
	}
	assert_int_equal(store_number(w.s, "SELECT count(DISTINCT id >> 20) FROM names", &epochs),
			 0);
	assert_int_equal(epochs, 2);
	end(&w);
}

/* Checks that a store of format 1 can be read, and that today's krait can add to it. */
static void expect_format_1(void)
{
	const struct store_query q = {0, INT64_MAX / 1000000, NULL, 0};
	struct profile *p = read_back(&q);

	assert_int_equal(profile_n_samples(p), FORMAT_1_SAMPLES);
	profile_free(p);
}

static void test_format_1(void **state)
{
	struct writer w;

	run("mkdir -m 700 %s; cp tests/unit/store/format-1/store.db %s", store_path(),
	    store_path());
	expect_format_1();
	begin(&w, 23);
	assert_int_equal(w.s->version, STORE_VERSION);
	expect_format_1();
	add_samples(&w, 10);
	write_frame(&w);
	assert_int_equal(store_seal(w.s, w.place.segment), 0);
	end(&w);
	struct profile *p = read_back(&(struct store_query){0, INT64_MAX / 1000000, NULL, 0});

	assert_int_equal(profile_n_samples(p), FORMAT_1_SAMPLES + 10);
	profile_free(p);
}

static int sum_up(void *arg, const struct profile_sample *s)
{
	int64_t *sums = arg;

	for (int i = 0; i < 3; i++)
		sums[i] += s->values[i];
	sums[3] += s->time_ns / (int64_t)NSEC_PER_MSEC;
	return 0;
}

/*
 * The values in tests/unit/store/format-2, and their times in ms, as a krait of format 2 read them.
 */
static const int64_t format_2[] = {202, 1515151500, 12524803687, 343400248376307};

static void expect_format_2(uint64_t more)
{
	const struct store_query q = {0, INT64_MAX / 1000000, NULL, 0};
	struct profile *p = read_back(&q);
	int64_t exact[4] = {};

	assert_int_equal(profile_n_samples(p), 202 + more);
	assert_int_equal(profile_each(p, sum_up, exact), 0);
	exact[3] += profile_meta(p)->time_ns / (int64_t)NSEC_PER_MSEC * exact[0];
	for (int i = 0; i < 4 && !more; i++)
		assert_int_equal(exact[i], format_2[i]);
	assert_true(more || profile_n_nodes(p) == 725);
	profile_free(p);
}

/*
 * Checks the sums of the stacks of functions, from sealed blocks and from frames (batches of
 * samples) that aren't sealed yet.
 */
static void expect_outline_2(void)
{
	const struct store_query q = {0, INT64_MAX / 1000000, NULL, 0, OUTLINE_SERVICES};
	struct profile *p = read_back(&q);
	int64_t sums[4] = {};

	assert_int_equal(profile_each(p, sum_up, sums), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sums[i], format_2[i]);
	profile_free(p);
}

static void test_format_2(void **state)
{
	struct writer w;

	run("mkdir -m 700 %s; cp tests/unit/store/format-2/store.db %s", store_path(),
	    store_path());
	expect_format_2(0);
	expect_outline_2();
	begin(&w, 24);
	assert_int_equal(w.s->version, STORE_VERSION);
	assert_int_equal(store_seal_rest(w.s), 0);
	expect_format_2(0);
	assert_int_equal(store_roll_up(w.s), 0);
	expect_format_2(0);
	add_samples(&w, 10);
	write_frame(&w);
	expect_format_2(10);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_services, empty),
		cmocka_unit_test_setup(test_names, empty),
		cmocka_unit_test_setup(test_format_1, empty),
		cmocka_unit_test_setup(test_format_2, empty),
	};

	return run_in_directory(tests);
}
