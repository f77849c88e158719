/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A writer is killed at random moments while it appends frames (batches of samples), seals segments
 * (turns their frames into blocks) and removes the oldest ones. After that, the store has every
 * frame that the writer reported as written, and at most one frame more.
 */
#include "store_writer.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define ROUNDS	    15
#define SAMPLES	    4 /* of a frame */
#define FRAMES	    5 /* of a segment */
#define MOST_FRAMES 400
#define READS	    12

/*
 * Runs in the child: writes frames (batches of samples), and reports each one after it was written.
 */
static void write_frames(uint32_t seed, int report)
{
	struct writer w;

	begin(&w, seed);
	for (unsigned i = 1; i <= MOST_FRAMES; i++) {
		add_samples(&w, SAMPLES);
		write_frame(&w);
		if (write(report, "", 1) != 1)
			_exit(1);
		if (i % FRAMES)
			continue;
		end_segment(&w);
		if (store_seal(w.s, w.place.segment - 1))
			_exit(1);
	}
	pause();
}

/*
 * Kills the writer a moment after it reported some frame (batch of samples). Returns how many
 * frames it reported.
 */
static unsigned kill_writer(uint32_t seed)
{
	uint32_t random = seed * 7919, after = 1 + random_below(&random, 3 * FRAMES);
	struct timespec pause = {.tv_nsec = random_below(&random, 4000000)};
	int fds[2];
	unsigned n = 0;
	pid_t child;
	char byte;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child)
		write_frames(seed, fds[1]);
	close(fds[1]);
	for (; n < after; n++)
		assert_int_equal(read(fds[0], &byte, 1), 1);
	nanosleep(&pause, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	while (read(fds[0], &byte, 1) == 1)
		n++;
	close(fds[0]);
	return n;
}

/* Makes again the samples that the writer wrote in its first @frames frames (batches). */
static struct profile *written(uint32_t seed, size_t frames)
{
	struct profile *p = new_profile();

	for (size_t i = 0; i < frames * SAMPLES; i++) {
		struct profile_sample s = random_sample(p, &seed);

		assert_int_equal(profile_add(p, &s), 0);
	}
	return p;
}

static void expect_written(uint32_t seed, unsigned reported)
{
	struct profile *got = read_back(&all);
	size_t frames = profile_n_samples(got) / SAMPLES;
	struct profile *expected = written(seed, frames);

	assert_in_range(frames, reported, reported + 1);
	assert_same_samples(expected, got);
	assert_int_equal(profile_meta(got)->comments.n_warnings, 0);
	profile_free(expected);
	profile_free(got);
}

static void test_killed(void **state)
{
	unsigned sum = 0;

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		unsigned reported;
		struct store *s;

		empty(state);
		reported = kill_writer(round);
		expect_written(round, reported);
		s = open_store(getpid());
		assert_int_equal(store_seal_rest(s), 0);
		store_close(s);
		expect_written(round, reported);
		sum += reported;
	}
	print_message("%u frames, none lost\n", sum);
}

/*
 * A reader reads while frames (batches of samples) are written and sealed (turned into blocks). It
 * gets whole frames, from the first one on, without a gap.
 */
static void test_read_meanwhile(void **state)
{
	int fds[2];
	pid_t child;
	char byte;

	empty(state);
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child)
		write_frames(99, fds[1]);
	close(fds[1]);
	for (unsigned i = 1; i <= READS; i++) {
		struct profile *got, *expected;

		assert_int_equal(read(fds[0], &byte, 1), 1);
		got = read_back(&all);
		assert_true(profile_n_samples(got) >= (uint64_t)i * SAMPLES);
		expected = written(99, profile_n_samples(got) / SAMPLES);
		assert_same_samples(expected, got);
		profile_free(expected);
		profile_free(got);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed),
					   cmocka_unit_test(test_read_meanwhile)};

	return run_in_directory(tests);
}
