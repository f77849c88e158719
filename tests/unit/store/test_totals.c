/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of the CPU time of services and of functions named by the user. The sums stay when the
 * samples in them are removed, and never fall.
 */
#include "store_writer.h"

#include "store/internal.h"
#include "store/sealed/totals.h"

#define SERVICES 3
#define NAMED	 "shop.Cart.total"

/* The sums of what the test added, as the test itself counted them. */
struct truth {
	int64_t cpu[SERVICES], function, function_cpu;
};

static const char *const names[SERVICES] = {"", "shop", "a\nb \"c\" \\"};

static void add_one(struct writer *w, struct truth *t)
{
	struct profile *p = w->p;
	unsigned service = random_below(&w->random, SERVICES);
	unsigned where = random_below(&w->random, 3);
	const char *const called[] = {"Cart.total", "Cart.total", "other"};
	const struct profile_label l = {profile_string(p, "service"),
					profile_string(p, names[service])};
	const struct profile_mapping m = {.name = profile_string(p, "[python 3.12]"),
					  .kind = KIND_PYTHON};
	struct profile_function f = {
		.name = profile_string(p, called[where]),
		.file = profile_string(p, where == 1 ? "/srv/till.py" : "/srv/shop.py"),
	};
	struct profile_location at = {.mapping = profile_mapping(p, &m)};
	struct profile_sample s = {.time_ns = (int64_t)random_below(&w->random, 1000)};
	uint32_t stack[3];

	at.function = profile_function(p, &f);
	stack[1] = stack[0] =
		profile_location(p, &at); /* main calls itself: it must count once for the sample */
	f.name = profile_string(p, "main");
	at.function = profile_function(p, &f);
	stack[2] = profile_location(p, &at);
	s.stack = profile_stack(p, stack, 3);
	s.labels = service ? profile_labels(p, &l, 1) : 0;
	s.values[0] = 1;
	s.values[1] = 1 + random_below(&w->random, 1000000);
	t->cpu[service] += s.values[1];
	t->function_cpu += where ? 0 : s.values[1];
	add_sample(w, &s);
}

static void expect(const struct truth *t)
{
	_cleanup_(totals_fini) struct totals found = {};
	struct store *s = open_store(0);

	assert_int_equal(store_totals(s, &found), 0);
	for (size_t i = 0; i < SERVICES; i++)
		assert_int_equal(totals_get(&found, TOTAL_SERVICE, names[i])->cpu_ns, t->cpu[i]);
	assert_int_equal(totals_get(&found, TOTAL_FUNCTION, NAMED)->cpu_ns, t->function_cpu);
	assert_int_equal(found.list.n, SERVICES + 1);
	store_close(s);
}

/*
 * The sums are the same before and after segments are sealed (their batches of samples turned into
 * blocks), and after they are removed.
 */
static void test_sums(void **state)
{
	static const char *const functions[] = {NAMED};
	struct truth t = {};
	struct writer w;

	begin(&w, 31);
	assert_int_equal(store_count_functions(w.s, functions, 1), 0);
	for (unsigned segment = 0; segment < 3; segment++) {
		for (unsigned frame = 0; frame < 3; frame++) {
			for (unsigned i = 0; i < 50; i++)
				add_one(&w, &t);
			write_frame(&w);
			expect(&t);
		}
		if (segment == 1)
			/*
			 * this segment isn't sealed (its frames turned into blocks) yet, as happens
			 * on a full disk
			 */
			end_segment(&w);
		else
			assert_int_equal(store_seal_rest(w.s), 0);
		if (segment != 1)
			end_segment(&w);
		expect(&t);
	}
	assert_true(t.cpu[1] && t.function_cpu);
	assert_int_equal(store_exec(w.s, "DELETE FROM block WHERE tier = 0", "remove"), 0);
	expect(&t);
	end(&w);
	/* the next agent sums up no functions, but goes on with the sums of services */
	w.s = open_store(getpid());
	assert_int_equal(store_count_functions(w.s, NULL, 0), 0);
	store_close(w.s);
	_cleanup_(totals_fini) struct totals found = {};

	w.s = open_store(0);
	assert_int_equal(store_totals(w.s, &found), 0);
	assert_int_equal(found.list.n, SERVICES);
	store_close(w.s);
}

static void test_names(void **state)
{
	assert_true(totals_is_function("Cart.total", "Cart.total", "/srv/shop.py"));
	assert_true(totals_is_function("shop.Cart.total", "Cart.total", "/srv/shop.py"));
	assert_true(totals_is_function("web.shop.Cart.total", "Cart.total", "shop.py"));
	assert_false(totals_is_function("shop.Cart.total", "Cart.total", "/srv/till.py"));
	assert_false(totals_is_function("shop.Cart.total", "total", "/srv/shop.py"));
	assert_false(totals_is_function("xCart.total", "Cart.total", "/srv/shop.py"));
	assert_false(totals_is_function("total", "Cart.total", "/srv/shop.py"));
	assert_false(totals_is_function("shop.", "", "/srv/shop.py"));
}

/*
 * Any text is either read or refused, without a crash. Services beyond the limit are counted
 * together.
 */
static void test_text(void **state)
{
	static const char *const wrong[] = {
		"0 1 2 3 ab\n",	 "0 1 2 3 abcd\n",  "0 -1 2 1 a\n",
		"2 1 2 1 a\n",	 "0 1 2 1",	    "x",
		"0 1 2 99999 a", "0 1 2 1  \n\n\n", "1 1 2 18446744073709551615 a\n"};
	_cleanup_(totals_fini) struct totals t = {}, again = {};
	_cleanup_str_ struct str text = {};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_(totals_fini) struct totals none = {};

		assert_int_equal(totals_read(&none, wrong[i]), -EBADMSG);
	}
	for (unsigned i = 0; i < 2 * TOTALS_SERVICES; i++) {
		char name[32];

		snprintf(name, sizeof(name), " %u\n ", i);
		totals_get(&t, TOTAL_SERVICE, name)->cpu_ns += i;
		assert_true(i >= TOTALS_FUNCTIONS || totals_get(&t, TOTAL_FUNCTION, name));
	}
	assert_null(totals_get(&t, TOTAL_FUNCTION, "one more"));
	assert_int_equal(t.list.n, TOTALS_SERVICES + 1 + TOTALS_FUNCTIONS);
	totals_write(&t, &text);
	assert_int_equal(totals_read(&again, str_cstr(&text)), 0);
	assert_int_equal(again.list.n, t.list.n);
	for (size_t i = 0; i < t.list.n; i++) {
		assert_string_equal(again.list.v[i].name, t.list.v[i].name);
		assert_int_equal(again.list.v[i].cpu_ns, t.list.v[i].cpu_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sums, empty),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_text),
	};

	return run_in_directory(tests);
}
