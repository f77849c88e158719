/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of `krait record`: which options are accepted, which are refused, and with which
 * words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/record/record.h"
#include "format/format.h"

#define MAX_WORDS 16

static struct record_options o;

static int setup(void **state)
{
	record_options_init(&o);
	return 0;
}

static int teardown(void **state)
{
	record_options_fini(&o);
	return 0;
}

/*
 * Parses the command line @line, split at single spaces, into o. Returns the result of
 * options_parse(), or of record_options_check() if that of options_parse() is 0.
 */
static int parse(const char *line)
{
	static char text[256];
	static char *argv[MAX_WORDS];
	struct operands operands;
	int argc = 0, r;

	record_options_fini(&o);
	record_options_init(&o);
	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	r = options_parse(&command_record, argc, argv, &o, &operands);
	if (r)
		return r;
	o.session.cmd = operands.cmd;
	return record_options_check(&o);
}

static void assert_refused(const char *line, const char *words)
{
	assert_int_equal(parse(line), -EINVAL);
	if (!strstr(err_msg(), words))
		fail_msg("'%s': \"%s\" doesn't say \"%s\"", line, err_msg(), words);
}

static void test_nothing_is_the_machine(void **state)
{
	assert_int_equal(parse(""), 0);
	assert_int_equal(o.session.freq_hz, 99);
	assert_int_equal(o.session.duration_ns, 0);
	assert_int_equal(o.session.events.n, 0); /* no event given means cpu-clock */
	assert_ptr_equal(o.format, &render_formats[0]);
	assert_null(o.output);
}

static void test_short_forms(void **state)
{
	assert_int_equal(parse("-p 123 -f -d 10"), 0);
	assert_int_equal(o.session.pids.n, 1);
	assert_int_equal(o.session.pids.v[0], 123);
	assert_int_equal(o.session.duration_ns, 10 * NSEC_PER_SEC);
	assert_int_equal(o.session.freq_hz, 999);
	assert_string_equal(o.format->name, "folded");
	assert_string_equal(o.output, "-");
	assert_int_equal(parse("-fd10s -p7 -p8 -p7 -vv"), 0);
	assert_int_equal(o.session.pids.n, 2);
	assert_int_equal(o.verbose, 2);
}

static void test_command(void **state)
{
	assert_int_equal(parse("-d 2m -- python -c pass -p 1"), 0);
	assert_string_equal(o.session.cmd[0], "python");
	assert_string_equal(o.session.cmd[3], "-p");
	assert_int_equal(o.session.duration_ns, 120 * NSEC_PER_SEC);
	assert_int_equal(o.session.freq_hz, 999);
	assert_int_equal(o.session.pids.n, 0);
}

static void test_long_forms(void **state)
{
	assert_int_equal(parse("--pid=5 --duration=1.5s --frequency=10k --add-label=a=b=c "
			       "--add-label k= --output=x.folded --times"),
			 0);
	assert_int_equal(o.session.duration_ns, 1500 * NSEC_PER_MSEC);
	assert_int_equal(o.session.freq_hz, 10000);
	assert_int_equal(o.session.labels.n, 2);
	assert_int_equal(o.session.labels.v[0].key_len, 1);
	assert_string_equal(o.session.labels.v[0].value, "b=c");
	assert_string_equal(o.session.labels.v[1].value, "");
	assert_string_equal(o.format->name, "folded");
	assert_int_equal(o.times, PROFILE_TIMES_EXACT);
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"10", 10 * NSEC_PER_SEC},	{"10s", 10 * NSEC_PER_SEC},
		{"500ms", 500 * NSEC_PER_MSEC}, {"2m", 120 * NSEC_PER_SEC},
		{"1h", 3600 * NSEC_PER_SEC},	{"0.25", 250 * NSEC_PER_MSEC},
		{"1.5m", 90 * NSEC_PER_SEC},	{"2min", 120 * NSEC_PER_SEC},
	};
	static const char *const bad[] = {"",
					  "x",
					  "10x",
					  "-1",
					  "1e3",
					  "0",
					  "0ms",
					  "1.",
					  ".5",
					  "1..5",
					  "1.5.2",
					  "s",
					  "99999999999999999999",
					  "999999999h",
					  "0x10",
					  "+1",
					  "1,5"};
	char line[64];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(line, sizeof(line), "-d %s", good[i].text);
		assert_int_equal(parse(line), 0);
		assert_int_equal(o.session.duration_ns, good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line), "--duration=%s", bad[i]);
		assert_refused(line, "duration");
	}
}

static void test_bad_values(void **state)
{
	assert_refused("-F 0", "not a frequency");
	assert_refused("-F 1000001", "not a frequency");
	assert_refused("-F abc", "not a frequency");
	assert_refused("-c 0", "not a count");
	assert_refused("-c 5X", "not a count");
	assert_refused("-c 99999999999999999999", "not a count");
	assert_refused("-p 0", "not a process id");
	assert_refused("-p -5", "not a process id");
	assert_refused("-p 1,2", "-p again");
	assert_refused("-p 2147483648", "not a process id");
	assert_refused("-e no-such-event", "cpu-clock");
	assert_refused("--add-label nokey", "KEY=VALUE");
	assert_refused("--add-label =v", "KEY=VALUE");
	assert_refused("--color blue", "auto, always or never");
	assert_refused("-o", "needs a value");
	assert_refused("-o --", "needs a value");
	assert_refused("--folded=yes", "takes no value");
}

static void test_contradictions(void **state)
{
	assert_refused("-p 1 -- ls", "exclude each other");
	assert_refused("-F 9 -c 9", "exclude each other");
	assert_refused("-q -v", "exclude each other");
	assert_refused("-f --format pprof", "exclude each other");
	assert_refused("--comm x -- ls", "only target");
	assert_refused("--no-children", "needs a process");
	assert_refused("--if-permitted -p 1", "needs a command");
	assert_refused("-o -", "standard output has no extension");
	assert_refused("--", "no command follows");
	assert_refused("--open -f", "--open needs a file");
	assert_refused("-f --summary-json -", "mixed on standard output");
	assert_refused("-f -o x.svg", "x.svg is a name for svg");
	assert_refused("-f -o x.pb.gz", "--format folded");
}

/*
 * The labels of waits that --by accepts are those that the error message for an unknown label
 * lists.
 */
static void test_by(void **state)
{
	static const char *const of_waits[] = {"state", "idle", "on", "waiter"};
	char line[64], words[64];

	for (size_t i = 0; i < ARRAY_SIZE(of_waits); i++) {
		snprintf(line, sizeof(line), "--by %s -e wait", of_waits[i]);
		assert_int_equal(parse(line), 0);
		snprintf(line, sizeof(line), "--by %s", of_waits[i]);
		assert_int_equal(parse(line), -EINVAL);
		snprintf(words, sizeof(words), "%s%s", of_waits[i],
			 i < 2	  ? ","
			 : i == 2 ? " and"
				  : ", and");
		assert_refused("--by nonsense -e wait", words);
	}
}

static void test_output(void **state)
{
	assert_int_equal(parse("-o a.folded"), 0);
	assert_int_equal(parse("-o a.weird --format pprof"), 0);
	assert_string_equal(o.format->name, "pprof");
	assert_int_equal(parse("-o a.weird"), -EINVAL);
	assert_int_equal(parse("--format weird"), -EINVAL);
	assert_int_equal(parse("-f -o stacks"), 0);
	assert_string_equal(o.output, "stacks");
	assert_int_equal(parse("-f -o a.txt"), 0);
	assert_int_equal(parse("-f -o a.svg --format folded"), 0);
	assert_string_equal(o.format->name, "folded");
}

static void test_native(void **state)
{
	assert_int_equal(parse(""), 0);
	assert_int_equal(o.session.native, NATIVE_MODE_LEAF);
	assert_true(o.session.kernel);
	assert_int_equal(o.session.unwind_memory, 0);
	assert_int_equal(parse("--native=full --interpreter-frames --native-lines --no-kernel "
			       "--all --unwind-memory=1G"),
			 0);
	assert_int_equal(o.session.native, NATIVE_MODE_FULL);
	assert_true(o.session.interpreter_frames && o.session.native_lines && o.session.all &&
		    !o.session.kernel);
	assert_int_equal(o.session.unwind_memory, 1 << 30);
	assert_int_equal(parse("--native none --no-kernel --kernel -p 1"), 0);
	assert_int_equal(o.session.native, NATIVE_MODE_NONE);
	assert_true(o.session.kernel);
	assert_int_equal(parse("--unwind-memory 8192k"), 0);
	assert_int_equal(o.session.unwind_memory, 8 << 20);
	assert_int_equal(parse("--unwind-memory 4G"), 0);
	assert_int_equal(o.session.unwind_memory, 4ull << 30);
	assert_refused("--unwind-memory 8191k", "8M to 4G");
	assert_refused("--unwind-memory 5G", "8M to 4G");
	assert_refused("--unwind-memory 64MiB", "8M to 4G");
	assert_refused("--unwind-memory 99999999999999999999", "8M to 4G");
	assert_refused("--native=all", "leaf, full or none");
	assert_refused("--interpreter-frames", "say --native=full too");
	assert_refused("--native-lines --native=none", "exclude each other");
	assert_refused("--all --native=none", "leave --native=none out");
	assert_refused("--all -p 1", "--all and --pid exclude");
	assert_refused("--all -- ls", "--all and a command after -- exclude");
}

static void test_annotate(void **state)
{
	assert_int_equal(parse("-f --annotate"), 0);
	assert_true(o.annotate);
	assert_int_equal(parse("-o x.txt --annotate"), 0);
	assert_refused("--annotate", "not with the format html; add -f");
	assert_refused("-o x.pb.gz --annotate", "not with the format pprof; add -f");
}

static void test_unknown_words(void **state)
{
	assert_refused("--frequncy 9", "did you mean --frequency?");
	assert_refused("--dur 9", "did you mean --duration?");
	assert_refused("--zzzzzz", "--help");
	assert_refused("-Z", "--help");
	assert_refused("python app.py", "krait record -- python");
	assert_refused("app.py", "krait record -- python3 app.py");
	assert_int_equal(parse("--help -Z"), OPTIONS_HELP_ASKED);
	assert_int_equal(parse("-fh"), OPTIONS_HELP_ASKED);
}

/* Checks the option tables: no letter or name occurs twice, and every option has a help text. */
static void test_tables(void **state)
{
	for (const struct command *const *c = commands; *c; c++)
		for (const struct option_row *row = (*c)->rows; row->name; row++) {
			assert_non_null(row->help);
			assert_true(row == (*c)->rows ? row->group || !row[1].name : true);
			for (const struct option_row *next = row + 1; next->name; next++) {
				assert_string_not_equal(row->name, next->name);
				assert_true(!row->letter || row->letter != next->letter);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_the_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_command, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_durations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contradictions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by, setup, teardown),
		cmocka_unit_test_setup_teardown(test_output, setup, teardown),
		cmocka_unit_test_setup_teardown(test_native, setup, teardown),
		cmocka_unit_test_setup_teardown(test_annotate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_words, setup, teardown),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
