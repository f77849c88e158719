/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wait counts in a window with the part that lies in the window, whether the answer comes from
 * samples or from the coarser tiers. The right values are computed from the beginnings and ends of
 * the waits.
 */
#include "store_writer.h"

#include "base/cleanup.h"
#include "store/internal.h"

#define SEGMENTS 22 /* of ten minutes */
#define EACH	 24 /* waits of a segment */
#define STEP	 STORE_TEN_MINUTES_MS

enum kind { WAIT, RUNNABLE, BLAME, KINDS };

/* A wait, in ms since BEGIN_MS. Its sample is in the segment in which the wait ends. */
struct wait {
	enum kind kind;
	int64_t begin, end;
};

static struct wait waits[SEGMENTS * EACH];

/*
 * Returns how many ms of a wait lie between @since and @until. A RUNNABLE sample is a sum of
 * several short times, so all of it counts where the first of them began.
 */
static int64_t part(const struct wait *w, int64_t since, int64_t until)
{
	int64_t from = MAX(w->begin, since), to = MIN(w->end, until);

	if (w->kind == RUNNABLE)
		return w->begin >= since && w->begin < until ? w->end - w->begin : 0;
	return MAX(to - from, 0);
}

static void add_wait(struct writer *w, const struct wait *wait)
{
	const struct profile_label l[] = {
		{profile_string(w->p, "service"), random_text(w->p, &w->random, "shop-", 3)},
		{profile_string(w->p, "tid"), random_text(w->p, &w->random, "", 9)},
		{profile_string(w->p, "state"),
		 profile_string(w->p, wait->kind == RUNNABLE ? "runnable" : "sleeping")},
	};
	struct profile_sample s = {
		.stack = random_stack(w->p, &w->random),
		.labels = profile_labels(w->p, l, 3),
		.time_ns = (wait->kind == BLAME ? wait->end : wait->begin) * 1000000,
	};

	s.values[wait->kind == BLAME ? 3 : 2] = (wait->end - wait->begin) * 1000000;
	add_sample(w, &s);
}

/*
 * Writes the waits, and seals each segment (turns its batches of samples into blocks) after its
 * end, as an agent does.
 */
static void fill(struct writer *w)
{
	struct profile_meta *m = profile_meta(w->p);

	m->values[m->n_values++] = (struct profile_value_type){"lock_blame", "nanoseconds"};
	for (unsigned i = 0; i < ARRAY_SIZE(waits); i++) {
		struct wait *wait = &waits[i];
		int64_t segment = i / EACH * STEP, longest = i % 4 ? 20000 : STEP - 1000;

		wait->kind = random_below(&w->random, KINDS);
		wait->end = segment + 1 + random_below(&w->random, STEP - 2);
		wait->begin = wait->end - 1 - random_below(&w->random, (uint32_t)longest);
		wait->begin = MAX(wait->begin, 0);
		add_wait(w, wait);
		if (i % EACH < EACH - 1)
			continue;
		w->place.last_ms = BEGIN_MS + segment + STEP;
		write_frame(w);
		assert_int_equal(store_seal(w->s, w->place.segment), 0);
		assert_int_equal(store_roll_up(w->s), 0);
		end_segment(w);
	}
}

static int add(void *arg, const struct profile_sample *s)
{
	int64_t *sums = arg;

	for (int i = 0; i < 4; i++)
		sums[i] += s->values[i];
	return 0;
}

static void expect(int64_t since, int64_t until, enum store_outline outline)
{
	const struct store_query q = {
		.since_ms = BEGIN_MS + since, .until_ms = BEGIN_MS + until, .outline = outline};
	struct profile *p = read_back(&q);
	int64_t got[4] = {}, wanted[4] = {};

	for (unsigned i = 0; i < ARRAY_SIZE(waits); i++)
		wanted[waits[i].kind == BLAME ? 3 : 2] += part(&waits[i], since, until) * 1000000;
	assert_int_equal(profile_each(p, add, got), 0);
	assert_true(wanted[2] + wanted[3] > 0);
	for (int i = 2; i < 4; i++)
		assert_int_equal(got[i], wanted[i]);
	profile_free(p);
}

static void test_parts(void **state)
{
	const int64_t before = BEGIN_MS % STEP, last = SEGMENTS * STEP;
	struct writer w;
	int64_t rows;

	begin(&w, 51);
	fill(&w);
	assert_int_equal(store_number(w.s, "SELECT count(*) FROM block WHERE tier = 2", &rows), 0);
	assert_true(rows >= 6);
	for (int64_t at = 5 * STEP; at < 7 * STEP; at += STEP / 4)
		expect(at, at + STEP / 4, OUTLINE_NONE);
	expect(STEP - before, last, OUTLINE_NONE);
	expect(STEP - before, last, OUTLINE_SERVICES);
	/* the last windows come from parts, and that of which a piece is asked for from samples */
	for (int64_t at = last - 3 * STEP; at < last; at += STEP / 3)
		expect(STEP - before, at, OUTLINE_SERVICES);
	for (int64_t at = STEP - before; at < last - 8 * STEP; at += 3 * STEP) {
		expect(at, at + STEP, OUTLINE_SERVICES);
		expect(at, at + 7 * STEP, OUTLINE_SERVICES);
	}
	end(&w);
}

static void add_segment(struct writer *w, int64_t begin)
{
	struct wait wait = {RUNNABLE, begin, begin + 500};

	add_wait(w, &wait);
	w->place.first_ms = BEGIN_MS + begin;
	w->place.last_ms = BEGIN_MS + begin + STEP;
	write_frame(w);
	assert_int_equal(store_seal(w->s, w->place.segment), 0);
	assert_int_equal(store_roll_up(w->s), 0);
	end_segment(w);
}

/*
 * When a row of a coarser tier is made, one of the blocks that may have samples for it has none.
 * The blocks after that one are still read.
 */
static void test_empty_window(void **state)
{
	const int64_t before = BEGIN_MS % STEP, day = 144 * STEP;
	int64_t last;
	struct writer w;

	begin(&w, 52);
	add_segment(&w, 2 * STEP - before - 100);
	for (int i = 0; i < 4; i++)
		add_segment(&w, day + i * STEP);
	assert_int_equal(store_number(w.s, "SELECT max(last_ms) FROM block WHERE tier = 1", &last),
			 0);
	assert_true(last > BEGIN_MS + day);
	end(&w);
}

/*
 * Returns the day of the oldest row of a tier. As a row begins up to an hour before its first
 * sample, an hour is added.
 */
static int64_t oldest_day(struct writer *w, int tier)
{
	char sql[64];
	int64_t ms;

	snprintf(sql, sizeof(sql), "SELECT min(first_ms) FROM block WHERE tier = %d", tier);
	assert_int_equal(store_number(w->s, sql, &ms), 0);
	return (ms - BEGIN_MS + STORE_HOUR_MS) / (144 * STEP);
}

/* Rows of ten minutes are kept for a week, rows of hours for 90 days. */
static void test_kept(void **state)
{
	/*
	 * .day: the last day with samples; .tens and .hours: the oldest days that then have rows of
	 * ten minutes, and rows of hours
	 */
	static const struct {
		int64_t day, tens, hours;
	} rows[] = {{0, 0, 0}, {6, 0, 0}, {8, 6, 0}, {89, 89, 0}, {97, 97, 8}};
	struct writer w;

	begin(&w, 53);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int k = 0; k < 15; k++)
			add_segment(&w, rows[i].day * 144 * STEP + k * STEP);
		assert_int_equal(oldest_day(&w, STORE_TEN_MINUTES), rows[i].tens);
		assert_int_equal(oldest_day(&w, STORE_HOUR), rows[i].hours);
	}
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_parts, empty),
		cmocka_unit_test_setup(test_empty_window, empty),
		cmocka_unit_test_setup(test_kept, empty),
	};

	return run_in_directory(tests);
}
