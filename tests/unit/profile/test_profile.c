/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile in memory: interned objects, stacks, labels, sums, and the sample log (in memory, in
 * a file, across its blocks). The test keeps the right answers in plain arrays.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "profile/profile.h"
#include "profile/sums.h"

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void strings_are_interned(void **state)
{
	struct profile *p = profile_new();
	char name[32];

	assert_int_equal(profile_string(p, ""), 0);
	assert_string_equal(profile_get_string(p, 0), "");
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 1; i <= 20000; i++) {
			snprintf(name, sizeof(name), "name%u", i);
			assert_int_equal(profile_string(p, name), i);
		}
	}
	for (unsigned i = 1; i <= 20000; i++) {
		snprintf(name, sizeof(name), "name%u", i);
		assert_string_equal(profile_get_string(p, i), name);
	}
	assert_int_equal(profile_n_strings(p), 20000);
	assert_false(profile_failed(p));
	profile_free(p);
}

static void strings_do_not_move(void **state)
{
	struct profile *p = profile_new();
	const char *first = profile_get_string(p, profile_string(p, "first"));
	char *big = malloc(300000);
	uint32_t id;

	memset(big, 'x', 300000);
	id = profile_string_n(p, big, 300000);
	assert_int_equal(strlen(profile_get_string(p, id)), 300000);
	for (unsigned i = 0; i < 5000; i++)
		profile_string_n(p, big, i + 1);
	assert_string_equal(first, "first");
	assert_ptr_equal(first, profile_get_string(p, 1));
	free(big);
	profile_free(p);
}

static void invalid_utf8_is_replaced(void **state)
{
	static const struct {
		const char *in;
		size_t n;
		const char *out;
	} cases[] = {
		{"caf\xc3\xa9", 5, "caf\xc3\xa9"},
		{"\xff", 1, "\xef\xbf\xbd"},
		{"a\0b", 3,
		 "a\xef\xbf\xbd"
		 "b"},
		{"\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd"}, /* an overlong sequence */
		{"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
		{"\xf0\x9f\x90", 3, "\xef\xbf\xbd"}, /* a sequence of UTF-8 that is cut short */
		{"\xf0\x9f\x90\x8dz", 5, "\xf0\x9f\x90\x8dz"},
		{"\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		/* the example of Unicode 15, table 3-8: 61 F1 80 80 E1 80 C2 62 80 63 */
		{"a\xf1\x80\x80\xe1\x80\xc2"
		 "b\x80"
		 "c",
		 10,
		 "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
		 "b\xef\xbf\xbd"
		 "c"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = profile_new();
		uint32_t id = profile_string_n(p, cases[i].in, cases[i].n);

		assert_string_equal(profile_get_string(p, id), cases[i].out);
		profile_free(p);
	}
}

static void objects_are_interned(void **state)
{
	struct profile *p = profile_new();
	struct profile_mapping m = {.name = 1, .kind = KIND_NATIVE, .start = 7};
	struct profile_location l = {.mapping = 1, .function = 1, .line = 3};

	memset(&m, 0xff, sizeof(m)); /* bytes of padding in the struct must not make a difference */
	m = (struct profile_mapping){.name = 1, .kind = KIND_NATIVE, .start = 7};
	assert_int_equal(profile_mapping(p, &m), 1);
	assert_int_equal(profile_location(p, &l), 1);
	l.column = 1;
	assert_int_equal(profile_location(p, &l), 2);
	l.column = 0;
	assert_int_equal(profile_location(p, &l), 1);
	m = (struct profile_mapping){.name = 1, .kind = KIND_KERNEL, .start = 7};
	assert_int_equal(profile_mapping(p, &m), 2);
	assert_int_equal(profile_get_mapping(p, 2)->kind, KIND_KERNEL);
	assert_int_equal(profile_get_location(p, 2)->column, 1);
	profile_free(p);
}

static void stacks_keep_their_frames(void **state)
{
	enum { N = 500, MAX_DEPTH = 90 };
	struct profile *p = profile_new();
	static uint32_t frames[N][MAX_DEPTH];
	size_t depth[N], n;
	uint64_t seed = 1;

	for (unsigned i = 0; i < N; i++) {
		depth[i] = i % MAX_DEPTH;
		for (size_t j = 0; j < depth[i]; j++)
			frames[i][j] = 1 + (uint32_t)next_random(&seed) % 5;
		if (depth[i])
			frames[i][0] = 1000 + i;
		profile_stack(p, frames[i], depth[i]);
	}
	for (unsigned i = 0; i < N; i++) {
		uint32_t id = profile_stack(p, frames[i], depth[i]);
		const uint32_t *got = profile_get_stack(p, id, &n);

		assert_int_equal(n, depth[i]);
		assert_memory_equal(got, frames[i], n * sizeof(*got));
	}
	/* all stacks without frames are the same stack */
	assert_int_equal(profile_n_stacks(p), N - N / MAX_DEPTH);
	profile_free(p);
}

static void two_stacks_can_be_compared(void **state)
{
	struct profile *p = profile_new();
	uint32_t a[] = {1, 2, 3}, b[] = {4, 2, 3};
	uint32_t ida = profile_stack(p, a, 3), idb = profile_stack(p, b, 3);
	size_t n;
	const uint32_t *va = profile_get_stack(p, ida, &n), *vb = profile_get_stack(p, idb, &n);

	assert_memory_equal(va, a, sizeof(a));
	assert_memory_equal(vb, b, sizeof(b));
	profile_free(p);
}

/*
 * profile_get_stack() keeps its last two results. Asking for the older one again makes it the newer
 * one.
 */
static void a_stack_asked_for_again_stays(void **state)
{
	struct profile *p = profile_new();
	uint32_t a[] = {1, 2, 3}, b[] = {4, 2}, c[] = {5, 2, 3, 6};
	uint32_t ids[] = {profile_stack(p, a, 3), profile_stack(p, b, 2), profile_stack(p, c, 4)};
	size_t n;
	const uint32_t *va, *vc;

	profile_get_stack(p, ids[0], &n);
	profile_get_stack(p, ids[1], &n);
	va = profile_get_stack(p, ids[0], &n);
	assert_int_equal(n, 3);
	vc = profile_get_stack(p, ids[2], &n);
	assert_int_equal(n, 4);
	assert_memory_equal(va, a, sizeof(a));
	assert_memory_equal(vc, c, sizeof(c));
	assert_memory_equal(profile_get_stack(p, ids[1], &n), b, sizeof(b));
	assert_int_equal(n, 2);
	profile_free(p);
}

static void labels_have_one_value_a_key(void **state)
{
	struct profile *p = profile_new();
	uint32_t a = profile_string(p, "a"), b = profile_string(p, "b"), c = profile_string(p, "c");
	struct profile_label in[] = {{b, 1}, {a, 2}, {b, 3}, {c, 4}};
	struct profile_label other[] = {{c, 4}, {b, 3}, {a, 2}};
	uint32_t id = profile_labels(p, in, 4);
	const struct profile_label *got;
	size_t n;

	assert_int_equal(profile_labels(p, other, 3), id);
	got = profile_get_labels(p, id, &n);
	assert_int_equal(n, 3);
	assert_int_equal(got[0].key, a);
	assert_int_equal(got[1].key, b);
	assert_int_equal(got[1].value, 3);
	assert_int_equal(got[2].key, c);
	assert_int_equal(profile_labels(p, in, 0), 0);
	profile_get_labels(p, 0, &n);
	assert_int_equal(n, 0);
	profile_free(p);
}

/*
 * Makes a sample from @seed. Times grow steadily from sample to sample; now and then a time jumps,
 * goes back or is missing. There are few different values.
 */
static struct profile_sample random_sample(uint64_t *seed, int64_t *now)
{
	struct profile_sample s = {
		.stack = 1 +
			 (uint32_t)(next_random(seed) % (next_random(seed) % 8 ? 300 : 1u << 30)),
		.labels = (uint32_t)(next_random(seed) % (next_random(seed) % 8 ? 3 : 1u << 30)),
		.values = {1, 1001001},
	};
	uint64_t what = next_random(seed) % 64;

	*now += what == 0   ? (int64_t)(next_random(seed) << 20)
		: what == 1 ? -MIN(*now, (int64_t)next_random(seed))
			    : (int64_t)(next_random(seed) % 2000000);
	s.time_ns = what == 2 ? -1 : *now;
	if (what == 3)
		s.values[1] = (int64_t)next_random(seed) - (1 << 30);
	if (what == 4)
		s.values[3] = INT64_MIN + (int64_t)next_random(seed) % 2;
	if (what == 5)
		s.values[PROFILE_MAX_VALUES - 1] = (int64_t)next_random(seed);
	return s;
}

struct replay {
	uint64_t seed, n;
	int64_t now;
	uint64_t stop_at;
};

static int compare_sample(void *arg, const struct profile_sample *got)
{
	struct replay *r = arg;
	struct profile_sample want = random_sample(&r->seed, &r->now);

	assert_int_equal(got->stack, want.stack);
	assert_int_equal(got->labels, want.labels);
	assert_int_equal(got->time_ns, want.time_ns);
	assert_memory_equal(got->values, want.values, sizeof(want.values));
	return ++r->n == r->stop_at ? 42 : 0;
}

static void check_log(unsigned n)
{
	struct profile *p = profile_new();
	struct replay r = {.seed = n};
	uint64_t seed = n;
	int64_t now = 0;

	profile_meta(p)->n_values = PROFILE_MAX_VALUES;

	for (unsigned i = 0; i < n; i++) {
		struct profile_sample s = random_sample(&seed, &now);

		assert_int_equal(profile_add(p, &s), 0);
	}
	assert_int_equal(profile_n_samples(p), n);
	assert_int_equal(profile_each(p, compare_sample, &r), 0);
	assert_int_equal(r.n, n);
	if (n > 10) {
		r = (struct replay){.seed = n, .stop_at = 10};
		assert_int_equal(profile_each(p, compare_sample, &r), 42);
		assert_int_equal(r.n, 10);
	}
	profile_free(p);
}

static void samples_come_back(void **state)
{
	check_log(0);
	check_log(1);
	check_log(1000);
	check_log(200000);
}

/*
 * The sample log's file may not grow beyond a few blocks, as on a full disk. Later samples stay in
 * memory.
 */
static void a_full_disk_loses_nothing(void **state)
{
	struct rlimit old, limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){200000, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	check_log(200000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

/* If no file descriptor is left, the profile keeps all samples in memory. */
static void samples_need_no_file(void **state)
{
	struct rlimit old, limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = (struct rlimit){3, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	check_log(200000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void sums_add_up(void **state)
{
	enum { STACKS = 50, LABELS = 7, N = 100000 };
	static int64_t want[STACKS + 1][LABELS][2];
	struct profile *p = profile_new();
	_cleanup_free_ struct profile_sum *sums = NULL;
	uint64_t seed = 3;
	size_t n, distinct = 0;

	profile_meta(p)->n_values = 2;
	for (unsigned i = 0; i < N; i++) {
		struct profile_sample s = {
			.stack = 1 + (uint32_t)next_random(&seed) % STACKS,
			.labels = (uint32_t)next_random(&seed) % LABELS,
			.time_ns = i,
			.values = {1, (int64_t)next_random(&seed) % 1000},
		};

		distinct += !want[s.stack][s.labels][0];
		want[s.stack][s.labels][0]++;
		want[s.stack][s.labels][1] += s.values[1];
		assert_int_equal(profile_add(p, &s), 0);
	}
	/* in the second round there is nothing left to sum up */
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(profile_forget_times(p), 0);
		assert_int_equal(profile_n_samples(p), distinct);
	}
	assert_int_equal(profile_sums(p, &sums, &n), 0);
	assert_int_equal(n, distinct);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(sums[i].values[0], want[sums[i].stack][sums[i].labels][0]);
		assert_int_equal(sums[i].values[1], want[sums[i].stack][sums[i].labels][1]);
	}
	profile_free(p);
}

/*
 * sums_add_near() remembers the entry of the sums that each stack used last. The sums must be right
 * when labels alternate, after entries got more values or were removed, and beside calls of
 * sums_add().
 */
static void near_sums_add_up(void **state)
{
	enum { STACKS = 50, LABELS = 3, N = 20000 };
	_cleanup_(sums_fini) struct sums s;
	uint64_t seed = 4;

	sums_init(&s, 1);
	for (unsigned round = 0; round < 3; round++) {
		int64_t want[STACKS][LABELS][2] = {};
		size_t distinct = 0;

		sums_clear(&s);
		for (unsigned i = 0; i < N; i++) {
			const struct sums_key key = {(uint32_t)next_random(&seed) % STACKS,
						     (uint32_t)next_random(&seed) % LABELS, -1};
			const int64_t values[2] = {1, (int64_t)next_random(&seed) % 1000};
			int64_t *to = want[key.stack][key.labels];

			if (!round && i == N / 2)
				assert_int_equal(sums_widen(&s, 2), 0);
			distinct += !to[0];
			to[0]++;
			to[1] += s.n_values == 2 ? values[1] : 0;
			assert_int_equal(round < 2 || i % 7 ? sums_add_near(&s, &key, values)
							    : sums_add(&s, &key, values),
					 0);
		}
		assert_int_equal(s.n, distinct);
		sums_foreach(e, &s) assert_memory_equal(
			e->values, want[e->key.stack][e->key.labels], sizeof(want[0][0]));
	}
}

/*
 * When a stack is asked for, the frames at its root that it shares with the stack asked for before
 * aren't looked up again. The test asks in random order.
 */
static void stacks_share_their_root_ends(void **state)
{
	enum { N = 300, DEPTH = 24 };
	static uint32_t frames[N][DEPTH];
	size_t depth[N], n;
	uint32_t ids[N];
	struct profile *p = profile_new();

	srandom(1);
	for (unsigned i = 0; i < N; i++) {
		depth[i] = (size_t)random() % DEPTH;
		for (size_t k = 0; k < depth[i]; k++)
			frames[i][k] = 1 + (uint32_t)random() % 2;
		ids[i] = profile_stack(p, frames[i], depth[i]);
	}
	for (unsigned i = 0; i < 20000; i++) {
		unsigned which = (unsigned)random() % N;
		const uint32_t *got = profile_get_stack(p, ids[which], &n);

		assert_int_equal(n, depth[which]);
		assert_memory_equal(got, frames[which], n * sizeof(*got));
	}
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_interned),
		cmocka_unit_test(strings_do_not_move),
		cmocka_unit_test(invalid_utf8_is_replaced),
		cmocka_unit_test(objects_are_interned),
		cmocka_unit_test(stacks_keep_their_frames),
		cmocka_unit_test(two_stacks_can_be_compared),
		cmocka_unit_test(stacks_share_their_root_ends),
		cmocka_unit_test(a_stack_asked_for_again_stays),
		cmocka_unit_test(labels_have_one_value_a_key),
		cmocka_unit_test(samples_come_back),
		cmocka_unit_test(a_full_disk_loses_nothing),
		cmocka_unit_test(samples_need_no_file),
		cmocka_unit_test(sums_add_up),
		cmocka_unit_test(near_sums_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
