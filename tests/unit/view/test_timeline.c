/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timeline gives samples thread by thread, in order of time, even if a thread has more samples
 * than the timeline sorts at once.
 */
#include "render_profile.h"

#include "view/shape/timeline.h"

enum { MANY = 600000, FEW = 1000, STACKS = 7 };

struct seen {
	struct profile *p;
	char order[64];
	bool in_thread;
	uint64_t runs;
	int64_t last_ns, samples[2], weight[2];
	uint32_t last_stack;
	int which;
};

static int begin(void *arg, const struct timeline_thread *thread)
{
	struct seen *s = arg;

	assert_false(s->in_thread);
	s->in_thread = true;
	s->which = streq(thread->tid, "11");
	s->last_ns = -2;
	s->last_stack = 0;
	snprintf(s->order + strlen(s->order), 16, "%s/%s ", thread->pid, thread->tid);
	return 0;
}

static int run(void *arg, const struct profile_sample *sample, int64_t last_ns)
{
	struct seen *s = arg;

	assert_true(s->in_thread);
	assert_true(sample->time_ns >= s->last_ns && last_ns >= sample->time_ns);
	if (sample->stack == s->last_stack && sample->time_ns - s->last_ns <= 15000000)
		fail_msg("two runs at %lld", (long long)sample->time_ns);
	s->last_ns = last_ns;
	s->last_stack = sample->stack;
	s->samples[s->which] += sample->values[0];
	s->weight[s->which] += sample->values[1];
	s->runs++;
	return 0;
}

static int end(void *arg, const struct timeline_thread *thread)
{
	struct seen *s = arg;

	assert_true(s->in_thread);
	s->in_thread = false;
	return 0;
}

static void fill(struct profile *p, const char *tid, unsigned n)
{
	struct profile_label set[] = {{profile_string(p, "pid"), profile_string(p, "9")},
				      {profile_string(p, "tid"), profile_string(p, tid)}};
	uint32_t labels = profile_labels(p, set, 2), stacks[STACKS];
	uint64_t seed = n;

	for (unsigned i = 0; i < STACKS; i++) {
		struct test_frame f = {"f", "f.py", (int)i + 1};
		uint32_t at = test_location(p, &f);

		stacks[i] = profile_stack(p, &at, 1);
	}
	/*
	 * of every two blocks of 1,000 samples, the later block comes first, as if from two rings
	 */
	for (unsigned i = 0; i < n; i++) {
		unsigned block = i / 1000 ^ 1;
		struct profile_sample s = {.labels = labels, .values = {1, 1000 + i % 3}};

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		s.stack = stacks[(seed >> 40) % STACKS];
		s.time_ns = ((int64_t)block * 1000 + i % 1000) * 100000;
		assert_int_equal(profile_add(p, &s), 0);
	}
}

static void read_all(struct profile *p, enum profile_times times, struct seen *s)
{
	static const struct timeline_reader reader = {begin, run, end};
	struct timeline t;

	*s = (struct seen){.p = p};
	assert_int_equal(timeline_init(&t, p, times, NULL), 0);
	assert_int_equal(timeline_each(&t, &reader, s), 0);
	assert_string_equal(s->order, "9/9 9/11 ");
	assert_int_equal(s->samples[0], FEW);
	assert_int_equal(s->samples[1], MANY);
	assert_int_equal(s->weight[1], MANY * 1000ll + MANY);
	timeline_fini(&t);
}

static void test_order(void **state)
{
	struct profile *p = test_profile();
	struct seen s;

	fill(p, "11", MANY);
	fill(p, "9", FEW);
	read_all(p, PROFILE_TIMES_EXACT, &s);
	assert_true(s.runs > MANY / 2);
	read_all(p, PROFILE_TIMES_NONE, &s);
	assert_int_equal(s.runs, 2 * STACKS);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
