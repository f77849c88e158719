/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The coarser tiers of the store (ten minutes, hours, six hours, days): their sums are those of the
 * samples, and no path (stack of functions) is missing.
 */
#include "store_writer.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/log.h"
#include "store/internal.h"

#define SERVICES 3
#define SEGMENTS 22 /* number of segments of ten minutes; together they contain three whole hours */
#define STEP_NS	 (600ll * 1000000000)

/*
 * Makes a stack of a tree with few functions, so that windows of time share many paths (stacks of
 * functions), but not all. A function occurs on several lines.
 */
static uint32_t branching_stack(struct writer *w)
{
	struct profile_mapping m = {.name = profile_string(w->p, "[python 3.12]"),
				    .kind = KIND_PYTHON};
	uint32_t frames[6], mapping = profile_mapping(w->p, &m);
	size_t n = 1 + random_below(&w->random, ARRAY_SIZE(frames));

	for (size_t i = 0; i < n; i++) {
		struct profile_function f = {.name = random_text(w->p, &w->random, "branch", 3)};
		struct profile_location l = {
			.mapping = mapping,
			.function = profile_function(w->p, &f),
			.line = 1 + (int32_t)random_below(&w->random, 3),
		};

		frames[i] = profile_location(w->p, &l);
	}
	return profile_stack(w->p, frames, n);
}

/*
 * Makes a sample of a service. Each service has one stack that comes often. Its other stacks are
 * drawn at random, most of them from a tree.
 */
static struct profile_sample make_sample(struct writer *w, unsigned segment, const uint32_t *often)
{
	unsigned service = random_below(&w->random, SERVICES);
	struct profile_sample s = random_sample(w->p, &w->random);
	char name[16];

	snprintf(name, sizeof(name), "shop-%u", service);
	const struct profile_label l[] = {
		{profile_string(w->p, "service"), profile_string(w->p, name)},
		{profile_string(w->p, "pid"), random_text(w->p, &w->random, "", 9)},
		{profile_string(w->p, "version"), profile_string(w->p, segment < 9 ? "1" : "2")},
		{profile_string(w->p, "uid"), random_text(w->p, &w->random, "100", 3)},
	};

	s.labels = profile_labels(w->p, l, 4);
	if (random_below(&w->random, 3))
		s.stack = random_below(&w->random, 4) ? branching_stack(w) : often[service];
	s.time_ns = segment * STEP_NS + random_below(&w->random, 600000) * 1000000ll;
	return s;
}

/* @every: after how many segments the sums are made that are missing */
static void fill_segments(struct writer *w, unsigned segments, unsigned samples, unsigned every)
{
	uint32_t often[SERVICES];

	for (unsigned i = 0; i < SERVICES; i++)
		often[i] = random_stack(w->p, &w->random);
	for (unsigned segment = 0; segment < segments; segment++) {
		for (unsigned i = 0; i < samples; i++) {
			struct profile_sample s = make_sample(w, segment, often);

			add_sample(w, &s);
		}
		write_frame(w);
		assert_int_equal(store_seal(w->s, w->place.segment), 0);
		if (segment % every == every - 1)
			assert_int_equal(store_roll_up(w->s), 0);
		end_segment(w);
	}
}

static void fill(struct writer *w)
{
	fill_segments(w, SEGMENTS, 150, 1);
}

struct outcome {
	struct profile *p;
	const char *service, *user; /* NULL: any */
	int64_t since, until;	    /* in ns; samples without a time are always counted */
	int64_t values[3];
};

static int add(void *arg, const struct profile_sample *s)
{
	struct outcome *x = arg;

	if ((s->time_ns >= 0 && (s->time_ns < x->since || s->time_ns >= x->until)) ||
	    (x->service && !streq(profile_label_text(x->p, s->labels, "service"), x->service)) ||
	    (x->user && !streq(profile_label_text(x->p, s->labels, "uid"), x->user)))
		return 0;
	for (int i = 0; i < 3; i++)
		x->values[i] += s->values[i];
	return 0;
}

/*
 * The sum of the samples of one service and path (stack of functions). The path is text that must
 * be freed.
 */
struct path {
	char *path;
	int64_t values[3];
};

struct paths {
	struct profile *p;
	int64_t since, until; /* in ns; samples without a time are always counted */
	VEC(struct path) list;
};

static int add_path(void *arg, const struct profile_sample *s)
{
	struct paths *x = arg;
	struct str text = {};
	struct path path = {};
	size_t n;
	const uint32_t *frames = profile_get_stack(x->p, s->stack, &n);

	if (s->time_ns >= 0 && (s->time_ns < x->since || s->time_ns >= x->until))
		return 0;
	str_addf(&text, "%s %s", profile_label_text(x->p, s->labels, "service"),
		 profile_label_text(x->p, s->labels, "version"));
	for (size_t i = n; i--;) {
		const struct profile_location *l = profile_get_location(x->p, frames[i]);
		const struct profile_mapping *m = profile_get_mapping(x->p, l->mapping);
		struct profile_function none = {},
					f = l->function ? *profile_get_function(x->p, l->function)
							: none;

		str_addf(&text, ";%s %s %s %d %llx", profile_get_string(x->p, m->name),
			 profile_get_string(x->p, f.name), profile_get_string(x->p, f.file),
			 f.start_line, (unsigned long long)(l->function ? 0 : l->address));
	}
	path.path = str_take(&text);
	memcpy(path.values, s->values, sizeof(path.values));
	return vec_push(&x->list, path);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct path *)a)->path, ((const struct path *)b)->path);
}

/* Sorts the paths, and sums up the entries with the same path. */
static void find_paths(struct paths *x)
{
	size_t n = 0;

	assert_int_equal(profile_each(x->p, add_path, x), 0);
	assert_true(x->list.n > 0);
	qsort(x->list.v, x->list.n, sizeof(*x->list.v), by_path);
	vec_foreach(path, &x->list) {
		struct path *to = n ? &x->list.v[n - 1] : NULL;

		if (!to || !streq(to->path, path->path)) {
			x->list.v[n++] = *path;
			continue;
		}
		for (int i = 0; i < 3; i++)
			to->values[i] += path->values[i];
		free(path->path);
	}
	x->list.n = n;
}

static void paths_free(struct paths *x)
{
	vec_foreach(path, &x->list)
		free(path->path);
	vec_fini(&x->list);
}

/*
 * Checks that an outline (an answer with sums only) has the same stacks of functions as the
 * samples. (No stack of this test is rare enough to be left out.)
 */
static void expect_paths(struct paths *exact, struct paths *got)
{
	find_paths(exact);
	find_paths(got);
	assert_int_equal(exact->list.n, got->list.n);
	for (size_t i = 0; i < exact->list.n; i++) {
		assert_string_equal(exact->list.v[i].path, got->list.v[i].path);
		for (int k = 0; k < 3; k++)
			assert_int_equal(exact->list.v[i].values[k], got->list.v[i].values[k]);
	}
	paths_free(exact);
	paths_free(got);
}

/*
 * Checks that the outline of the window (the store's answer with sums only) has, for each service,
 * the stacks and sums of all samples in the window. @begins: when the outline says that the window
 * begins.
 */
static void expect_sums(struct writer *w, int64_t since, int64_t until, int64_t begins)
{
	const struct store_query q = {.since_ms = BEGIN_MS + since,
				      .until_ms = BEGIN_MS + until,
				      .outline = OUTLINE_SERVICES};
	struct profile *p = read_back(&q);

	assert_int_equal(profile_meta(p)->time_ns / 1000000 - BEGIN_MS, begins);
	for (unsigned i = 0; i < SERVICES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "shop-%u", i);
		struct outcome exact = {w->p, name, NULL, begins * 1000000, until * 1000000, {}};
		struct outcome got = {p, name, NULL, 0, INT64_MAX, {}};

		assert_int_equal(profile_each(w->p, add, &exact), 0);
		assert_int_equal(profile_each(p, add, &got), 0);
		assert_true(exact.values[0] > 0);
		for (int k = 0; k < 3; k++)
			assert_int_equal(exact.values[k], got.values[k]);
	}
	expect_paths(&(struct paths){w->p, begins * 1000000, until * 1000000, {}},
		     &(struct paths){p, 0, INT64_MAX, {}});
	profile_free(p);
}

/*
 * The coarser tiers don't know which user's samples they sum up. A query may ask for one user's
 * samples, as the server does for each user without rights. The answer must not contain other
 * users' samples.
 */
static void test_one_user(void **state)
{
	const struct profile_label_text user = {"uid", 3, "1001"};
	const struct store_query q = {.since_ms = BEGIN_MS,
				      .until_ms = BEGIN_MS + SEGMENTS * STORE_TEN_MINUTES_MS,
				      .labels = &user,
				      .n_labels = 1,
				      .outline = OUTLINE_SERVICES};
	struct profile *p;
	struct writer w;

	begin(&w, 33);
	fill(&w);
	p = read_back(&q);
	struct outcome exact = {w.p, NULL, "1001", 0, INT64_MAX, {}};
	struct outcome got = {p, NULL, "1001", 0, INT64_MAX, {}};
	struct outcome all_got = {p, NULL, NULL, 0, INT64_MAX, {}};

	assert_int_equal(profile_each(w.p, add, &exact), 0);
	assert_int_equal(profile_each(p, add, &got), 0);
	assert_int_equal(profile_each(p, add, &all_got), 0);
	assert_true(exact.values[0] > 0);
	for (int k = 0; k < 3; k++) {
		assert_int_equal(got.values[k], exact.values[k]);
		assert_int_equal(all_got.values[k], exact.values[k]);
	}
	profile_free(p);
	end(&w);
}

static int64_t rows_of(struct writer *w, int tier)
{
	char sql[64];
	int64_t n;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM block WHERE tier = %d", tier);
	assert_int_equal(store_number(w->s, sql, &n), 0);
	return n;
}

/*
 * Windows begin at multiples of ten minutes. BEGIN_MS isn't one: a multiple comes 200 s before each
 * step that is counted from BEGIN_MS.
 */
static void test_sums(void **state)
{
	const int64_t before = BEGIN_MS % STORE_TEN_MINUTES_MS, step = STORE_TEN_MINUTES_MS;
	const int64_t last = SEGMENTS * step;
	struct writer w;

	begin(&w, 31);
	fill(&w);
	assert_true(rows_of(&w, STORE_TEN_MINUTES) >= (SEGMENTS - 2) * SERVICES);
	assert_in_range(rows_of(&w, STORE_HOUR), 3 * SERVICES, 4 * SERVICES);
	expect_sums(&w, 2 * step - before, last, 2 * step - before);
	/* a window that begins between multiples of ten minutes is extended to the one before */
	expect_sums(&w, 2 * step - before + 7, last, 2 * step - before);
	expect_sums(&w, 9 * step - before, 15 * step - before, 9 * step - before);
	end(&w);
}

/*
 * After the blocks with the samples themselves were removed, the outline (the answer with sums
 * only) still has their sums.
 */
static void test_exact_gone(void **state)
{
	const int64_t before = BEGIN_MS % STORE_TEN_MINUTES_MS, step = STORE_TEN_MINUTES_MS;
	struct writer w;

	begin(&w, 32);
	fill(&w);
	assert_int_equal(store_exec(w.s,
				    "DELETE FROM block WHERE tier = 0 AND id >> 20 < "
				    "(SELECT max(id) >> 20 FROM block WHERE tier = 0) - 2",
				    "remove"),
			 0);
	expect_sums(&w, 2 * step - before, SEGMENTS * step, 2 * step - before);
	/* now the rows of ten minutes are removed as well, so the window begins at a whole hour */
	assert_int_equal(store_exec(w.s,
				    "DELETE FROM block WHERE tier = 1 AND last_ms < "
				    "(SELECT max(last_ms) FROM block WHERE tier = 2)",
				    "remove"),
			 0);
	const int64_t hour = STORE_HOUR_MS - BEGIN_MS % STORE_HOUR_MS;

	expect_sums(&w, hour + 2 * step, SEGMENTS * step, hour);
	end(&w);
}

/* Removes the blocks of a window, except those of the tier @kept and of days. */
static void remove_others(struct writer *w, enum store_tier kept, int64_t since, int64_t until)
{
	char words[128];

	snprintf(words, sizeof(words),
		 "DELETE FROM block WHERE tier NOT IN (3, %d) AND last_ms >= %lld AND "
		 "first_ms < %lld",
		 kept, (long long)(BEGIN_MS + since), (long long)(BEGIN_MS + until));
	assert_int_equal(store_exec(w->s, words, "remove"), 0);
}

/*
 * Whole days come from the tier of days alone, whole six hours from the tier of six hours alone,
 * and the time around them from finer tiers.
 */
static void test_days(void **state)
{
	const int64_t step = STORE_TEN_MINUTES_MS;
	const int64_t midnight = STORE_DAY_MS - BEGIN_MS % STORE_DAY_MS;
	const int64_t next = midnight + STORE_DAY_MS;
	const int64_t six = midnight + 6 * STORE_HOUR_MS;
	/* a multiple of the segments after which sums are made */
	const unsigned segments = (unsigned)((next + 2 * STORE_HOUR_MS) / step) / 6 * 6;
	struct writer w;

	begin(&w, 34);
	fill_segments(&w, segments, 12, 6);
	assert_in_range(rows_of(&w, STORE_DAY), SERVICES, 2 * SERVICES);
	expect_sums(&w, midnight - 3 * step, next + 5 * step, midnight - 3 * step);
	remove_others(&w, STORE_SIX_HOURS, six, six + 12 * STORE_HOUR_MS);
	expect_sums(&w, midnight + 3 * step, next - 5 * step, midnight + 3 * step);
	expect_sums(&w, six, six + 12 * STORE_HOUR_MS, six);
	remove_others(&w, STORE_DAY, midnight, next);
	expect_sums(&w, midnight, next, midnight);
	end(&w);
}

static void change(struct writer *w, const char *words)
{
	assert_int_equal(store_exec(w->s, words, "change"), 0);
}

/*
 * The newest samples are read from parts (the sums of one segment in a window of ten minutes),
 * except where only some samples of a part are asked for, and those of a segment without parts.
 */
static void test_parts(void **state)
{
	const int64_t step = STORE_TEN_MINUTES_MS, since = 2 * step - BEGIN_MS % step;
	const int64_t until = 9 * step;
	struct outcome got = {};
	struct writer w;

	begin(&w, 36);
	fill_segments(&w, 9, 150, 1);
	/* the parts of the segments whose blocks of ten minutes were made are removed */
	assert_in_range(rows_of(&w, STORE_PARTS), 3 * SERVICES, 8 * SERVICES);
	expect_sums(&w, since, until, since);
	expect_sums(&w, since, until - step / 3, since);
	expect_sums(&w, since, until - 3 * step / 2, since);
	/* a segment of which there are no parts, as in a store that an older krait wrote */
	change(&w, "DELETE FROM block WHERE tier = 5 AND first_ms = "
		   "(SELECT min(first_ms) FROM block WHERE tier = 5)");
	expect_sums(&w, since, until, since);
	/* samples that can't be read aren't missed where there are parts, and a lost part is */
	change(&w, "UPDATE block SET body = zeroblob(99) WHERE tier = 0 AND " STORE_HAS_PARTS);
	expect_sums(&w, since, until, since);
	change(&w, "DELETE FROM block WHERE id = (SELECT max(id) FROM block WHERE tier = 5)");
	got.p = read_back(&(struct store_query){.since_ms = BEGIN_MS + since,
						.until_ms = BEGIN_MS + until,
						.outline = OUTLINE_SERVICES});
	got.until = INT64_MAX;
	struct outcome exact = {w.p, NULL, NULL, since * 1000000, until * 1000000, {}};

	assert_int_equal(profile_each(w.p, add, &exact), 0);
	assert_int_equal(profile_each(got.p, add, &got), 0);
	assert_true(got.values[0] < exact.values[0]);
	profile_free(got.p);
	end(&w);
}

static unsigned warned;

static void count_warnings(enum log_level level, const char *text)
{
	(void)text;
	warned += level <= LOG_WARN;
}

/*
 * Windows of time whose blocks are all damaged get no rows in the coarser tiers. krait reads them,
 * and warns of them, only once.
 */
static void test_damaged_windows(void **state)
{
	const struct log_sink sink = {.say = count_warnings}, none = {};
	struct writer w;

	begin(&w, 35);
	fill_segments(&w, 6, 30, 1);
	store_close(w.s);
	assert_int_equal(store_open(store_path(), getpid(), &w.s), 0);
	assert_int_equal(store_exec(w.s,
				    "DELETE FROM block WHERE tier IN (1, 2, 3, 4, 5); "
				    "UPDATE block SET body = zeroblob(99) WHERE tier = 0",
				    "damage"),
			 0);
	log_set_sink(&sink);
	warned = 0;
	assert_int_equal(store_roll_up(w.s), 0);
	assert_true(warned >= 4 * SERVICES);
	warned = 0;
	assert_int_equal(store_roll_up(w.s), 0);
	log_set_sink(&none);
	assert_int_equal(warned, 0);
	assert_int_equal(rows_of(&w, STORE_TEN_MINUTES), 0);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_days, empty),
		cmocka_unit_test_setup(test_sums, empty),
		cmocka_unit_test_setup(test_exact_gone, empty),
		cmocka_unit_test_setup(test_parts, empty),
		cmocka_unit_test_setup(test_one_user, empty),
		cmocka_unit_test_setup(test_damaged_windows, empty),
	};

	return run_in_directory(tests);
}
