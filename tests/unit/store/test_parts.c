/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts (the sums of one segment in a window of ten minutes, which live until the trees of ten
 * minutes are made): their names go when they go, and neither errors, changed clocks nor damaged
 * rows leave any of them behind, or keep the trees from being made.
 */
#include "store_writer.h"

#include <unistd.h>

#include "base/system/log.h"
#include "store/internal.h"

#define STEP STORE_TEN_MINUTES_MS
#define NEW  150 /* functions of a segment that no other segment has */

static uint32_t stack_of(struct writer *w, const char *name)
{
	struct profile_mapping m = {.name = profile_string(w->p, "[python 3.12]"),
				    .kind = KIND_PYTHON};
	struct profile_function f = {.name = profile_string(w->p, name)};
	struct profile_location l = {.mapping = profile_mapping(w->p, &m),
				     .function = profile_function(w->p, &f)};
	uint32_t frame = profile_location(w->p, &l);

	return profile_stack(w->p, &frame, 1);
}

static void add_one(struct writer *w, const char *name, int64_t ms, int64_t value)
{
	const struct profile_label service = {profile_string(w->p, "service"),
					      profile_string(w->p, "shop")};
	struct profile_sample s = {
		.stack = stack_of(w, name),
		.labels = profile_labels(w->p, &service, 1),
		.time_ns = ms * 1000000,
		.values = {value, value * 1000},
	};

	add_sample(w, &s);
}

/*
 * Makes a segment, and seals it. Its new functions have so little time that trees sum them up as
 * rare, and only parts have their names.
 */
static void seal_segment(struct writer *w, int64_t begin_ms)
{
	char name[64];

	for (int i = 0; i < NEW; i++) {
		snprintf(name, sizeof(name), "new_%u_%u_%d", w->random,
			 random_below(&w->random, 1u << 24), i);
		add_one(w, name, begin_ms + i, 1);
	}
	for (int i = 1; i < 10; i++)
		add_one(w, "often", begin_ms + i * STEP / 10, 1000000);
	write_frame(w);
	assert_int_equal(store_seal(w->s, w->place.segment), 0);
	end_segment(w);
}

static void add_segment(struct writer *w, int64_t begin_ms)
{
	seal_segment(w, begin_ms);
	assert_int_equal(store_roll_up(w->s), 0);
}

static int64_t number(struct writer *w, const char *words)
{
	int64_t n;

	assert_int_equal(store_number(w->s, words, &n), 0);
	return n;
}

static int64_t tens_end(struct writer *w)
{
	return number(w, "SELECT max(last_ms) FROM block WHERE tier = 1");
}

/* Checks that each row of names is used by a block, or is of an epoch that is being written. */
static void expect_used_names(struct writer *w)
{
	char words[256];

	snprintf(words, sizeof(words),
		 "SELECT count(*) FROM names WHERE id >> 20 NOT IN (SELECT epoch FROM block) AND "
		 "id >> 20 NOT IN (%llu, %llu, %llu)",
		 (unsigned long long)w->s->names.epoch, (unsigned long long)w->s->outline.epoch,
		 (unsigned long long)w->s->parts.epoch);
	assert_int_equal(number(w, words), 0);
}

/* A program that has new functions all the time: names that only parts have go with the parts. */
static void test_names(void **state)
{
	struct writer w;
	int64_t first = 0, bytes;

	begin(&w, 71);
	for (int i = 0; i < 40; i++) {
		add_segment(&w, i * STEP);
		expect_used_names(&w);
		bytes = number(&w, "SELECT sum(length(body)) FROM names WHERE id >> 20 NOT IN "
				   "(SELECT epoch FROM block WHERE tier = 0)");
		first = first ? first : bytes;
		/* those of the epoch's hour, and of the hour before while there are parts of it */
		assert_in_range(bytes, first / 2, 14 * first);
	}
	assert_true(number(&w, "SELECT count(*) FROM block WHERE tier = 2") > 4);
	/* an epoch isn't ended too early either */
	assert_in_range(w.s->parts.epoch, 5, 12);
	end(&w);
}

/* The names of the epoch that is being written stay while no part uses them. */
static void test_unused(void **state)
{
	char words[96];
	struct writer w;

	begin(&w, 78);
	add_segment(&w, 0);
	snprintf(words, sizeof(words), "SELECT count(*) FROM names WHERE id >> 20 = %llu",
		 (unsigned long long)w.s->parts.epoch);
	assert_int_equal(store_exec(w.s, "DELETE FROM block WHERE tier = 5", "remove"), 0);
	assert_int_equal(store_remove_names(w.s), 0);
	assert_int_equal(number(&w, words), 1);
	add_segment(&w, STEP);
	assert_int_equal(number(&w, words), 2);
	end(&w);
}

/* A new writer goes on, and names of the earlier writer's parts go with these too. */
static void test_next_writer(void **state)
{
	uint64_t segment;
	struct writer w;

	begin(&w, 72);
	for (int i = 0; i < 12; i++) {
		add_segment(&w, i * STEP);
		if (i % 3)
			continue;
		segment = w.place.segment;
		store_close(w.s);
		w.s = open_store(getpid());
		assert_int_equal(store_next_segment(w.s, &w.place.segment), 0);
		assert_int_equal(w.place.segment, segment);
	}
	expect_used_names(&w);
	end(&w);
}

/* When the store is full, the epochs of all names end whose names take much of it. */
static void test_large(void **state)
{
	struct writer w;

	begin(&w, 73);
	for (int i = 0; i < 4; i++)
		add_segment(&w, i * STEP);
	assert_int_equal(store_keep_to(w.s, STORE_LEAST_BYTES), 0);
	assert_true(w.s->names.epoch && w.s->outline.epoch && w.s->parts.epoch);
	assert_int_equal(store_keep_to(w.s, (12 << 20) + 3), 0);
	assert_false(w.s->names.epoch || w.s->outline.epoch || w.s->parts.epoch);
	add_segment(&w, 4 * STEP);
	expect_used_names(&w);
	end(&w);
}

static unsigned warned;

static void count_warnings(enum log_level level, const char *text)
{
	(void)text;
	warned += level <= LOG_WARN;
}

/*
 * The parts of a segment can't be written, because another row has the id of the first: the trees
 * are made nevertheless, and the parts later.
 */
static void test_failed(void **state)
{
	const struct log_sink sink = {.say = count_warnings}, none = {};
	const char *parts = "SELECT count(*) FROM block WHERE tier = 5 AND " STORE_PART_SEGMENT
			    " = (SELECT max(id) >> 20 FROM block WHERE tier = 0)";
	char words[160];
	struct writer w;
	int64_t before;

	begin(&w, 74);
	for (int i = 0; i < 5; i++)
		add_segment(&w, i * STEP);
	before = tens_end(&w);
	snprintf(words, sizeof(words), "INSERT INTO block VALUES (%lld, 99, 1, 1, 1, '', 0, '')",
		 (long long)STORE_PART(w.place.segment, 0, 0));
	assert_int_equal(store_exec(w.s, words, "write"), 0);
	seal_segment(&w, 5 * STEP);
	log_set_sink(&sink);
	assert_int_equal(store_roll_up(w.s), 0);
	log_set_sink(&none);
	assert_int_equal(warned, 1);
	assert_int_equal(number(&w, parts), 0);
	assert_int_equal(tens_end(&w), before + STEP);
	assert_int_equal(store_exec(w.s, "DELETE FROM block WHERE tier = 99", "write"), 0);
	assert_int_equal(store_roll_up(w.s), 0);
	assert_int_equal(number(&w, parts), 2);
	expect_used_names(&w);
	end(&w);
}

/* Adds a segment that is earlier than trees of ten minutes: it gets no parts. */
static void expect_no_parts(struct writer *w, int64_t begin_ms)
{
	int64_t before = tens_end(w);

	add_segment(w, begin_ms);
	assert_int_equal(tens_end(w), before);
	assert_int_equal(number(w, "SELECT count(*) FROM block WHERE tier = 5 AND last_ms <= "
				   "(SELECT max(last_ms) FROM block WHERE tier = 1)"),
			 0);
}

/* The clock is set back by an hour, and once it was days ahead for half an hour. */
static void test_clock(void **state)
{
	struct writer w;

	begin(&w, 75);
	for (int i = 0; i < 9; i++)
		add_segment(&w, i * STEP);
	expect_no_parts(&w, 3 * STEP);
	expect_no_parts(&w, 4 * STEP);
	for (int i = 0; i < 4; i++)
		add_segment(&w, (1000 + i) * STEP);
	assert_true(tens_end(&w) > BEGIN_MS + 1000 * STEP);
	expect_no_parts(&w, 10 * STEP);
	expect_no_parts(&w, 11 * STEP);
	/* a new writer, which hasn't looked at any segment yet */
	store_close(w.s);
	w.s = open_store(getpid());
	expect_no_parts(&w, 12 * STEP);
	end(&w);
}

/* The number of a segment of which only parts are left isn't given to another one. */
static void test_orphans(void **state)
{
	uint64_t next, segment;
	struct writer w;

	begin(&w, 76);
	for (int i = 0; i < 3; i++)
		add_segment(&w, i * STEP);
	segment = w.place.segment;
	assert_int_equal(store_exec(w.s, "DELETE FROM block WHERE tier = 0", "remove"), 0);
	assert_true(number(&w, "SELECT count(*) FROM block WHERE tier = 5") > 0);
	assert_int_equal(store_next_segment(w.s, &next), 0);
	assert_int_equal(next, segment);
	end(&w);
}

/* Rows with impossible times get no parts, and no tree. */
static void test_damaged_times(void **state)
{
	static const char *const times[] = {
		"first_ms = 9223372036854775807, last_ms = 9223372036854775807",
		"first_ms = 9223372036854775000, last_ms = 9223372036854775000",
		"first_ms = last_ms + 1",
		"first_ms = -9223372036854775807 - 1, last_ms = -9223372036854775807 - 1",
	};
	char words[192];
	struct writer w;

	begin(&w, 77);
	for (int i = 0; i < 5; i++)
		add_segment(&w, i * STEP);
	for (unsigned i = 0; i < ARRAY_SIZE(times); i++) {
		seal_segment(&w, 5 * STEP);
		snprintf(words, sizeof(words),
			 "UPDATE block SET %s WHERE id = "
			 "(SELECT max(id) FROM block WHERE tier = 0)",
			 times[i]);
		assert_int_equal(store_exec(w.s, words, "damage"), 0);
		assert_int_equal(store_roll_up(w.s), 0);
		assert_int_equal(number(&w, "SELECT count(*) FROM block WHERE tier = 5 AND "
					    "last_ms NOT BETWEEN 1 AND 1800000000000"),
				 0);
		assert_true(tens_end(&w) < BEGIN_MS + 6 * STEP);
	}
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_names, empty),
		cmocka_unit_test_setup(test_unused, empty),
		cmocka_unit_test_setup(test_next_writer, empty),
		cmocka_unit_test_setup(test_large, empty),
		cmocka_unit_test_setup(test_failed, empty),
		cmocka_unit_test_setup(test_clock, empty),
		cmocka_unit_test_setup(test_orphans, empty),
		cmocka_unit_test_setup(test_damaged_times, empty),
	};

	return run_in_directory(tests);
}
