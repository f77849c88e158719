/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the labels that intervals give to samples with a plain search through all intervals.
 * Also tests the messages about bad lines.
 */
#include "render_profile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "profile/intervals/intervals.h"

#define START 1000

static uint32_t owner(struct profile *p, unsigned pid, unsigned tid)
{
	struct profile_label l[2];
	char text[16];

	snprintf(text, sizeof(text), "%u", pid);
	l[0] = (struct profile_label){profile_string(p, "pid"), profile_string(p, text)};
	snprintf(text, sizeof(text), "%u", tid);
	l[1] = (struct profile_label){profile_string(p, "tid"), profile_string(p, text)};
	return profile_labels(p, l, 2);
}

/*
 * Makes samples of each thread of two processes: one at each time below @n, and one without a time.
 */
static struct profile *samples(int64_t n)
{
	struct profile *p = test_profile();

	for (int64_t t = -1; t < n; t++)
		for (unsigned who = 0; who < 4; who++) {
			struct profile_sample s = {.labels = owner(p, 1 + who / 2, 10 + who),
						   .time_ns = t,
						   .values = {1, t}};

			assert_int_equal(profile_add(p, &s), 0);
		}
	return p;
}

struct wanted {
	const struct profile *p;
	const struct intervals *v;
	uint64_t labelled, samples;
};

static bool before(const struct interval *a, const struct interval *b)
{
	if (!a)
		return true;
	if (!a->tid != !b->tid)
		return !a->tid;
	return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->order < b->order;
}

static const struct intervals_clock host = {.start_ns = START};

static const char *key(const struct intervals *v, uint32_t key)
{
	return str_cstr(&v->keys[key - 1]);
}

/* Returns the value that the rules in intervals.h give to the sample, found by a plain search. */
static const char *value_of(const struct wanted *w, const struct profile_sample *s, uint32_t key)
{
	uint32_t pid = (uint32_t)atoi(profile_label_text(w->p, s->labels, "pid"));
	uint32_t tid = (uint32_t)atoi(profile_label_text(w->p, s->labels, "tid"));
	uint64_t at = START + (uint64_t)s->time_ns;
	const struct interval *best = NULL;

	vec_foreach(i, &w->v->list)
		if (i->key == key && i->pid == pid && (!i->tid || i->tid == tid) &&
		    i->begin_ns <= at && at < i->end_ns && s->time_ns >= 0 && before(best, i))
			best = i;
	return best ? intern_get(&w->v->values, best->value, NULL) : "";
}

static int compare_sample(void *arg, const struct profile_sample *s)
{
	struct wanted *w = arg;
	bool any = false;

	w->samples++;
	for (unsigned k = 1; k <= w->v->n_keys; k++) {
		const char *want = value_of(w, s, k);

		assert_string_equal(profile_label_text(w->p, s->labels, key(w->v, k)), want);
		any |= *want != '\0';
	}
	assert_int_equal(s->values[1], s->time_ns);
	w->labelled += any;
	return 0;
}

static void read_ok(struct intervals *v, const char *s)
{
	assert_int_equal(intervals_read(v, s, strlen(s), NULL), 0);
}

static void assert_labelled(const char *lines, size_t n_intervals)
{
	_cleanup_(intervals_fini) struct intervals v = {};
	struct profile *p = samples(60);
	struct wanted w = {p, &v, 0, 0};
	uint64_t labelled;

	read_ok(&v, lines);
	assert_int_equal(v.list.n, n_intervals);
	assert_int_equal(intervals_apply(&v, p, &host, NULL, &labelled), 0);
	assert_int_equal(profile_each(p, compare_sample, &w), 0);
	assert_int_equal(w.samples, 61 * 4);
	assert_int_equal(w.labelled, labelled);
	profile_free(p);
}

#define LINE(pid, begin, end, labels)                                                              \
	"{\"pid\":" #pid ",\"begin\":" #begin ",\"end\":" #end ",\"labels\":{" labels "}}\n"

static void test_one(void **state)
{
	_cleanup_(intervals_fini) struct intervals v = {};
	struct profile *p = samples(60);
	uint64_t labelled;

	(void)state;
	read_ok(&v, LINE(1, 1010, 1020, "\"test\":\"a\""));
	assert_int_equal(intervals_apply(&v, p, &host, NULL, &labelled), 0);
	assert_int_equal(labelled, 20); /* the label is on ten samples of each of two threads */
	profile_free(p);
}

static void test_nested(void **state)
{
	(void)state;
	assert_labelled(LINE(1, 1000, 1050, "\"test\":\"a\"") LINE(1, 1010, 1020, "\"test\":\"b\"")
				LINE(1, 1020, 1020, "\"test\":\"none\"")
					LINE(1, 1015, 1060, "\"test\":\"c\",\"phase\":\"x\""),
			5);
	assert_labelled("{\"tid\":11,\"pid\":1,\"begin\":1000,\"end\":1030,\"labels\":{\"test\":"
			"\"own\"}}\n" LINE(1, 1010, 1055, "\"test\":\"all\""),
			2);
}

/*
 * Tries random intervals: many begin or end at the same time, and they are of both keys and of all
 * processes and threads.
 */
static void test_any(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		_cleanup_str_ struct str lines = {};
		unsigned n = (unsigned)rand_r(&seed) % 40;

		for (unsigned i = 0; i < n; i++) {
			unsigned begin = 995 + (unsigned)rand_r(&seed) % 60;

			str_addf(&lines,
				 "{\"pid\": %d, \"tid\": %d, \"begin\": %u, \"end\": %u, "
				 "\"labels\": "
				 "{\"k%d\": \"v%u\"}}\n",
				 1 + rand_r(&seed) % 2,
				 rand_r(&seed) % 3 ? 0 : 10 + rand_r(&seed) % 4, begin,
				 begin + (unsigned)rand_r(&seed) % 30, rand_r(&seed) % 2, i);
		}
		assert_labelled(str_cstr(&lines), n);
	}
}

static void assert_bad(const char *line, const char *want)
{
	_cleanup_(intervals_fini) struct intervals v = {};
	_cleanup_str_ struct str lines = {};

	str_addf(&lines, LINE(1, 1, 2, "\"a\":\"b\"") "%s\n", line);
	str_add(&lines, LINE(1, 3, 4, "\"a\":\"b\""));
	read_ok(&v, str_cstr(&lines));
	assert_int_equal(v.list.n, 2);
	assert_int_equal(v.bad_lines, 1);
	if (!strstr(v.first_bad, want) || !str_starts(v.first_bad, "line 2: "))
		fail_msg("'%s' doesn't say '%s'", v.first_bad, want);
}

static void test_bad_lines(void **state)
{
	char many[INTERVALS_MAX_TEXT + 200];

	(void)state;
	assert_bad("x", "an object is expected");
	assert_bad("{\"pid\":1}", "are needed");
	assert_bad("{\"begin\":1,\"end\":2,\"labels\":{\"a\":\"b\"}}", "are needed");
	assert_bad("{\"pid\":1,\"begin\":1,\"end\":2,\"labels\":{}}", "are needed");
	assert_bad("{\"pid\":0,\"begin\":1,\"end\":2,\"labels\":{\"a\":\"b\"}}", "out of range");
	assert_bad("{\"pid\":1,\"begin\":3,\"end\":2,\"labels\":{\"a\":\"b\"}}",
		   "the interval ends");
	assert_bad("{\"pid\":1,\"begin\":-3,\"end\":2,\"labels\":{\"a\":\"b\"}}",
		   "the interval ends");
	assert_bad("{\"pid\":1,\"begin\":1,\"end\":2e3,\"labels\":{\"a\":\"b\"}}", "whole number");
	assert_bad("{\"pid\":1,\"begin\":1,\"end\":2,\"labels\":{\"a\":1}}", "string");
	assert_bad("{\"pid\":1,\"begin\":1,\"end\":2,\"labels\":{\"pid\":\"2\"}}", "krait writes");
	assert_bad("{\"pid\":1,\"begin\":1,\"end\":2,\"labels\":{\"\":\"2\"}}", "empty key");
	assert_bad("{\"pid\":1,\"begin\":1,\"end\":2,\"labels\":{\"a\":\"b\"}} x", "nothing more");
	assert_bad("{\"pid\":1,\"begin\":1,\"end\":2,\"labels\":{\"1\":\"\",\"2\":\"\",\"3\":\"\","
		   "\"4\":"
		   "\"\",\"5\":\"\",\"6\":\"\",\"7\":\"\",\"8\":\"\",\"9\":\"\"}}",
		   "more than 8 labels");
	memset(many, 'x', sizeof(many));
	snprintf(many, 100, "{\"pid\":1,\"begin\":1,\"end\":2,\"labels\":{\"a\":\"");
	many[strlen(many)] = 'x';
	strcpy(many + INTERVALS_MAX_TEXT + 100, "\"}}");
	assert_bad(many, "more than 4096 bytes");
}

/*
 * If a line has one key more than a file may have, no label or key of that line counts. The message
 * gives the line's number, counted from 1.
 */
static void test_passed_over(void **state)
{
	_cleanup_(intervals_fini) struct intervals v = {};

	(void)state;
	read_ok(&v,
		"\n\n" LINE(1, 1, 2, "\"k1\":\"v\",\"k2\":\"v\",\"k3\":\"v\"") LINE(
			1, 1, 2,
			"\"a\":\"v\",\"b\":\"v\",\"c\":\"v\",\"d\":\"v\",\"e\":\"v\",\"f\":\"v\"")
			LINE(1, 1, 2,
			     "\"k4\":\"v\",\"k5\":\"v\",\"k6\":\"v\",\"k7\":\"v\",\"k8\":\"v\""));
	assert_int_equal(v.list.n, 8);
	assert_int_equal(v.bad_lines, 1);
	assert_string_equal(v.first_bad, "line 4: more than 8 keys in the file");
	assert_string_equal(key(&v, v.list.v[3].key), "k4");
}

/*
 * Intervals of processes without samples aren't kept. Of the others, only a limited number is kept.
 */
static void test_bounds(void **state)
{
	_cleanup_(intervals_fini) struct intervals v = {}, w = {};
	_cleanup_str_ struct str lines = {};
	_cleanup_(map_fini) struct map pids = {};

	(void)state;
	map_init(&pids);
	assert_int_equal(map_put(&pids, 2, 0), 0);
	str_add(&lines, LINE(2, 1, 2, "\"a\":\"v\""));
	for (unsigned i = 0; i < INTERVALS_MAX_LABELS / 8 + 1; i++)
		str_add(&lines, LINE(1, 1, 2,
				     "\"a\":\"v\",\"b\":\"v\",\"c\":\"v\",\"d\":\"v\",\"e\":\"v\","
				     "\"f\":\"v\",\"g\":\"v\",\"h\":\"v\""));
	read_ok(&v, str_cstr(&lines));
	assert_int_equal(v.list.n, INTERVALS_MAX_LABELS);
	assert_int_equal(v.left_out, 9);
	assert_int_equal(v.bad_lines, 0);
	assert_int_equal(intervals_read(&w, lines.s, lines.n, &pids), 0);
	assert_int_equal(w.list.n, 1);
	assert_int_equal(w.lines, v.lines);
}

static bool shift_of(void *arg, uint32_t pid, int64_t *ret_ns)
{
	(void)arg;
	*ret_ns = -500;
	return pid == 1;
}

/*
 * The clock of process 1 is shifted. The clock of process 2 is unknown, so its samples get no
 * labels.
 */
static void test_clocks(void **state)
{
	const struct intervals_clock clock = {START, shift_of, NULL};
	_cleanup_(intervals_fini) struct intervals v = {};
	struct profile *p = samples(60);
	uint64_t labelled;

	(void)state;
	read_ok(&v, LINE(1, 510, 520, "\"a\":\"b\"") LINE(1, 1010, 1055, "\"a\":\"b\"")
			    LINE(2, 510, 1055, "\"a\":\"b\""));
	assert_int_equal(intervals_apply(&v, p, &clock, NULL, &labelled), 0);
	assert_int_equal(labelled, 20);
	profile_free(p);
}

struct wanted_fork {
	unsigned pid, tid;
	int64_t time_ns;
	/* the values of the labels a and b; "": the sample has no such label */
	const char *a, *b;
};

static struct profile *samples_at(const struct wanted_fork *w, size_t n)
{
	struct profile *p = test_profile();

	for (size_t i = 0; i < n; i++) {
		struct profile_sample s = {.labels = owner(p, w[i].pid, w[i].tid),
					   .time_ns = w[i].time_ns,
					   .values = {1, (int64_t)i}};

		assert_int_equal(profile_add(p, &s), 0);
	}
	return p;
}

struct look {
	const struct profile *p;
	const struct wanted_fork *wanted;
	size_t at;
};

static int look(void *arg, const struct profile_sample *s)
{
	struct look *l = arg;
	const struct wanted_fork *w = &l->wanted[l->at++];

	assert_int_equal(s->time_ns, w->time_ns);
	assert_string_equal(profile_label_text(l->p, s->labels, "a"), w->a);
	assert_string_equal(profile_label_text(l->p, s->labels, "b"), w->b);
	return 0;
}

/* Checks the labels that processes inherit. @forks are sorted by time. */
static void assert_inherited(const char *lines, struct interval_fork *forks, size_t n_forks,
			     const struct intervals_clock *clock, const struct wanted_fork *wanted,
			     size_t n)
{
	const interval_fork_vec all = {.v = forks, .n = n_forks};
	_cleanup_(intervals_fini) struct intervals v = {};
	struct profile *p = samples_at(wanted, n);
	struct look l = {p, wanted, 0};
	uint64_t labelled;

	read_ok(&v, lines);
	assert_int_equal(intervals_apply(&v, p, clock, &all, &labelled), 0);
	assert_int_equal(profile_each(p, look, &l), 0);
	assert_int_equal(l.at, n);
	profile_free(p);
}

/*
 * Thread 11 of process 1 starts process 2, which starts process 3: both processes inherit the
 * labels that thread 11 had at the fork. An inherited label counts until its interval ends. Process
 * 4 is started at 20, after all intervals, and gets no label.
 */
static void test_forks(void **state)
{
	static const char lines[] = LINE(1, 1005, 1015, "\"a\":\"process\"") LINE(
		1, 1009, 1011,
		"\"a\":\"inner\"") "{\"pid\":1,\"tid\":11,\"begin\":1008,\"end\":1018,\"labels\":{"
				   "\"b\":\"thread\"}}\n" LINE(2, 1013, 1014, "\"b\":\"own\"");
	struct interval_fork forks[] = {
		{1010, 2, 1, 11}, {1012, 3, 2, 2}, {1013, 5, 1, 12}, {1020, 4, 1, 11}};
	static const struct wanted_fork wanted[] = {
		{1, 11, 10, "inner", "thread"},
		{2, 2, 9, "", ""},
		{2, 2, 10, "inner", "thread"},
		{2, 22, 11, "", "thread"}, /* at 22 the interval "inner" is over */
		{2, 2, 13, "", "own"},
		{2, 2, 14, "", "thread"},
		{2, 2, 18, "", ""},
		{3, 3, 12, "", "thread"},
		{3, 3, 13, "", "thread"},
		{3, 3, 18, "", ""},
		{5, 5, 14, "process", ""},
		{5, 5, 15, "", ""},
		{4, 4, 20, "", ""},
	};

	(void)state;
	assert_inherited(lines, forks, ARRAY_SIZE(forks), &host, wanted, ARRAY_SIZE(wanted));
}

/* A process that has the pid of an ended process inherits only from its own parent. */
static void test_forks_of_one_number(void **state)
{
	static const char lines[] =
		LINE(1, 1000, 1050, "\"a\":\"long\"") LINE(9, 1000, 1050, "\"b\":\"other\"");
	struct interval_fork forks[] = {
		{1010, 2, 1, 1}, {1020, 2, 7, 7}, {1030, 2, 9, 9}, {1040, 3, 2, 2}};
	static const struct wanted_fork wanted[] = {
		{2, 2, 15, "long", ""},	 {2, 2, 25, "", ""}, {2, 2, 35, "", "other"},
		{3, 3, 45, "", "other"}, {3, 3, 55, "", ""},
	};

	(void)state;
	assert_inherited(lines, forks, ARRAY_SIZE(forks), &host, wanted, ARRAY_SIZE(wanted));
}

/*
 * The clock of process 1 is shifted. Its child and its child's child, whose clocks are unknown,
 * have the label of process 1 until its interval ends.
 */
static void test_forks_and_clocks(void **state)
{
	const struct intervals_clock clock = {START, shift_of, NULL};
	struct interval_fork forks[] = {{1010, 2, 1, 1}, {1015, 3, 2, 2}};
	static const struct wanted_fork wanted[] = {
		{2, 2, 10, "x", ""}, {3, 3, 19, "x", ""}, {3, 3, 20, "", ""}};

	(void)state;
	assert_inherited(LINE(1, 510, 520, "\"a\":\"x\""), forks, ARRAY_SIZE(forks), &clock, wanted,
			 ARRAY_SIZE(wanted));
}

/* A last line without a newline is taken as still being written, and isn't used. */
static void test_unfinished(void **state)
{
	_cleanup_(intervals_fini) struct intervals v = {};

	(void)state;
	read_ok(&v, LINE(1, 1, 2, "\"a\":\"b\"") "\n{\"pid\":1,\"beg");
	assert_int_equal(v.list.n, 1);
	assert_int_equal(v.bad_lines, 0);
}

static void test_many_values(void **state)
{
	_cleanup_(intervals_fini) struct intervals v = {};
	_cleanup_str_ struct str lines = {};
	struct profile *p = samples(4);
	uint64_t labelled;
	uint32_t set = 0;

	(void)state;
	for (unsigned i = 0; i < INTERVALS_MAX_VALUES; i++)
		str_addf(&lines, LINE(9, 1, 2, "\"a\":\"%u\""), i);
	str_add(&lines, LINE(1, 1000, 1002, "\"a\":\"b\"") LINE(1, 1002, 1004, "\"a\":\"65535\""));
	read_ok(&v, str_cstr(&lines));
	assert_int_equal(intervals_apply(&v, p, &host, NULL, &labelled), 0);
	assert_int_equal(labelled, 8);
	for (uint32_t id = 1; id <= profile_n_labels(p); id++)
		set |= streq(profile_label_text(p, id, "a"), INTERVALS_OTHER) |
		       streq(profile_label_text(p, id, "a"), "65535") << 1 |
		       streq(profile_label_text(p, id, "a"), "b") << 2;
	assert_int_equal(set, 3); /* "b" is beyond the limit, and became INTERVALS_OTHER */
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_many_values),
		cmocka_unit_test(test_passed_over),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_forks_of_one_number),
		cmocka_unit_test(test_forks_and_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
