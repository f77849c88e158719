/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a recording sleeps between two looks at the rings. Each time is varied by a tenth, so
 * the test asks for many moments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../collect/one_layout.h"
#include "record/session.h"
#include "sampler/sources/source.h"

#define NOW_NS (1000 * NSEC_PER_SEC)

static const struct collect_ops ops = {
	.add_layout = add_layout, .layout = get_layout, .set_proc = set_no_proc};

static struct session_options options;
static struct session session;

/* A collector that knows no process wants to be woken for nothing. */
static int setup(void **state)
{
	struct collect_config config = {.ops = &ops, .kallsyms = -1, .n_sources = 1};

	options = (struct session_options){};
	session = (struct session){
		.options = &options, .profile = profile_new(), .left.look_ns = UINT64_MAX};
	config.profile = session.profile;
	session.collect = collect_new(&config);
	session.events.v[0].hz = 99;
	session.events.n = 1;
	return !session.collect;
}

static int teardown(void **state)
{
	collect_free(session.collect);
	profile_free(session.profile);
	return 0;
}

static void add(const struct event_source *source)
{
	session.events.v[session.events.n++].source = source;
}

/* Is each sleep within a tenth of @ms? */
static void sleeps(int ms)
{
	for (uint64_t now = NOW_NS; now < NOW_NS + 1000; now++)
		assert_in_range(session_wait_ms(&session, now), ms * 9 / 10, ms * 11 / 10 + 1);
}

static void test_samples(void **state)
{
	sleeps(400);
	session.events.v[0].hz = 2000;
	sleeps(200);
	session.events.v[0].hz = 99;
	session.news_ns = NOW_NS - NSEC_PER_SEC / 2;
	sleeps(100);
}

static void test_waits(void **state)
{
	add(&source_wait);
	sleeps(100);
	options.seldom = true;
	sleeps(250);
	session.news_ns = NOW_NS - NSEC_PER_SEC / 2;
	sleeps(100);
}

/* A look for long waits isn't put off until the rings are read. */
static void test_look(void **state)
{
	add(&source_wait);
	options.seldom = true;
	session.left.look_ns = NOW_NS + 50 * NSEC_PER_MSEC;
	assert_in_range(session_wait_ms(&session, NOW_NS), 50, 51);
}

/* How many samples an event without a rate has isn't known. */
static void test_no_rate(void **state)
{
	options.seldom = true;
	add(NULL);
	sleeps(100);
	add(&source_wait);
	sleeps(100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_rate, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
