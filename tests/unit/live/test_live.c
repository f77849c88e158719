/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests `krait top` with samples that the test makes: its tables, time spans, trees, texts and
 * keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "live/browse/browse.h"
#include "live/terminal.h"
#include "live/text.h"

#define MS 1000000

static struct profile *p;
static const struct view_options by_gil = {.by = "gil"};
static const char *b_alone[] = {"b"};
static const struct view_options only_b = {.focus = {b_alone, 1, 1}};
static struct live *l;
static uint32_t python, native;

static uint32_t location(const char *name, int line, uint32_t mapping)
{
	struct profile_function f = {.name = profile_string(p, name),
				     .file = profile_string(p, "app.py"),
				     .start_line = 1};

	return profile_location(p, &(struct profile_location){.mapping = mapping,
							      .function = profile_function(p, &f),
							      .line = line});
}

static uint32_t mapping(const char *name, enum frame_kind kind)
{
	return profile_mapping(
		p, &(struct profile_mapping){.name = profile_string(p, name), .kind = kind});
}

static uint32_t who(const char *pid, const char *tid, const char *gil)
{
	struct profile_label v[] = {{profile_string(p, "pid"), profile_string(p, pid)},
				    {profile_string(p, "tid"), profile_string(p, tid)},
				    {profile_string(p, "process"), profile_string(p, "app.py")},
				    {profile_string(p, "gil"), profile_string(p, gil)}};

	return profile_labels(p, v, ARRAY_SIZE(v));
}

/*
 * Adds a sample. @names has a letter for each function, the outermost first; upper case stands for
 * native code.
 */
static void sample(const char *names, uint32_t labels)
{
	struct profile_sample s = {.labels = labels, .time_ns = 5, .values = {1, 10 * MS}};
	uint32_t loc[16];
	size_t n = strlen(names);

	for (size_t i = 0; i < n; i++) {
		char name[2] = {names[n - 1 - i]};

		loc[i] = location(name, names[n - 1 - i], *name < 'a' ? native : python);
	}
	s.stack = profile_stack(p, loc, n);
	assert_int_equal(live_add(l, &s), 0);
}

static int setup(void **state)
{
	struct profile_meta *m;

	p = profile_new();
	m = profile_meta(p);
	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"cpu", "nanoseconds"};
	m->n_values = 2;
	m->default_value = 1;
	python = mapping("[python 3.12]", KIND_PYTHON);
	native = mapping("libx.so", KIND_NATIVE);
	l = live_new(p, *state);
	return !l;
}

/* Like setup(), but with two more values in the profile: 1 is CPU time, 2 is waiting time. */
static int setup_waits(void **state)
{
	struct profile_meta *m;

	if (setup(state))
		return -1;
	m = profile_meta(p);
	m->values[2] = (struct profile_value_type){"off_cpu", "nanoseconds"};
	m->n_values = 3;
	live_free(l);
	l = live_new(p, NULL);
	return !l;
}

static int teardown(void **state)
{
	live_free(l);
	profile_free(p);
	return 0;
}

static const struct live_row *row(const char *name)
{
	vec_foreach(r, &l->rows) {
		const struct profile_location *at = profile_get_location(p, r->location);

		if (streq(profile_get_string(p, profile_get_function(p, at->function)->name), name))
			return r;
	}
	fail_msg("no row %s", name);
	return NULL;
}

static void assert_row(const char *name, int self, int total, int self_since, int total_since)
{
	const struct live_row *r = row(name);

	assert_int_equal(live_self(l, r, LIVE_RECENT).samples, self);
	assert_int_equal(live_total(l, r, LIVE_RECENT).samples, total);
	assert_int_equal(live_self(l, r, LIVE_SINCE).value, self_since * 10ll * MS);
	assert_int_equal(live_total(l, r, LIVE_SINCE).value, total_since * 10ll * MS);
}

/*
 * Adds @ms of time of thread 1: in function a (@names "a"), or in function b called by a ("ab").
 * @state: "running", or what the thread waited for.
 */
static void in_state(const char *names, const char *state, int ms)
{
	bool running = streq(state, "running");
	struct profile_label v[] = {{profile_string(p, "pid"), profile_string(p, "1")},
				    {profile_string(p, "tid"), profile_string(p, "1")},
				    {profile_string(p, "gil"), profile_string(p, "held")},
				    {profile_string(p, "state"), profile_string(p, state)}};
	struct profile_sample s = {
		.labels = profile_labels(p, v, ARRAY_SIZE(v)),
		.time_ns = 5,
		.values = {1, running ? ms * (int64_t)MS : 0, running ? 0 : ms * (int64_t)MS}};
	uint32_t loc[] = {location("b", 2, python), location("a", 1, python)};

	s.stack = profile_stack(p, streq(names, "ab") ? loc : &loc[1], strlen(names));
	assert_int_equal(live_add(l, &s), 0);
}

static void assert_states(const char *name, int running, int lock, int net, int sleep)
{
	const struct live_row *r = row(name);

	assert_int_equal(live_in_state(l, r, LIVE_STATE_RUNNING), running * (int64_t)MS);
	assert_int_equal(live_in_state(l, r, LIVE_STATE_LOCK), lock * (int64_t)MS);
	assert_int_equal(live_in_state(l, r, LIVE_STATE_NET), net * (int64_t)MS);
	assert_int_equal(live_in_state(l, r, LIVE_STATE_SLEEP), sleep * (int64_t)MS);
	assert_int_equal(live_total(l, r, LIVE_RECENT).value,
			 (running + lock + net + sleep) * (int64_t)MS);
}

/*
 * With --wall, a row's time is the time of all its threads, split by what the threads did (their
 * state).
 */
static void test_waits(void **state)
{
	struct live_count n;
	struct table v;

	l->wall = true;
	table_init(&v, l);
	in_state("ab", "net", 700);
	in_state("ab", "running", 60);
	in_state("a", "poll", 200);
	in_state("a", "lock", 40);
	assert_int_equal(live_tick(l, 1), 0);
	assert_states("a", 60, 40, 700, 200);
	assert_states("b", 60, 0, 700, 0);
	n = live_total(l, row("a"), LIVE_RECENT);
	/*
	 * the sample of the wait is labelled "held" too, but the columns CPU and GIL count only the
	 * 60 ms for which function a ran
	 */
	assert_int_equal(n.running, 60ll * MS);
	assert_int_equal(n.held, 60ll * MS);
	assert_true(table_cpu(&v, &n, LIVE_RECENT) == 6);
	table_show_value(&v, 2, false);
	assert_states("a", 0, 40, 700, 200);
	assert_true(table_cpu(&v, &n, LIVE_RECENT) < 0);
	table_show_value(&v, 1, false);
	assert_states("a", 60, 0, 0, 0);
	assert_int_equal(live_tick(l, 1), 0);
	assert_int_equal(live_in_state(l, row("a"), LIVE_STATE_RUNNING), 0);
	table_fini(&v);
}

static void test_intervals(void **state)
{
	uint32_t me = who("1", "1", "held");

	sample("ab", me);
	sample("ab", me);
	sample("a", me);
	assert_int_equal(live_tick(l, 1), 0);
	assert_row("a", 1, 3, 1, 3);
	assert_row("b", 2, 2, 2, 2);
	sample("a", me);
	assert_int_equal(live_tick(l, 2), 0);
	assert_row("a", 1, 1, 2, 4);
	assert_row("b", 0, 0, 2, 2);
	assert_int_equal(l->all[LIVE_RECENT].samples, 1);
	assert_int_equal(l->all[LIVE_SINCE].samples, 4);
	assert_true(l->seconds[LIVE_SINCE] == 3);
	live_reset(l);
	assert_int_equal(live_tick(l, 1), 0);
	assert_int_equal(l->rows.n, 0);
	assert_int_equal(l->all[LIVE_SINCE].samples, 0);
}

/*
 * The column "Recent" covers the last intervals that together last three seconds. The expected
 * numbers were worked out by hand.
 */
static void test_window(void **state)
{
	/* a has 1 sample in the first interval, 2 in the second, and so on */
	static const int a_recent[] = {1, 3, 6, 9, 12, 15};
	uint32_t me = who("1", "1", "held");

	l->window = 3;
	for (int i = 0; i < 6; i++) {
		for (int k = 0; k <= i; k++)
			sample("a", me);
		if (i == 1)
			sample("ab", me);
		assert_int_equal(live_tick(l, 1), 0);
		assert_row("a", a_recent[i], a_recent[i] + (i >= 1 && i < 4), (i + 1) * (i + 2) / 2,
			   (i + 1) * (i + 2) / 2 + (i >= 1));
		assert_int_equal(l->interval.samples, i + 1 + (i == 1));
		assert_true(l->seconds[LIVE_RECENT] == (i < 3 ? i + 1 : 3));
	}
	assert_row("b", 0, 0, 1, 1);
	live_show(l, LIVE_FUNCTIONS, (struct live_only){});
	assert_row("a", 15, 15, 21, 22);
	/* many short intervals also make up three seconds; older ones don't count as recent */
	for (int i = 0; i < 40; i++) {
		sample("a", me);
		assert_int_equal(live_tick(l, 0.1), 0);
	}
	assert_true(live_self(l, row("a"), LIVE_RECENT).samples >= 29);
	assert_true(live_self(l, row("a"), LIVE_RECENT).samples <= 40);
	/* an interval longer than three seconds is the only one that counts as recent */
	sample("a", me);
	assert_int_equal(live_tick(l, 9), 0);
	assert_row("a", 1, 1, 62, 63);
	live_reset(l);
	assert_int_equal(live_tick(l, 1), 0);
	assert_int_equal(l->all[LIVE_RECENT].samples, 0);
}

/* The column GIL shows only the last interval, and nothing of intervals before it. */
static void test_columns(void **state)
{
	const struct table_column *gil = table_columns;
	struct table t;

	while (!streq(gil->name, "gil"))
		gil++;
	table_init(&t, l);
	sample("ab", who("1", "1", "held"));
	sample("a", who("1", "2", "released"));
	assert_int_equal(live_tick(l, 1), 0);
	assert_true(gil->value(&t, row("a")) == 50);
	assert_true(gil->value(&t, row("b")) == 100);
	sample("a", who("1", "2", "released"));
	assert_int_equal(live_tick(l, 1), 0);
	assert_true(gil->value(&t, row("a")) == 0);
	assert_true(gil->value(&t, row("b")) < 0);
	table_fini(&t);
}

/*
 * A recursive function counts once in its total. When another table is shown, it is made from sums
 * that krait keeps, not from samples.
 */
static void test_tables(void **state)
{
	uint32_t one = who("1", "1", "held"), two = who("1", "2", "waiting");

	sample("aba", one);
	sample("aB", two);
	assert_int_equal(live_tick(l, 1), 0);
	assert_row("a", 1, 2, 1, 2);
	assert_row("B", 1, 1, 1, 1);
	live_show(l, LIVE_THREADS, (struct live_only){});
	assert_int_equal(l->rows.n, 2);
	assert_int_equal(l->rows.v[0].total[LIVE_SINCE].held, 10 * MS);
	assert_int_equal(l->rows.v[1].total[LIVE_SINCE].held, 0);
	assert_int_equal(l->rows.v[1].total[LIVE_SINCE].known, 10 * MS);
	live_show(l, LIVE_PROCESSES, (struct live_only){});
	assert_int_equal(l->rows.n, 1);
	assert_int_equal(live_self(l, &l->rows.v[0], LIVE_RECENT).samples, 2);
	live_show(l, LIVE_FUNCTIONS, (struct live_only){.tid = profile_string(p, "2")});
	assert_row("a", 0, 1, 0, 1);
	assert_int_equal(l->all[LIVE_SINCE].samples, 1);
}

static void assert_names(struct table *t, const char *want)
{
	_cleanup_str_ struct str names = {};

	for (size_t i = 0; i < l->rows.n; i++) {
		str_add(&names, i ? ", " : "");
		table_name(t, &l->rows.v[i], &names);
	}
	assert_string_equal(str_cstr(&names), want);
}

/* A thread ends before krait has read its name. */
static void test_nameless_thread(void **state)
{
	struct table t;

	table_init(&t, l);
	sample("a", who("1", "2", "held"));
	assert_int_equal(live_tick(l, 1), 0);
	live_show(l, LIVE_THREADS, (struct live_only){});
	assert_names(&t, "tid 2");
	l->several = true;
	assert_names(&t, "tid 2 of app.py (pid 1)");
	table_fini(&t);
}

static const struct live_row *row_of_text(const char *text)
{
	vec_foreach(r, &l->rows)
		if (streq(live_text(l, r->key), text))
			return r;
	fail_msg("no row %s", text);
	return NULL;
}

static void test_modules(void **state)
{
	const struct live_row *r;

	sample("aBb", who("1", "1", "held"));
	sample("aB", who("1", "1", "held"));
	assert_int_equal(live_tick(l, 1), 0);
	live_show(l, LIVE_MODULES, (struct live_only){});
	assert_int_equal(l->rows.n, 2);
	r = row_of_text("app");
	assert_int_equal(live_self(l, r, LIVE_RECENT).samples, 1);
	assert_int_equal(live_total(l, r, LIVE_RECENT).samples, 2);
	r = row_of_text("libx.so");
	assert_int_equal(live_self(l, r, LIVE_RECENT).samples, 1);
	assert_int_equal(live_total(l, r, LIVE_RECENT).samples, 2);
}

/* With --by, each value of a label has a row, and the samples of one value can be shown alone. */
static void test_by(void **state)
{
	struct live_only only = {};
	struct table t;

	table_init(&t, l);
	sample("a", who("1", "1", "held"));
	sample("a", who("2", "2", "held"));
	sample("b", who("1", "3", "waiting"));
	sample("c", 0);
	assert_int_equal(live_tick(l, 1), 0);
	table_switch(&t, LIVE_BY);
	assert_int_equal(table_beside(&t, 1), LIVE_FUNCTIONS);
	assert_int_equal(l->rows.n, 3);
	assert_int_equal(row_of_text("held")->total[LIVE_SINCE].samples, 2);
	assert_int_equal(row_of_text("[no gil]")->total[LIVE_SINCE].samples, 1);
	only = table_only(&t, row_of_text("waiting"));
	live_show(l, LIVE_FUNCTIONS, only);
	assert_int_equal(l->rows.n, 1);
	assert_row("b", 1, 1, 1, 1);
	table_fini(&t);
}

static void test_hidden_frames(void **state)
{
	uint32_t me = who("1", "1", "held");

	sample("aB", me);
	sample("C", me);
	assert_int_equal(live_tick(l, 1), 0);
	l->hide[KIND_NATIVE] = true;
	live_show(l, LIVE_FUNCTIONS, (struct live_only){});
	assert_row("a", 1, 1, 1, 1);
	assert_row("C", 1, 1, 1, 1); /* C is one of only two rows in the table */
	assert_int_equal(l->rows.n, 2);
}

/* Prints each line of the open tree as its depth, the function's name, ":" and its samples. */
static void print_tree(struct browse *b, char *out, size_t size)
{
	*out = '\0';
	vec_foreach(line, &b->lines) {
		const struct calltree_node *n = &b->tree.nodes.v[line->node];
		const struct profile_location *at = profile_get_location(p, n->location);

		snprintf(out + strlen(out), size - strlen(out), "%u%s:%d ", n->depth,
			 profile_get_string(p, profile_get_function(p, at->function)->name),
			 (int)(n->since / 10 / MS));
	}
}

static void press(struct browse *b, int key)
{
	enum browse_do what;

	assert_int_equal(browse_key(b, key, &what), 0);
	assert_int_equal(what, DO_NOTHING);
}

static void test_tree(void **state)
{
	uint32_t me = who("1", "1", "held");
	struct table t;
	struct browse b;
	char text[256];

	table_init(&t, l);
	browse_init(&b, &t);
	sample("abcd", me);
	sample("abcd", me);
	sample("axc", me);
	sample("acc", me);
	assert_int_equal(live_tick(l, 1), 0);
	assert_int_equal(browse_refresh(&b), 0);
	press(&b, '/');
	press(&b, 'c');
	press(&b, KEY_ENTER);
	assert_int_equal(t.rows.n, 1);
	press(&b, KEY_ENTER);
	print_tree(&b, text, sizeof(text));
	/*
	 * In a recursion, the tree of callers begins at the innermost call, the tree of callees at
	 * the outermost.
	 */
	assert_string_equal(text, "1b:2 2a:2 1c:1 2a:1 1x:1 2a:1 ");
	press(&b, KEY_TAB);
	print_tree(&b, text, sizeof(text));
	assert_string_equal(text, "1d:2 1c:1 ");
	press(&b, KEY_ESCAPE);
	assert_int_equal(b.page, PAGE_TABLE);
	/* with --invert, the tree of a thread begins with its innermost functions */
	b.invert = true;
	press(&b, 'c');
	press(&b, 't');
	press(&b, KEY_ENTER);
	print_tree(&b, text, sizeof(text));
	assert_string_equal(text, "1d:2 2c:2 3b:2 4a:2 1c:2 2c:1 3a:1 2x:1 3a:1 ");
	browse_fini(&b);
	table_fini(&t);
}

/* Condenses the profile (sums up what is rare) as `krait top` does. */
static void condense(size_t keep, struct browse *b)
{
	struct condense c;

	assert_int_equal(live_condense(l, &c, keep), 0);
	python = profile_copy_mapping(&c.rebase.copy, python);
	native = profile_copy_mapping(&c.rebase.copy, native);
	if (b)
		browse_condense(b, &c);
	assert_int_equal(live_condensed(l, &c), 0);
	assert_int_equal(condense_end(&c, 0), 0);
	if (b)
		assert_int_equal(browse_reset(b), 0);
}

/* Adds a sample whose stack has the functions @names, the outermost first, on the lines @lines. */
static void call(const char *const *names, const int *lines, size_t n, uint32_t labels)
{
	struct profile_sample s = {.labels = labels, .time_ns = 5, .values = {1, 10 * MS}};
	uint32_t loc[64];

	for (size_t i = 0; i < n; i++)
		loc[n - 1 - i] = location(names[i], lines[i], python);
	s.stack = profile_stack(p, loc, n);
	assert_int_equal(live_add(l, &s), 0);
	assert_int_equal(profile_add(p, &s), 0);
}

static int add_value(void *arg, const struct profile_sample *s)
{
	assert_int_equal(s->time_ns, 5);
	*(int64_t *)arg += s->values[1];
	return 0;
}

#define ROUNDS	   400
#define SMALL	   (1u << 20)
#define MADE	   20 /* number of new functions in each round */
#define MOST_BYTES (3 * SMALL / 2)

/*
 * Ever new processes run ever new functions. The profile's memory stays bounded, and the shares
 * stay right.
 */
static void test_condense(void **state)
{
	static const int lines[] = {1, 2, 3};
	unsigned condensed = 0;
	size_t bytes = 0;
	int64_t value = 0;

	for (int round = 1; round <= ROUNDS; round++) {
		char pid[16], name[32];
		uint32_t me;

		snprintf(pid, sizeof(pid), "%d", round);
		me = who(pid, pid, "held");
		for (int i = 0; i < MADE; i++) {
			snprintf(name, sizeof(name), "made_%d_%d", round, i);
			call((const char *[]){"main", name, "helper"}, lines, 3, me);
			call((const char *[]){"main", name}, lines, 2, me);
			call((const char *[]){"main", "steady"}, lines, 2, me);
			call((const char *[]){"main", "steady"}, lines, 2, me);
		}
		assert_int_equal(live_tick(l, 1), 0);
		bytes = profile_bytes(p) + live_bytes(l);
		if (bytes > SMALL) {
			condense(64, NULL);
			condensed++;
			assert_true(profile_bytes(p) + live_bytes(l) < SMALL / 2);
		}
		assert_true(bytes < MOST_BYTES);
		assert_row("main", 0, 4 * MADE, 0, 4 * MADE * round);
		assert_row("steady", 2 * MADE, 2 * MADE, 2 * MADE * round, 2 * MADE * round);
		assert_row("helper", MADE, MADE, MADE * round, MADE * round);
		assert_row(name, 1, 2, 1, 2);
		assert_int_equal(l->all[LIVE_SINCE].samples, 4 * MADE * round);
	}
	assert_true(condensed > 4);
	condense(8, NULL);
	/*
	 * Functions of the last interval and those with the most samples keep their rows. All
	 * others are summed up in one row.
	 */
	assert_row("[rare code]", 0, 0, MADE * (ROUNDS - 1), 2 * MADE * (ROUNDS - 1));
	assert_int_equal(profile_each(p, add_value, &value), 0);
	assert_int_equal(value, 4ll * MADE * ROUNDS * 10 * MS);
	live_show(l, LIVE_PROCESSES, (struct live_only){});
	assert_int_equal(l->rows.n, 2);
	assert_int_equal(l->rows.v[0].total[LIVE_SINCE].samples, 4 * MADE * (ROUNDS - 1));
	assert_int_equal(l->rows.v[0].total[LIVE_SINCE].held, 4ll * MADE * (ROUNDS - 1) * 10 * MS);
	assert_int_equal(live_self(l, &l->rows.v[1], LIVE_RECENT).samples, 4 * MADE);
	assert_string_equal(profile_label_text(p, l->rows.v[0].labels, "process"), "app.py");
}

/*
 * Few functions, but very many stacks, which differ in their lines and some also in their depth.
 * Condensing the profile (summing up what is rare) keeps each function's own samples and its total,
 * and the line of each innermost frame.
 */
static void test_condense_stacks(void **state)
{
	uint32_t me = who("1", "1", "held");
	const char *deep[40];
	int lines[40];
	size_t stacks;

	srand(1);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		deep[i] = i % 2 ? "odd" : "even";
	for (int i = 0; i < 2000; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(lines); k++)
			lines[k] = rand() % 1000 + 1;
		lines[2] = 7;
		call((const char *[]){"main", "work", "leaf"}, lines, 3, me);
		lines[i % 38 + 1] = 7;
		call(deep, lines, i % 38 + 2, me);
	}
	assert_int_equal(live_tick(l, 1), 0);
	/* after this tick, no sample is in the last interval */
	assert_int_equal(live_tick(l, 1), 0);
	condense(16, NULL);
	assert_row("main", 0, 0, 0, 2000);
	assert_row("work", 0, 0, 0, 2000);
	assert_row("leaf", 0, 0, 2000, 2000);
	assert_int_equal(
		row("even")->self[LIVE_SINCE].samples + row("odd")->self[LIVE_SINCE].samples, 2000);
	assert_int_equal(row("even")->total[LIVE_SINCE].samples, 2000);
	stacks = profile_n_stacks(p);
	live_show(l, LIVE_LINES, (struct live_only){});
	for (size_t i = 0; i < l->rows.n; i++)
		if (profile_get_location(p, l->rows.v[i].location)->line == 7 &&
		    l->rows.v[i].self[LIVE_SINCE].samples >= 1900)
			stacks = 0;
	/*
	 * nearly all samples are on one line: condensing kept the lines of the innermost frames
	 * only
	 */
	assert_int_equal(stacks, 0);
}

/*
 * A filter refers to functions and stacks by their ids. Condensing the profile changes these ids;
 * the filter must still show the right samples.
 */
static void test_condense_filtered(void **state)
{
	uint32_t me = who("1", "1", "held");

	for (int i = 0; i < 3; i++) {
		sample("abc", me);
		sample("ad", me);
		assert_int_equal(live_tick(l, 1), 0);
		condense(4, NULL);
		me = who("1", "1", "held");
		assert_row("c", 1, 1, i + 1, i + 1);
		assert_int_equal(l->all[LIVE_SINCE].samples, i + 1);
	}
}

/*
 * Condensing the profile (summing up what is rare) fails half-way. The tables are as they were
 * before.
 */
static void test_condense_undone(void **state)
{
	uint32_t me = who("1", "1", "held"), labels;
	size_t functions, stacks;
	struct condense c;
	int64_t value = 0;

	for (int i = 0; i < 3; i++)
		call((const char *[]){"main", i % 2 ? "odd" : "even"}, (int[]){1, 2}, 2, me);
	functions = profile_n_functions(p);
	stacks = profile_n_stacks(p);
	assert_int_equal(live_condense(l, &c, 1), 0);
	labels = condense_labels(&c, me);
	assert_string_equal(profile_label_text(p, labels, "tid"), CONDENSE_ENDED);
	assert_int_equal(profile_n_samples(p), 0);
	assert_int_equal(condense_end(&c, -EIO), -EIO);
	/* the one new function is called [rare code] */
	assert_int_equal(profile_n_functions(p), functions + 1);
	assert_int_equal(profile_n_stacks(p), stacks);
	assert_int_equal(profile_each(p, add_value, &value), 0);
	assert_int_equal(value, 30 * MS);
	assert_string_equal(profile_label_text(p, me, "tid"), "1");

	assert_int_equal(live_condense(l, &c, 1), 0);
	c.keeps_ended = true;
	assert_string_equal(profile_label_text(p, condense_labels(&c, me), "tid"), "1");
	assert_int_equal(condense_end(&c, 0), 0);
	assert_int_equal(profile_each(p, add_value, &value), 0);
	assert_int_equal(value, 60 * MS);
}

static void test_condense_tree(void **state)
{
	uint32_t me = who("1", "1", "held");
	char before[256], after[256];
	struct table t;
	struct browse b;

	table_init(&t, l);
	browse_init(&b, &t);
	for (int i = 0; i < 3; i++)
		sample("abcd", me);
	sample("axc", me);
	sample("yz", me);
	assert_int_equal(live_tick(l, 1), 0);
	sample("abcd", me);
	assert_int_equal(live_tick(l, 1), 0);
	assert_int_equal(browse_refresh(&b), 0);
	press(&b, '/');
	press(&b, 'c');
	press(&b, KEY_ENTER);
	press(&b, KEY_ENTER);
	print_tree(&b, before, sizeof(before));
	assert_string_equal(before, "1b:4 2a:4 1x:1 2a:1 ");
	condense(4, &b);
	print_tree(&b, after, sizeof(after));
	assert_string_equal(after, "1b:4 2a:4 1[rare code]:1 2a:1 ");
	assert_row("[rare code]", 0, 0, 1, 2);
	press(&b, KEY_ESCAPE);
	assert_int_equal(t.rows.n, 2); /* names that have a c */
	browse_fini(&b);
	table_fini(&t);
}

static void test_sort_and_filter(void **state)
{
	uint32_t me = who("1", "1", "held");
	_cleanup_str_ struct str name = {};
	struct table t;

	table_init(&t, l);
	sample("ab", me);
	sample("ab", me);
	sample("ac", me);
	assert_int_equal(live_tick(l, 1), 0);
	assert_true(table_sort(&t, "name"));
	assert_int_equal(table_refresh(&t), 0);
	table_name(&t, &l->rows.v[t.rows.v[0]], &name);
	assert_string_equal(str_cstr(&name), "a (app.py:1)");
	assert_true(table_sort(&t, "self"));
	assert_int_equal(table_refresh(&t), 0);
	assert_ptr_equal(&l->rows.v[t.rows.v[0]], row("b"));
	snprintf(t.filter, sizeof(t.filter), "C (APP");
	assert_int_equal(table_refresh(&t), 0);
	assert_int_equal(t.rows.n, 1);
	assert_false(table_sort(&t, "share"));
	table_fini(&t);
}

/*
 * Tables of code (functions, lines) are sorted by one column, tables of threads and processes by
 * another. Each kind keeps its column while a table of the other kind is shown.
 */
static void test_orders(void **state)
{
	struct table t;

	table_init(&t, l);
	assert_true(table_sort(&t, "total"));
	table_switch(&t, LIVE_THREADS);
	assert_string_equal(t.sort->name, "cpu");
	assert_true(table_sort(&t, "name"));
	table_switch(&t, LIVE_LINES);
	assert_string_equal(t.sort->name, "total");
	assert_false(t.ascending);
	table_switch(&t, LIVE_PROCESSES);
	assert_string_equal(t.sort->name, "name");
	assert_true(t.ascending);
	table_fini(&t);
	table_init(&t, l);
	assert_string_equal(t.sort->name, "cpu");
	table_switch(&t, LIVE_FUNCTIONS);
	assert_string_equal(t.sort->name, "self");
	table_fini(&t);
}

static void assert_fits_by(int (*fit)(struct str *, const char *, int, bool), const char *s,
			   int width, bool utf8, const char *shown)
{
	_cleanup_str_ struct str out = {};
	int n = fit(&out, s, width, utf8);

	assert_string_equal(str_cstr(&out), shown);
	assert_int_equal(n, text_width(shown, true));
	assert_true(n <= width);
}

static void assert_fits(const char *s, int width, bool utf8, const char *shown)
{
	assert_fits_by(text_fit, s, width, utf8, shown);
}

static void assert_frame_fits(const char *s, int width, const char *shown)
{
	assert_fits_by(text_fit_frame, s, width, true, shown);
}

static void test_text(void **state)
{
	assert_fits("plain", 10, true, "plain");
	assert_fits("\033[2J", 10, true, "?[2J");
	assert_fits("\xe4\xb8\xad\xe6\x96\x87", 3, true, "\xe4\xb8\xad");
	assert_fits("\xe4\xb8\xad", 3, false, "?");
	assert_fits("e\xcc\x81", 1, true, "e\xcc\x81");
	assert_fits("\xe2\x80\xaeliame", 8, true, "?liame");
	assert_fits("\xff\xc2", 8, true, "??");
	assert_fits("function_with_a_name (a.py:12)", 20, true, "function_… (a.py:12)");
	assert_fits("x", 0, true, "");
	assert_frame_fits("Worker.run (srv/a.py:12)", 24, "Worker.run (srv/a.py:12)");
	assert_frame_fits("Worker.run (srv/a.py:12)", 21, "Worker.run (…a.py:12)");
	assert_frame_fits("Worker.run (srv/a.py:12)", 18, "Worker.run (…y:12)");
	assert_frame_fits("Worker.run (srv/a.py:12)", 17, "Worker.run");
	assert_frame_fits("Worker.handle (srv/a.py:12)", 12, "Worke…handle");
	assert_frame_fits("f(int) const (my (1)/x.so)", 24, "f(int) const (…(1)/x.so)");
	assert_frame_fits("operator() (libz.so)", 12, "operator()");
	assert_frame_fits("no place at all", 12, "no pl…at all");
}

/* No line that krait sends is wider than the screen, and krait sends only what changed. */
static void test_screen(void **state)
{
	struct screen s = {.utf8 = true};
	_cleanup_str_ struct str first = {}, second = {};

	assert_int_equal(screen_resize(&s, 2, 5), 0);
	for (int i = 0; i < 2; i++) {
		screen_clear(&s);
		screen_put(&s, STYLE_BOLD, "abc", -1);
		screen_put(&s, STYLE_PLAIN, "defgh", -1);
		screen_at(&s, 7);
		screen_put(&s, STYLE_PLAIN, "nowhere", -1);
		screen_update(&s, i ? &second : &first);
	}
	assert_string_equal(str_cstr(&first), "\033[1;1H\033[1mabc\033[0mde\033[0m\033[2;1H\033[K");
	assert_int_equal(second.n, 0);
	screen_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_intervals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits, setup_waits, teardown),
		cmocka_unit_test_setup_teardown(test_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_columns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nameless_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modules, setup, teardown),
		cmocka_unit_test_prestate_setup_teardown(test_by, setup, teardown, (void *)&by_gil),
		cmocka_unit_test_setup_teardown(test_hidden_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(test_condense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_condense_stacks, setup, teardown),
		cmocka_unit_test_prestate_setup_teardown(test_condense_filtered, setup, teardown,
							 (void *)&only_b),
		cmocka_unit_test_setup_teardown(test_condense_undone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_condense_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sort_and_filter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_orders, setup, teardown),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
