/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of pinned windows (times to be kept) stay when others of the same age are removed, as far
 * as the store's limit allows. Words of a pin, which any user may choose, are only ever used as
 * text.
 */
#include "store_writer.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/system/log.h"
#include "store/internal.h"
#include "store/pins/marks.h"

#define SEGMENTS   32
#define SEGMENT_MS 10000
#define SAMPLES	   1500
#define LIMIT	   ((12ull << 20) + (128 << 10)) /* 12 MiB of the limit are for SQLite's log */

static struct pin pin_of(int64_t since_ms, int64_t until_ms, const char *words)
{
	struct pin p = {.since_ms = since_ms, .until_ms = until_ms, .made_ms = until_ms};

	strcpy(p.cause, PIN_BY_MARK);
	assert_int_equal(pin_words(words, strlen(words), p.words), 0);
	return p;
}

/* Returns a query for the time of segment @segment, as add_segment() writes it. */
static struct store_query window_of(int segment)
{
	int64_t since = BEGIN_MS + segment * SEGMENT_MS;

	return (struct store_query){.since_ms = since, .until_ms = since + SEGMENT_MS};
}

static void pin_segment(struct writer *w, int segment)
{
	struct store_query q = window_of(segment);
	struct pin p = pin_of(q.since_ms, q.until_ms, "incident");

	assert_int_equal(store_add_pin(w->s, &p), 0);
}

/* Returns one of a few stacks with few names, so that samples take most of the store's bytes. */
static uint32_t few_stacks(struct writer *w)
{
	uint32_t seed = random_below(&w->random, 30), frames[5];

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = random_location(w->p, &seed);
	return profile_stack(w->p, frames, ARRAY_SIZE(frames));
}

static void add_segment(struct writer *w, int segment)
{
	assert_int_equal(store_keep_to(w->s, LIMIT), 0);
	for (int i = 0; i < SAMPLES; i++) {
		struct profile_sample s = {
			.stack = few_stacks(w),
			.labels = random_labels(w->p, &w->random),
			.values = {1, 10101010},
			.time_ns = segment * (int64_t)SEGMENT_MS * (int64_t)NSEC_PER_MSEC,
		};

		s.time_ns += random_below(&w->random, SEGMENT_MS) * (int64_t)NSEC_PER_MSEC;
		add_sample(w, &s);
	}
	w->place.first_ms = window_of(segment).since_ms;
	write_frame(w);
	assert_int_equal(store_seal(w->s, w->place.segment), 0);
	end_segment(w);
}

static uint64_t samples_in(const struct store_query *q)
{
	struct store *s = open_store(0);
	struct profile *p = NULL;
	int r = store_read(s, q, &p);
	uint64_t n = r ? 0 : profile_n_samples(p);

	assert_true(!r || r == -ENODATA);
	profile_free(p);
	store_close(s);
	return n;
}

static bool says_gaps(const struct store_query *q)
{
	struct profile *p = read_back(q);
	const struct profile_meta *m = profile_meta(p);
	bool found = false;

	vec_foreach(text, &m->comments.list)
		found |= strstr(*text, "except those of pinned windows") != NULL;
	profile_free(p);
	return found;
}

/*
 * Adds so many segments that the oldest ones are removed. Segment 2 must keep all of its samples if
 * it is @pinned (to be kept), and must have none otherwise.
 */
static void keep_one(bool pinned)
{
	const struct store_query wanted = window_of(2), before = window_of(1),
				 both = {.since_ms = window_of(1).since_ms,
					 .until_ms = BEGIN_MS + SEGMENTS * SEGMENT_MS};
	struct profile *was = NULL, *is;
	struct writer w;

	begin(&w, 31);
	for (int i = 0; i < SEGMENTS; i++) {
		add_segment(&w, i);
		if (i == 2)
			was = read_back(&wanted);
		if (i == 2 && pinned)
			pin_segment(&w, i);
	}
	assert_int_equal(profile_n_samples(was), SAMPLES);
	assert_int_equal(samples_in(&before), 0);
	if (pinned) {
		is = read_back(&wanted);
		assert_same_samples(was, is);
		profile_free(is);
		assert_true(says_gaps(&both));
		assert_false(says_gaps(&wanted));
	} else {
		assert_int_equal(samples_in(&wanted), 0);
		assert_false(says_gaps(&both));
	}
	profile_free(was);
	end(&w);
}

static void test_stays(void **state)
{
	keep_one(true);
}

static void test_goes_without(void **state)
{
	keep_one(false);
}

static unsigned warned;

static void count_warnings(enum log_level level, const char *text)
{
	warned += level == LOG_WARN &&
		  strstr(text, "is no longer pinned: the store has no room") != NULL;
}

/*
 * Everything in the store is pinned. To keep within its limit, the store gives up the oldest pins.
 */
static void test_cap(void **state)
{
	const struct log_sink sink = {.say = count_warnings}, none = {};
	_cleanup_(pins_fini) struct pins pins = {};
	struct store_facts facts;
	struct writer w;
	int64_t bytes;

	warned = 0;
	log_set_sink(&sink);
	begin(&w, 32);
	for (int i = 0; i < SEGMENTS; i++) {
		add_segment(&w, i);
		pin_segment(&w, i);
		assert_int_equal(store_facts(w.s, &facts), 0);
		assert_true(facts.bytes <= LIMIT);
	}
	assert_int_equal(store_keep_to(w.s, LIMIT), 0);
	assert_int_equal(store_read_pins(w.s, &pins), 0);
	assert_in_range(pins.list.n, 2, SEGMENTS - 2);
	assert_int_equal(warned, SEGMENTS - pins.list.n);
	for (size_t i = 0; i < pins.list.n; i++)
		assert_int_equal(pins.list.v[i].id, warned + i + 1);
	assert_int_equal(store_number(w.s,
				      "SELECT sum(length(body)) FROM block WHERE " STORE_PINNED,
				      &bytes),
			 0);
	assert_in_range(bytes, 1, (LIMIT - (12 << 20)) / 2);
	log_set_sink(&none);
	end(&w);
}

/*
 * The number of a pin (a window to be kept) is never used again, counters never fall, and there are
 * at most 100 pins.
 */
static void test_numbers(void **state)
{
	_cleanup_(pins_fini) struct pins pins = {}, again = {};
	struct writer w;
	struct pin p;

	begin(&w, 33);
	for (int i = 0; i < 120; i++) {
		p = pin_of(BEGIN_MS + i, BEGIN_MS + 1000, "many");
		assert_int_equal(store_add_pin(w.s, &p), 0);
		p.until_ms += 5;
		assert_int_equal(store_add_pin(w.s, &p), 0);
	}
	assert_int_equal(store_read_pins(w.s, &pins), 0);
	assert_int_equal(pins.list.n, 100);
	assert_int_equal(pins.list.v[0].id, 21);
	assert_int_equal(pins.list.v[99].id, 120);
	assert_int_equal(pins.list.v[99].until_ms, BEGIN_MS + 1005);
	assert_int_equal(pins.counts.n, 1);
	assert_int_equal(pins.counts.v[0].times, 120);
	assert_ptr_equal(pins_find(&pins, 50, NULL), &pins.list.v[29]);
	assert_ptr_equal(pins_find(&pins, 0, "an"), &pins.list.v[99]);
	assert_null(pins_find(&pins, 20, NULL));
	assert_null(pins_find(&pins, 0, "none"));
	assert_int_equal(store_exec(w.s, "DELETE FROM pin", "delete"), 0);
	assert_int_equal(store_add_pin(w.s, &p), 0);
	assert_int_equal(store_read_pins(w.s, &again), 0);
	assert_int_equal(again.list.v[0].id, 121);
	end(&w);
}

/*
 * A store of format 2 has no pins (windows whose samples are kept). Today's krait can read it as it
 * is, and add to it.
 */
static void test_format_2(void **state)
{
	_cleanup_(pins_fini) struct pins pins = {};
	struct profile *was, *is;
	struct writer w;
	struct store *s;

	begin(&w, 34);
	add_segment(&w, 0);
	end(&w);
	sql("DROP TABLE pin; DROP TABLE fired; PRAGMA user_version=2");
	was = read_back(&all);
	s = open_store(0);
	assert_int_equal(s->version, 2);
	assert_int_equal(store_read_pins(s, &pins), 0);
	assert_int_equal(pins.list.n, 0);
	store_close(s);
	begin(&w, 35);
	assert_int_equal(w.s->version, STORE_VERSION);
	pin_segment(&w, 0);
	assert_int_equal(store_read_pins(w.s, &pins), 0);
	assert_int_equal(pins.list.n, 1);
	end(&w);
	is = read_back(&all);
	assert_same_samples(was, is);
	profile_free(was);
	profile_free(is);
}

static void expect_words(const char *text, size_t n, const char *wanted)
{
	char words[PIN_WORDS_BYTES] = "";

	assert_int_equal(pin_words(text, n, words), wanted ? 0 : -EINVAL);
	assert_string_equal(words, wanted ? wanted : "");
}

static void test_words(void **state)
{
	char many[PIN_WORDS_BYTES + 1];

	expect_words("deploy 1.2.3", 12, "deploy 1.2.3");
	expect_words("a\x1b[31m\nb\r\x7f", 10, "a?[31m?b??");
	expect_words("\xe2\x80\xae"
		     "x",
		     4, "?x");
	expect_words("\xff\0y", 3, "\xef\xbf\xbd\xef\xbf\xbdy");
	expect_words("", 0, NULL);
	expect_words(" \n", 2, NULL);
	memset(many, '\xff', sizeof(many));
	expect_words(many, PIN_WORDS_BYTES, NULL);
	/* each byte becomes a character of three bytes; the text is cut between two characters */
	assert_int_equal(pin_words(many, PIN_WORDS_BYTES - 1, many), 0);
	assert_int_equal(strlen(many), (PIN_WORDS_BYTES - 1) / 3 * 3);
}

static void test_text(void **state)
{
	_cleanup_(pins_fini) struct pins pins = {}, read = {};
	_cleanup_str_ struct str text = {};
	struct pin p = pin_of(5, 9, "two  words");

	p.id = 7;
	assert_int_equal(vec_push(&pins.list, p), 0);
	pins_write(&pins, &text);
	assert_string_equal(str_cstr(&text), "7 5 9 9 mark two  words\n");
	assert_int_equal(pins_read(&read, text.s), 0);
	assert_int_equal(read.list.n, 1);
	assert_memory_equal(&read.list.v[0], &p, sizeof(p));
	for (const char *const *bad = (const char *const[]){"x", "1 2 3 4", "\n",
							    "99999999999999999999 1 2 3", NULL};
	     *bad; bad++)
		assert_int_equal(pins_read(&read, *bad), -EBADMSG);
	assert_int_equal(pins_read(&read, "1 9 5 9 mark ends before it begins\n"), 0);
	assert_int_equal(read.list.n, 1);
}

/*
 * Rows of the table of pins that somebody wrote by hand: impossible times pin nothing, and words
 * that aren't text are made text.
 */
static void test_damaged(void **state)
{
	_cleanup_(pins_fini) struct pins pins = {};
	struct writer w;

	begin(&w, 36);
	assert_int_equal(
		store_exec(w.s,
			   "INSERT INTO pin VALUES (1, 5, 4, 0, 'mark', 'backwards'), "
			   "(2, -7, 4, 0, 'mark', 'before all times'), (-3, 1, 4, 0, 'mark', 'x'), "
			   "(4, 1, 9223372036854775807, 0, 'mark', 'endless'), "
			   "(5, 1, 2, 0, x'1b5b', x'ff1b0a'); "
			   "INSERT INTO fired VALUES (1, x'0a22', 3)",
			   "insert"),
		0);
	assert_int_equal(store_read_pins(w.s, &pins), 0);
	assert_int_equal(pins.list.n, 1);
	assert_string_equal(pins.list.v[0].cause, "?[");
	assert_string_equal(pins.list.v[0].words, "\xef\xbf\xbd??");
	assert_string_equal(pins.counts.v[0].cause, "?\"");
	end(&w);
}

/*
 * Marks the present moment from another process, while this process takes the mark as the agent
 * does.
 */
static void expect_marked(struct writer *w, int fd)
{
	char words[PIN_WORDS_BYTES];
	pid_t child = fork();
	int status;

	if (!child) {
		struct pin p = {};

		_exit(marks_send(store_path(), "deploy\t1.2.3", &p) || p.id != 1 ||
		      !streq(p.words, "deploy?1.2.3"));
	}
	while (!marks_take(fd, words))
		usleep(1000);
	struct pin p = pin_of(BEGIN_MS, BEGIN_MS + 1, words);

	assert_int_equal(store_add_pin(w->s, &p), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_marks(void **state)
{
	char words[PIN_WORDS_BYTES];
	struct writer w;
	struct pin p;
	int fd;

	begin(&w, 37);
	assert_int_equal(marks_send(store_path(), "x", &p), -ESRCH);
	close(marks_open(store_path()));
	assert_int_equal(marks_send(store_path(), "x", &p), -ESRCH);
	assert_int_equal(marks_send(store_path(), " ", &p), -EINVAL);
	fd = marks_open(store_path());
	assert_true(fd >= 0);
	assert_false(marks_take(fd, words));
	expect_marked(&w, fd);
	close(fd);
	marks_end(store_path());
	/* if a plain file has the pipe's name, it is neither read nor written */
	run("echo something >%s/marks", store_path());
	assert_int_equal(marks_open(store_path()), -1);
	assert_int_equal(marks_send(store_path(), "x", &p), -ESRCH);
	run("test \"$(cat %s/marks)\" = something", store_path());
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_stays, empty),
		cmocka_unit_test_setup(test_goes_without, empty),
		cmocka_unit_test_setup(test_cap, empty),
		cmocka_unit_test_setup(test_numbers, empty),
		cmocka_unit_test_setup(test_format_2, empty),
		cmocka_unit_test_setup(test_words, empty),
		cmocka_unit_test_setup(test_text, empty),
		cmocka_unit_test_setup(test_damaged, empty),
		cmocka_unit_test_setup(test_marks, empty),
	};

	return run_in_directory(tests);
}
