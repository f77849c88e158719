/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait draws the sampling period at random. The test computes how wrong a program's shares can get
 * if the program's rhythm is close to that of the sampling.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/error.h"
#include "base/util.h"
#include "sampler/sources/event_set.h"
#include "sampler/sources/rate.h"

#define START_NS 1000
/*
 * the most sampling periods until krait draws a new period at random, in a process that works
 * without a pause
 */
#define LONGEST_PERIODS 80

struct seen {
	/*
	 * number of all samples, and of those in the first part of a beat (a round of the program's
	 * work)
	 */
	uint64_t all, within;
};

/*
 * Takes a sample every @period ns, after @from and until @to. The program repeats its work every
 * @beat_ns (a beat).
 */
static void take(struct seen *s, uint64_t period, uint64_t from, uint64_t to, double beat_ns,
		 double share)
{
	for (uint64_t t = from + period; t <= to; t += period) {
		double place = fmod((double)t, beat_ns) / beat_ns;

		s->all++;
		s->within += place < share;
	}
}

/* Returns @ns, times 0.9 to 1.1: the time that krait sleeps varies that much (record/run.c). */
static uint64_t about(uint64_t ns, uint64_t i)
{
	return ns * (900 + i * 7919 % 201) / 1000;
}

/*
 * Takes samples for @ns. About every @drain_ns, a new period is drawn at random, as
 * event_set_vary() does.
 */
static struct seen run(const struct event *e, uint64_t ns, uint64_t drain_ns, double beat_ns,
		       double share, uint64_t random)
{
	struct rate r = {};
	struct seen s = {};
	uint64_t end = START_NS + ns, slept;

	rate_draw(&r, e, 0, &random);
	r.since_ns = START_NS;
	for (uint64_t now = START_NS, turn = random; now < end;) {
		slept = MIN(about(drain_ns, turn++), end - now);
		now += slept;
		r.records += slept / e->period;
		if (!rate_is_due(&r, e, now) && now < end)
			continue;
		for (unsigned i = 0; i < r.parts; i++)
			take(&s, r.period[i], r.since_ns, now, beat_ns, share);
		rate_draw(&r, e, now, &random);
	}
	return s;
}

static void clock_at(struct event *e, uint32_t hz)
{
	assert_int_equal(event_parse(e, "cpu-clock"), 0);
	assert_int_equal(event_set_rate(e, hz, 0), 0);
}

/* Returns the time from one reading (drain) of the rings to the next, as in record/run.c. */
static uint64_t drain_ns(uint32_t hz)
{
	return MIN(MAX(400 * 1000ull / hz, 100ull), 400ull) * NSEC_PER_MSEC;
}

static const uint32_t rates[] = {99, 100, 499, 999, 1000, 1998, 3999, 9999};

/*
 * The number of samples is the time divided by the mean period. Time that is lost when the period
 * changes is made up for later.
 */
static void test_number(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct event e;
		struct seen s;
		double due;

		clock_at(&e, rates[i]);
		s = run(&e, 100 * NSEC_PER_SEC, drain_ns(rates[i]), 1e9, 0.5, i);
		due = 100.0 * NSEC_PER_SEC / (double)e.period;
		if (fabs((double)s.all - due) > 12)
			fail_msg("%u Hz: %lu samples, %.0f due", rates[i], (unsigned long)s.all,
				 due);
	}
}

/*
 * The sampling rate changes again and again. Each sample's weight is the time that it stands for.
 * The weights add up to the elapsed time, without the part that the last change lost.
 */
static void test_change(void **state)
{
	static const uint32_t hz[] = {99, 49, 24, 12, 99, 198, 999, 24};
	struct event e, to;
	struct rate r = {};
	uint64_t random = 1, now = START_NS;
	double weight = 0, off;

	clock_at(&e, hz[0]);
	rate_draw(&r, &e, 0, &random);
	r.since_ns = START_NS;
	for (unsigned turn = 1; turn < 2000; turn++) {
		struct seen s = {};

		now += about(LONGEST_PERIODS * e.period, turn);
		for (unsigned i = 0; i < r.parts; i++)
			take(&s, r.period[i], r.since_ns, now, 1e9, 0.5);
		weight += (double)s.all * (double)e.period;
		clock_at(&to, hz[turn / 10 % ARRAY_SIZE(hz)]);
		if (to.period == e.period)
			rate_draw(&r, &e, now, &random);
		else
			rate_change(&r, &e, &to, now, &random);
		e = to;
	}
	off = (double)(now - START_NS) - weight;
	if (fabs(off) > 0.5 * NSEC_PER_SEC)
		fail_msg("%.3f s are missing of %.0f", off / 1e9, (double)(now - START_NS) / 1e9);
}

/*
 * Tries every sampling rate against every rhythm, 20 times each. If samples were independent, their
 * errors would have a root mean square of one standard error, and 0.3 % of them would be above
 * three.
 */
static void test_in_step(void **state)
{
	static const double beats[] = {10,  33,	 49.5, 99,   100,  198,	 200,  333,  499.5,
				       500, 999, 1000, 1332, 1998, 2000, 2997, 9999, 10000};
	static const double shares[] = {0.5, 0.2};
	unsigned n = 0, above = 0;
	double squares = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		for (size_t b = 0; b < ARRAY_SIZE(beats); b++)
			for (unsigned k = 0; k < 20; k++) {
				double share = shares[k % 2], off;
				struct event e;
				struct seen s;

				clock_at(&e, rates[i]);
				s = run(&e, 10000 * e.period, drain_ns(rates[i]), 1e9 / beats[b],
					share, n);
				off = (double)s.within / (double)s.all - share;
				off /= sqrt(share * (1 - share) / (double)s.all);
				squares += off * off;
				above += fabs(off) > 3;
				if (fabs(off) > 12)
					fail_msg("%u Hz, %.1f beats: off by %.1f standard errors",
						 rates[i], beats[b], off);
				n++;
			}
	print_message("%u runs: %.2f standard errors, %u above 3\n", n, sqrt(squares / n), above);
	assert_true(sqrt(squares / n) < 1.1);
	assert_true(above < n / 100);
}

/*
 * for how long a sample's interrupt stops the program, and how late the interrupt comes (both
 * measured, docs/decisions/0017)
 */
#define INTERRUPT_NS 21000
#define LATE_NS	     2000

/*
 * A program whose parts begin and end at fixed times of the clock. Interrupts for samples take time
 * of these parts.
 */
enum part { FIRST, SECOND, THIRD, BETWEEN, PARTS };
struct program {
	struct event event;
	struct rate rate;
	uint64_t random, now, due[RATE_PARTS_MAX];
	double seen[PARTS], spent[PARTS];
};

static void draw(struct program *p)
{
	rate_draw(&p->rate, &p->event, p->now, &p->random);
	for (unsigned i = 0; i < p->rate.parts; i++)
		p->due[i] = p->now + p->rate.period[i];
}

static void take_due(struct program *p, enum part part)
{
	for (unsigned i = 0; i < p->rate.parts; i++)
		for (; p->due[i] <= p->now; p->due[i] += p->rate.period[i])
			p->seen[part]++;
}

static uint64_t next_interrupt(const struct program *p)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < p->rate.parts; i++)
		next = MIN(next, p->due[i] + LATE_NS);
	return next;
}

/* Runs @part until @end. With @delayed, @end is put off by the time that interrupts take. */
static void spend(struct program *p, enum part part, uint64_t end, bool delayed)
{
	uint64_t from = p->now, next;

	while ((next = next_interrupt(p)) < end && p->now < end) {
		p->now = MAX(p->now, next);
		take_due(p, part);
		p->now += INTERRUPT_NS;
		take_due(p, part); /* this takes time, after which another interrupt may be due */
		end += delayed ? INTERRUPT_NS : 0;
	}
	p->now = MAX(p->now, end);
	p->spent[part] += (double)(p->now - from);
}

static void beats(struct program *p, unsigned n, uint64_t beat)
{
	uint64_t changed = p->now;

	for (uint64_t at = 0; n--; at = MAX(at + beat, p->now / beat * beat)) {
		spend(p, FIRST, at + beat / 2, false);
		spend(p, SECOND, at + beat * 4 / 5, false);
		spend(p, THIRD, at + beat, false);
		spend(p, BETWEEN, p->now + beat / 20, true);
		if (p->now - changed > about(150 * NSEC_PER_MSEC, n)) {
			changed = p->now;
			draw(p);
		}
	}
}

/* Returns the error, in percentage points, of @part's share in the first @n parts together. */
static double wrong(const struct program *p, enum part part, unsigned n)
{
	double seen = 0, spent = 0;

	for (unsigned i = 0; i < n; i++) {
		seen += p->seen[i];
		spent += p->spent[i];
	}
	return 100 * (p->seen[part] / seen - p->spent[part] / spent);
}

/*
 * Code that runs right after an interrupt gets too few samples. A program starts three functions at
 * fixed times of the clock, and then waits for the next round (BETWEEN). The functions' shares are
 * right only if the time of this wait is added to the first function. A standard error is 0.04
 * points.
 */
static void test_interrupts(void **state)
{
	struct program p = {.random = 1, .now = START_NS};

	clock_at(&p.event, 9999);
	draw(&p);
	beats(&p, 1500000, NSEC_PER_SEC / 8123);
	print_message("left out: %.3f points too much in the first, %.3f in between\n",
		      wrong(&p, FIRST, BETWEEN), wrong(&p, BETWEEN, PARTS));
	assert_true(wrong(&p, FIRST, BETWEEN) > 0.1);
	assert_true(wrong(&p, BETWEEN, PARTS) < -0.2);
	p.seen[FIRST] += p.seen[BETWEEN];
	p.spent[FIRST] += p.spent[BETWEEN];
	for (enum part part = FIRST; part < BETWEEN; part++)
		if (fabs(wrong(&p, part, BETWEEN)) > 0.1)
			fail_msg("part %u: %.3f points too much", part, wrong(&p, part, BETWEEN));
}

/*
 * If events are counted (-c), krait chooses a period without small factors. So a rhythm of a few
 * events is sampled at all its points.
 */
static void test_counts(void **state)
{
	static const uint64_t counts[] = {2, 3, 10, 100, 1000, 1 << 20, 1ull << 62};
	uint64_t random = 1;
	struct event e;
	struct rate r = {};

	assert_int_equal(event_parse(&e, "page-faults"), 0);
	assert_int_equal(event_set_rate(&e, 0, 1), 0);
	rate_draw(&r, &e, 0, &random);
	assert_int_equal(r.parts, 1);
	assert_int_equal(r.period[0], 1);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		assert_int_equal(event_set_rate(&e, 0, counts[i]), 0);
		for (unsigned k = 0; k < 1000; k++) {
			rate_draw(&r, &e, 1, &random);
			assert_true(r.period[0] > 1 && r.period[0] < 1ull << 63);
			assert_true((double)r.period[0] < 1.5 * (double)counts[i] + 1000);
			for (uint64_t f = 2; f < 10 && f < r.period[0]; f++)
				assert_true(r.period[0] % f);
		}
	}
}

static void test_adapted(void **state)
{
	uint64_t random = 1, low = UINT64_MAX, high = 0;
	struct event e;
	struct rate r = {};

	assert_int_equal(event_parse(&e, "cycles"), 0);
	assert_int_equal(event_set_rate(&e, 999, 0), 0);
	rate_draw(&r, &e, 0, &random);
	assert_int_equal(r.period[0], 999);
	for (unsigned k = 0; k < 1000; k++) {
		rate_draw(&r, &e, 1, &random);
		low = MIN(low, r.period[0]);
		high = MAX(high, r.period[0]);
	}
	assert_true(low >= 499 && low < 550 && high > 1440 && high <= 1499);
}

/*
 * The period isn't changed if there were few samples since the last change, or if that change was
 * just now.
 */
static void test_due(void **state)
{
	struct event e;
	struct rate r = {.since_ns = START_NS, .records = 1000};

	clock_at(&e, 1000);
	assert_false(rate_is_due(&r, &e, START_NS + 10 * NSEC_PER_MSEC));
	assert_true(rate_is_due(&r, &e, START_NS + 100 * NSEC_PER_MSEC));
	r.records = 3;
	assert_false(rate_is_due(&r, &e, START_NS + 100 * NSEC_PER_MSEC));
	r.since_ns = 0;
	assert_false(rate_is_due(&r, &e, START_NS + 100 * NSEC_PER_MSEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number),	cmocka_unit_test(test_change),
		cmocka_unit_test(test_in_step), cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_counts),	cmocka_unit_test(test_adapted),
		cmocka_unit_test(test_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
