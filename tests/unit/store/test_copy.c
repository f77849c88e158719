/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies a window of a store into another store, which then has the window's samples. Nothing is
 * copied into a store that isn't empty.
 */
#include "store_writer.h"

#include "base/cleanup.h"
#include "store/internal.h"

#define SEGMENTS    5
#define SEGMENT_MS  10000
#define FRAME_MS    5000
#define PER_FRAME   100
#define PER_SEGMENT (2 * PER_FRAME)
/* number of samples in tests/unit/store/format-1 and format-2, which older kraits wrote */
#define FORMAT_1_SAMPLES 41
#define FORMAT_2_SAMPLES 202

static const char *copy_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/copy", dir);
	return path;
}

static int empty_both(void **state)
{
	run("rm -rf %s %s", store_path(), copy_path());
	return 0;
}

static int copy(int64_t since_ms, int64_t until_ms, struct store_facts *facts)
{
	struct store *s = open_store(0);
	int r = store_copy(s, copy_path(), since_ms, until_ms, facts);

	store_close(s);
	return r;
}

/* Writes a frame with samples of CPU time from @from to @from + FRAME_MS. */
static void write_part(struct writer *w, int64_t from)
{
	for (unsigned k = 0; k < PER_FRAME; k++) {
		struct profile_sample s = random_sample(w->p, &w->random);

		s.time_ns = (from + random_below(&w->random, FRAME_MS)) * (int64_t)NSEC_PER_MSEC;
		s.values[1] = 10101010;
		s.values[2] = 0;
		add_sample(w, &s);
	}
	w->place.first_ms = BEGIN_MS + from;
	write_frame(w);
}

/*
 * Writes segments of frames (batches of samples), and seals the first three segments: turns their
 * frames into blocks.
 */
static void write_segments(struct writer *w)
{
	begin(w, 5);
	for (unsigned i = 0; i < SEGMENTS; i++) {
		write_part(w, i * SEGMENT_MS);
		write_part(w, i * SEGMENT_MS + FRAME_MS);
		if (i < 3)
			assert_int_equal(store_seal(w->s, w->place.segment), 0);
		end_segment(w);
	}
	sql("INSERT INTO pin VALUES (1, 1700000011000, 1700000012000, 1, 'mark', 'in it')");
	sql("INSERT INTO pin VALUES (2, 1700000001000, 1700000002000, 1, 'mark', 'before it')");
}

static void expect_window(int64_t since, int64_t until, unsigned segments)
{
	const struct store_query q = {BEGIN_MS + since, BEGIN_MS + until, NULL, 0};
	struct store_facts facts;
	struct profile *p, *want;

	run("rm -rf %s", copy_path());
	assert_int_equal(copy(q.since_ms, q.until_ms, &facts), 0);
	assert_int_equal(facts.samples, segments * PER_SEGMENT);
	p = read_at(copy_path(), &q);
	want = read_back(&q);
	assert_same_samples(want, p);
	assert_int_equal(profile_meta(p)->comments.n_warnings, 0);
	profile_free(p);
	profile_free(want);
	p = read_at(copy_path(), &all);
	assert_int_equal(profile_n_samples(p), facts.samples);
	profile_free(p);
}

static void test_window(void **state)
{
	_cleanup_(pins_fini) struct pins pins = {};
	struct store_facts facts;
	struct store *s = NULL;
	struct writer w;

	write_segments(&w);
	expect_window(0, SEGMENTS * SEGMENT_MS, SEGMENTS);
	expect_window(40000, 50000, 1); /* frames alone */
	/* this frame (batch of samples) can be read only with the one before it */
	expect_window(46000, 50000, 1);
	expect_window(15000, 34000, 3); /* blocks and frames */
	run("rm -rf %s", copy_path());
	assert_int_equal(copy(BEGIN_MS + 60000, BEGIN_MS + 70000, &facts), 0);
	assert_int_equal(facts.samples, 0);
	expect_window(12000, 13000, 1);
	s = open_store_at(copy_path(), 0);
	assert_int_equal(store_read_pins(s, &pins), 0);
	assert_int_equal(pins.list.n, 0);
	store_close(s);
	expect_window(11000, 13000, 1);
	s = open_store_at(copy_path(), 0);
	assert_int_equal(store_read_pins(s, &pins), 0);
	assert_int_equal(pins.list.n, 1);
	assert_string_equal(pins.list.v[0].words, "in it");
	store_close(s);
	end(&w);
}

static void test_refused(void **state)
{
	struct store_facts facts;
	struct profile *p;
	struct writer w;

	write_segments(&w);
	assert_int_equal(copy(BEGIN_MS, BEGIN_MS + SEGMENT_MS, &facts), 0);
	assert_int_equal(copy(BEGIN_MS, BEGIN_MS + 2 * SEGMENT_MS, &facts), -EEXIST);
	assert_non_null(strstr(err_msg(), "has a store already"));
	p = read_at(copy_path(), &all);
	assert_int_equal(profile_n_samples(p), PER_SEGMENT);
	profile_free(p);
	/* the agent that writes this store has locked it */
	struct store *s = open_store(0);
	assert_int_equal(store_copy(s, store_path(), 0, INT64_MAX, &facts), -EBUSY);
	store_close(s);
	end(&w);
}

static void expect_format(const char *format, uint64_t samples)
{
	const struct store_query ever = {0, INT64_MAX / 1000000, NULL, 0};
	struct store_facts facts;
	struct profile *p;

	(void)empty_both(NULL);
	run("mkdir -m 700 %s; cp tests/unit/store/%s/store.db %s", store_path(), format,
	    store_path());
	assert_int_equal(copy(0, ever.until_ms, &facts), 0);
	p = read_at(copy_path(), &ever);
	assert_int_equal(profile_n_samples(p), samples);
	profile_free(p);
}

static void test_old_formats(void **state)
{
	expect_format("format-1", FORMAT_1_SAMPLES);
	expect_format("format-2", FORMAT_2_SAMPLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_window, empty_both),
		cmocka_unit_test_setup(test_refused, empty_both),
		cmocka_unit_test_setup(test_old_formats, empty_both),
	};

	return run_in_directory(tests);
}
