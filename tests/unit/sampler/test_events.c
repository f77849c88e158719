/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the options -e, -F and -c, and the perf events that krait opens for them. The tests with
 * real events need the right to open perf events on all CPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "sampler/sources/event_set.h"

static struct event e;
static struct event_set set;

static int teardown(void **state)
{
	event_set_close(&set);
	return 0;
}

static void must_parse(const char *spec)
{
	if (event_parse(&e, spec))
		fail_msg("%s: %s", spec, err_msg());
}

static void test_names(void **state)
{
	must_parse("cpu-clock");
	assert_true(e.source->clock);
	assert_int_equal(e.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(e.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_string_equal(e.sample_type, "cpu");
	assert_string_equal(e.source->unit, "nanoseconds");
	must_parse("cycles:u");
	assert_false(e.source->clock);
	assert_int_equal(e.type, PERF_TYPE_HARDWARE);
	assert_int_equal(e.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_true(e.exclude_kernel && !e.exclude_user);
	assert_string_equal(e.name, "cycles:u");
	assert_string_equal(e.sample_type, "cycles");
	assert_string_equal(e.source->unit, "count");
	must_parse("cpu-cycles:kpp");
	assert_true(!e.exclude_kernel && e.exclude_user);
	assert_int_equal(e.precise, 2);
	assert_string_equal(e.sample_type, "cycles");
	must_parse("cs:uk");
	assert_true(!e.exclude_kernel && !e.exclude_user);
	assert_string_equal(e.sample_type, "context-switches");
	must_parse("r01A8");
	assert_int_equal(e.type, PERF_TYPE_RAW);
	assert_int_equal(e.config, 0x1a8);
	assert_string_equal(e.sample_type, "r01A8");
	must_parse("L1-dcache-load-misses");
	assert_int_equal(e.type, PERF_TYPE_HW_CACHE);
	assert_int_equal(e.config, 0x10000);
	for (const char *const *name = event_names(); *name; name++)
		must_parse(*name);
}

static void test_unknown(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		":u",
		"cycle",
		"cycles:",
		"cycles:x",
		"cycles:pppp",
		"cycles:u:k",
		"r",
		"rxyz",
		"r11112222333344445",
		"cpu-clock ",
		"CYCLES",
		"a name that is longer than any event's name can possibly be, by far"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(event_parse(&e, bad[i]), -EINVAL);
		assert_non_null(strstr(err_msg(), "cpu-clock"));
	}
}

/*
 * No event can have such a rate, so it is refused. The message is about the rate, not about the
 * event.
 */
static void test_own_rate(void **state)
{
	static const char *const bad[] = {
		"cs/period=0/",	 "cs/period=/",	   "cs/period=99999999999999999999/",
		"cs/period=-1/", "cs/period=1.5/", "cs/period=9223372036854775808/",
		"cs/freq=0/",	 "cs/freq=x/u",	   "cs/freq=4294967296/"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *most = strstr(bad[i], "freq")
					   ? "freq is a whole number from 1 to 4294967295"
					   : "period is a whole number from 1 to "
					     "9223372036854775807";

		assert_int_equal(event_parse(&e, bad[i]), -EINVAL);
		assert_non_null(strstr(err_msg(), most));
		assert_null(strstr(err_msg(), "unknown"));
	}
	must_parse("cs/period=9223372036854775807/");
	assert_int_equal(e.period, INT64_MAX);
	must_parse("cs/freq=4294967295/k");
	assert_int_equal(e.hz, UINT32_MAX);
	assert_string_equal(e.name, "cs:k");
	assert_true(e.exclude_user);
}

static void test_rate(void **state)
{
	must_parse("cpu-clock");
	assert_int_equal(event_set_rate(&e, 999, 0), 0);
	assert_int_equal(e.period, 1001001);
	assert_int_equal(event_set_rate(&e, 0, 5000000), 0);
	assert_int_equal(e.period, 5000000);
	assert_int_equal(event_set_rate(&e, 100000, 0), 0);
	assert_int_equal(event_set_rate(&e, 100001, 0), -EINVAL);
	assert_int_equal(event_set_rate(&e, 0, 9999), -EINVAL);
	assert_int_equal(event_set_rate(&e, 4000000000u, 0), -EINVAL);
	assert_int_equal(event_set_rate(&e, 0, 0), -EINVAL);
	assert_int_equal(event_set_rate(&e, 1, 1), -EINVAL);
	must_parse("cycles");
	assert_int_equal(event_set_rate(&e, 999, 0), 0);
	assert_int_equal(e.period, 0);
	assert_int_equal(e.hz, 999);
	assert_int_equal(event_set_rate(&e, 0, 1), 0);
	assert_int_equal(event_set_rate(&e, 0, 1ull << 63), -EINVAL);
}

static void skip_for(const char *reason)
{
	printf("SKIP events on all CPUs: %s\n", reason);
	skip();
}

static void must_open(const char *spec, uint32_t hz, uint64_t count)
{
	int r;

	must_parse(spec);
	assert_int_equal(event_set_rate(&e, hz, count), 0);
	r = event_set_open(&set, &e, 0, true);
	if (r == -EACCES || r == -EPERM || r == -ENOSYS)
		skip_for(err_msg());
	if (r)
		fail_msg("%s", err_msg());
}

static uint64_t total(void)
{
	uint64_t sum = 0, one;

	vec_foreach(c, &set.cpus) {
		assert_int_equal(read(c->fd, &one, sizeof(one)), sizeof(one));
		sum += one;
	}
	return sum;
}

static void test_open(void **state)
{
	must_open("cpu-clock", 999, 0);
	assert_int_equal(set.rates.n, sysconf(_SC_NPROCESSORS_ONLN));
	/* from 400 Hz on, four perf events share a CPU's sampling rate (docs/decisions/0017) */
	assert_int_equal(set.cpus.n, 4 * set.rates.n);
	assert_int_equal(total(), 0);
	assert_int_equal(event_set_enable(&set, true), 0);
	usleep(20000);
	assert_int_equal(event_set_enable(&set, false), 0);
	/* cpu-clock counts on every CPU, even on an idle one */
	assert_true(total() >= 20000000 * set.cpus.n);
}

/* Causes @n page faults: an event that a test can cause at any rate. */
static void touch_pages(size_t n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * 4096] = 1;
	munmap(p, n * 4096);
}

static void test_counts(void **state)
{
	struct rusage before, after;
	uint64_t n;

	must_open("page-faults:u", 0, 1000000);
	assert_int_equal(event_set_enable(&set, true), 0);
	getrusage(RUSAGE_SELF, &before);
	touch_pages(1000);
	getrusage(RUSAGE_SELF, &after);
	n = total();
	assert_true(after.ru_minflt - before.ru_minflt >= 1000);
	assert_true(n >= (uint64_t)(after.ru_minflt - before.ru_minflt));
}

struct throttle_record {
	struct perf_event_header h;
	uint64_t time_ns, id, stream;
};

/*
 * The kernel throttled the event. The record is made by hand, because a real one needs a rate above
 * kernel.perf_event_max_sample_rate, which the test would have to lower for the whole machine.
 */
static void test_throttled(void **state)
{
	static struct throttle_record page[128];
	struct perf_event_mmap_page meta = {};
	struct event_cpu c = {.fd = -1};
	struct throttle_record on = {.h = {PERF_RECORD_THROTTLE, 0, sizeof(on)}, .time_ns = 1000};
	struct throttle_record off = {.h = {PERF_RECORD_UNTHROTTLE, 0, sizeof(off)},
				      .time_ns = 4000};
	struct throttle_record full = {.h = {PERF_RECORD_LOST, 0, sizeof(full)}};

	c.ring = (struct perf_ring){.page = &meta, .data = (uint8_t *)page, .bytes = sizeof(page)};
	assert_int_equal(vec_push(&set.cpus, c), 0);
	page[0] = on;
	page[1] = off;
	page[2] = on;
	page[3] = full;
	meta.data_head = 4 * sizeof(on);
	event_set_poll(&set);
	assert_int_equal(set.throttled, 2);
	assert_int_equal(set.throttled_ns, 3000);
	assert_int_equal(set.throttle_lost, 1);
	assert_int_equal(meta.data_tail, meta.data_head);
	page[4] = off;
	meta.data_head += sizeof(off);
	event_set_poll(&set);
	assert_int_equal(set.throttled_ns, 6000);
	/* the ring in set.cpus is made up and not mapped, so it must not be unmapped */
	set.cpus.n = 0;
	vec_fini(&set.cpus);
}

static void test_missing_event(void **state)
{
	_cleanup_str_ struct str list = {};
	int r;

	event_available(&list);
	/* no CPU has an event code like emulation-faults, and a machine may have no PMU at all */
	must_parse("emulation-faults");
	if (!strstr(str_cstr(&list), "cycles"))
		must_parse("cycles");
	else
		must_parse("bus-cycles");
	if (strstr(str_cstr(&list), e.name)) {
		str_fini(&list);
		skip_for("this machine has every event");
	}
	assert_int_equal(event_set_rate(&e, 99, 0), 0);
	r = event_set_open(&set, &e, 0, false);
	if (r == -EACCES || r == -EPERM) {
		str_fini(&list); /* frees now, because skip() jumps over the cleanup attribute */
		skip_for(err_msg());
	}
	assert_true(r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV);
	assert_non_null(strstr(err_msg(), e.name));
	assert_non_null(strstr(err_msg(), "page-faults"));
}

static void test_too_fast(void **state)
{
	uint32_t max = event_max_sample_rate();
	int r;

	must_parse("page-faults");
	if (!max || max >= 100000000 || event_set_rate(&e, max + 1, 0))
		skip_for("kernel.perf_event_max_sample_rate isn't readable, or has no limit");
	r = event_set_open(&set, &e, 0, false);
	if (r == -EACCES || r == -EPERM)
		skip_for(err_msg());
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(err_msg(), "sysctl kernel.perf_event_max_sample_rate="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_own_rate),
		cmocka_unit_test(test_rate),
		cmocka_unit_test_teardown(test_open, teardown),
		cmocka_unit_test_teardown(test_counts, teardown),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test_teardown(test_missing_event, teardown),
		cmocka_unit_test_teardown(test_too_fast, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
