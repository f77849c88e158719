/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many short waits come without a stack. Their time is divided between the stacks that were taken
 * at the same call site. Whatever the lengths of the waits, each stack must get its share, and no
 * time may be lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/thread/shares.h"
#include "collect/thread/wait_state.h"
#include "waits.h"

#define US 1000ull

/*
 * A simulated thread that waits at one call site. Stacks are taken by chance, as the kernel program
 * does it.
 */
struct program {
	struct wait_shares *shares;
	uint64_t random, period_ns, cost_ns;
	uint64_t n, ns, n_before,
		/* sum of the lengths of earlier waits, as in the kernel program's average_of() */
		ns_before;
	uint64_t owed_ns, gil_owed_ns;
	double true_ns[3], got_ns[3], gil_ns;
	unsigned stacks;
};

static uint32_t draw(struct program *p)
{
	p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(p->random >> 32);
}

static void add(struct program *p, const struct waiting *w)
{
	p->got_ns[w->rec.stack] += (double)w->rec.weight;
	p->gil_ns += (double)w->gil_ns;
}

/* The thread waits for @ns with stack @stack. */
static void wait_for(struct program *p, unsigned stack, uint64_t ns)
{
	uint64_t average = (p->ns + p->ns_before) / (p->n + p->n_before + 1);
	uint64_t times =
		average && average < p->period_ns ? p->period_ns * WAIT_ONE / average : WAIT_ONE;
	bool taken = draw(p) < (1ull << 32) * WAIT_ONE / times - (times == WAIT_ONE);
	struct waiting w = {.rec.stack = stack, .times = (uint32_t)times, .site = 3};

	ns += taken ? p->cost_ns : 0;
	p->true_ns[stack] += (double)ns;
	p->n++;
	p->ns += ns;
	if (p->ns >= WAIT_WINDOW_NS) {
		p->n_before = p->n;
		p->ns_before = p->ns;
		p->n = p->ns = 0;
	}
	if (!taken) {
		p->owed_ns += ns;
		p->gil_owed_ns += ns / 2;
		return;
	}
	w.rec.weight = ns;
	w.gil_ns = ns / 2;
	w.cost_ns = (uint32_t)p->cost_ns;
	w.others_ns = p->owed_ns;
	w.gil_others_ns = p->gil_owed_ns;
	p->owed_ns = p->gil_owed_ns = 0;
	p->stacks++;
	shares_take(&p->shares, &w);
	add(p, &w);
}

/*
 * Ends the thread. Checks that all sums are right, and that no share is wrong by more than @points
 * percentage points.
 */
static void end(struct program *p, double points)
{
	struct waiting w = {.times = WAIT_ONE,
			    .site = 3,
			    .others_ns = p->owed_ns,
			    .gil_others_ns = p->gil_owed_ns};
	double all = p->true_ns[0] + p->true_ns[1] + p->true_ns[2];

	shares_take(&p->shares, &w);
	add(p, &w);
	while (shares_left(p->shares, &w))
		add(p, &w);
	assert_true(all == p->got_ns[0] + p->got_ns[1] + p->got_ns[2]);
	assert_in_range((uint64_t)p->gil_ns, (uint64_t)(all / 2) - 40000, (uint64_t)(all / 2));
	for (int i = 0; i < 3; i++) {
		double off = 100 * (p->got_ns[i] - p->true_ns[i]) / all;

		if (off > points || off < -points)
			fail_msg("stack %d: %.2f %%, not %.2f", i, 100 * p->got_ns[i] / all,
				 100 * p->true_ns[i] / all);
	}
	shares_free(p->shares);
}

static struct program program(uint64_t period_ns, uint64_t cost_ns)
{
	return (struct program){.random = 7, .period_ns = period_ns, .cost_ns = cost_ns};
}

/* Short waits and waits ten times as long take turns at one call site. */
static void test_in_turn(void **state)
{
	struct program p = program(3000 * US, 0);

	(void)state;
	for (int i = 0; i < 60000; i++)
		wait_for(&p, i % 2, i % 2 ? 200 * US : 20 * US);
	assert_in_range(p.stacks, 1500, 3000);
	end(&p, 1.5);
}

/* One wait of ten is long, at random. */
static void test_drawn(void **state)
{
	struct program p = program(3000 * US, 0);

	(void)state;
	for (int i = 0; i < 100000; i++) {
		bool is_long = draw(&p) % 10 == 0;

		wait_for(&p, is_long, is_long ? 500 * US : 20 * US);
	}
	end(&p, 2.5);
}

/*
 * At one call site there are 500 short waits for each wait of 30 ms. The long waits take three
 * quarters of the time.
 */
static void test_rare(void **state)
{
	struct program p = program(2000 * US, 0);

	(void)state;
	for (int i = 0; i < 500 * 400; i++)
		wait_for(&p, i % 500 == 0, i % 500 ? 20 * US : 30000 * US);
	assert_true(p.true_ns[1] > 0.7 * (p.true_ns[0] + p.true_ns[1]));
	end(&p, 15);
}

/* The program waits with one stack for a while, and then with another. */
static void test_phases(void **state)
{
	struct program p = program(3000 * US, 0);

	(void)state;
	for (int i = 0; i < 60000; i++)
		wait_for(&p, i / 20000, i / 20000 ? 100 * US : 50 * US);
	end(&p, 1.5);
}

/*
 * A wait gets longer if its stack is taken. That extra time isn't given to waits without a stack.
 */
static void test_cost(void **state)
{
	struct program p = program(3000 * US, 15 * US);

	(void)state;
	for (int i = 0; i < 60000; i++)
		wait_for(&p, i % 2, i % 2 ? 200 * US : 20 * US);
	end(&p, 1.5);
}

/* Call sites don't share time. Time that is left at the end goes to a wait at its own call site. */
static void test_sites(void **state)
{
	struct waiting one = {.rec = {.stack = 1, .weight = 10}, .times = 2 * WAIT_ONE, .site = 1};
	struct waiting two = {.rec = {.stack = 2, .weight = 20}, .times = 2 * WAIT_ONE, .site = 2};
	struct waiting left = one;
	struct wait_shares *s = NULL;

	(void)state;
	one.others_ns = 12;
	one.state = 5 | WAIT_STATE_OPEN;
	shares_take(&s, &one);
	assert_int_equal(one.rec.weight, 22);
	shares_take(&s, &two);
	assert_int_equal(two.rec.weight, 20);
	assert_false(shares_left(s, &left));
	left = (struct waiting){
		.rec = {.stack = 3, .weight = 1}, .times = WAIT_ONE, .site = 1, .others_ns = 7};
	/* stack 1 gets all the time of waits without a stack, and stack 3 gets none of it */
	shares_take(&s, &left);
	assert_int_equal(left.rec.weight, 1);
	assert_true(shares_left(s, &left));
	assert_int_equal(left.rec.weight, 7);
	assert_int_equal(left.rec.stack, 1);
	assert_int_equal(left.site, 1);
	assert_false(left.state & WAIT_STATE_OPEN);
	assert_false(shares_left(s, &left));
	shares_free(s);
}

/* There are far more stacks than krait tells apart. Still, the sum of their times is right. */
static void test_many_stacks(void **state)
{
	struct wait_shares *s = NULL;
	uint64_t sum = 0, got = 0;
	struct waiting w;

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		w = (struct waiting){.rec = {.stack = (i * i) << 20, .weight = 100},
				     .times = 3 * WAIT_ONE,
				     .site = i % 2,
				     .others_ns = 150 + i % 100};
		sum += w.rec.weight + w.others_ns;
		shares_take(&s, &w);
		got += w.rec.weight;
	}
	while (shares_left(s, &w))
		got += w.rec.weight;
	assert_int_equal(got, sum);
	shares_free(s);
}

/* Impossible numbers, which no kernel sends, do no harm. */
static void test_nonsense(void **state)
{
	struct waiting w = {.rec = {.weight = UINT64_MAX},
			    .times = UINT32_MAX,
			    .cost_ns = UINT32_MAX,
			    .others_ns = UINT64_MAX,
			    .gil_others_ns = UINT64_MAX};
	struct wait_shares *s = NULL;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct waiting one = w;

		shares_take(&s, &one);
	}
	for (int i = 0; i < 3; i++)
		shares_left(s, &w);
	assert_false(shares_left(s, &w));
	assert_false(shares_left(NULL, &w));
	shares_free(s);
	shares_free(NULL);
}

/*
 * A record may bring the time of waits without a stack, but no wait of its own. The time goes to
 * the stacks that its call site has.
 */
static void test_owe(void **state)
{
	struct waiting one = {.rec = {.stack = 1, .weight = 10}, .times = 2 * WAIT_ONE, .site = 1};
	struct waiting owed = {.rec.stack = 9, .site = 1, .others_ns = 7, .gil_others_ns = 5};
	struct wait_shares *s = NULL;
	struct waiting left;

	(void)state;
	assert_false(shares_owe(s, &owed));
	shares_take(&s, &one);
	assert_true(shares_owe(s, &owed));
	assert_true(shares_left(s, &left));
	assert_int_equal(left.rec.stack, 1);
	assert_int_equal(left.rec.weight, 7);
	assert_int_equal(left.gil_ns, 5);
	assert_false(shares_left(s, &left));
	owed.site = 2;
	assert_false(shares_owe(s, &owed));
	shares_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owe),	 cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_drawn),	 cmocka_unit_test(test_rare),
		cmocka_unit_test(test_phases),	 cmocka_unit_test(test_cost),
		cmocka_unit_test(test_sites),	 cmocka_unit_test(test_many_stacks),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
