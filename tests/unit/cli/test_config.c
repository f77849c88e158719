/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration files of `krait record`: what they set, which file overrides which, and with which
 * message a faulty file is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "cli/commands.h"
#include "cli/config/config.h"
#include "cli/record/record.h"

static char dir[] = "/tmp/krait-config-XXXXXX";
static char path[64];
static struct record_options o;
static struct config c;

static int setup(void **state)
{
	record_options_init(&o);
	config_init(&c, &command_record, &o);
	return 0;
}

static int teardown(void **state)
{
	config_fini(&c);
	record_options_fini(&o);
	return 0;
}

static void again(void)
{
	teardown(NULL);
	setup(NULL);
}

static int setup_group(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/agent.conf", dir);
	return 0;
}

/* Removes the configuration files of the test before. */
static int setup_files(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/agent.conf*", dir);
	return system(command) ?: setup(state);
}

static int teardown_group(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void write_file(const char *name, const char *text, size_t n, mode_t mode)
{
	char file[128];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text), 0644);
}

static int load(char **argv)
{
	struct operands operands;
	int argc = 0;

	while (argv && argv[argc])
		argc++;
	return config_load(&c, path, argc, argv, &operands);
}

static void read_text(const char *text)
{
	again();
	assert_int_equal(config_read_text(&c, "a.conf", text, strlen(text)), 0);
}

static void assert_fault(const char *text, const char *words)
{
	read_text(text);
	assert_int_equal(c.faults.n, 1);
	assert_string_equal(c.faults.v[0], words);
	assert_int_equal(c.settings.n, 0);
}

static void test_lines(void **state)
{
	read_text("# a comment\n\n  frequency\t99   # another\nwall\r\ncomm=a#b\n"
		  "comm = \"two words # \\\"\\\\\" # third\nadd-label k=v w");
	assert_int_equal(c.faults.n, 0);
	assert_int_equal(c.settings.n, 5);
	assert_int_equal(o.session.freq_hz, 99);
	assert_true(o.session.wall);
	assert_int_equal(o.session.comms.n, 2);
	assert_string_equal(o.session.comms.v[0], "a#b");
	assert_string_equal(o.session.comms.v[1], "two words # \"\\");
	assert_string_equal(o.session.labels.v[0].value, "v w");
	assert_int_equal(c.settings.v[4].line, 7);
}

#define NOT_TEXT                                                                                   \
	"a.conf:1: the line isn't text: it has bytes that aren't UTF-8, or characters that can't " \
	"be shown"

static void test_what_is_wrong(void **state)
{
	assert_fault("\nwall yes # no", "a.conf:2: wall takes no value");
	assert_fault("frequncy 9",
		     "a.conf:1: unknown option 'frequncy'; did you mean 'frequency'?");
	assert_fault("F 9", "a.conf:1: unknown option 'F'; did you mean 'frequency'?");
	assert_fault("zzzzzzzz", "a.conf:1: unknown option 'zzzzzzzz'; `krait record --help` lists "
				 "them");
	assert_fault("-", "a.conf:1: unknown option '-'; `krait record --help` lists them");
	assert_fault("--wall", "a.conf:1: write 'wall' without dashes");
	assert_fault("help", "a.conf:1: 'help' is for the command line only");
	assert_fault("frequency", "a.conf:1: frequency needs a value: frequency HZ");
	assert_fault("comm \"a", "a.conf:1: the value has no \" at its end, or text follows it");
	assert_fault("comm \"a\" b",
		     "a.conf:1: the value has no \" at its end, or text follows it");
	assert_fault("comm \"\"", "a.conf:1: comm: the value is empty");
	assert_fault("frequency 0",
		     "a.conf:1: frequency: '0' is not a frequency; write samples per second from 1 "
		     "to 1000000, as in 999");
	assert_fault("comm \xff", NOT_TEXT);
	assert_fault("comm \x1b[1m", NOT_TEXT);
	assert_fault("comm a\u202eb", NOT_TEXT);
}

/*
 * All faults of a file are reported together, in their order. The lines without a fault still have
 * their effect.
 */
static void test_all_faults(void **state)
{
	read_text("rte 9\nwall\ncount x\n");
	assert_int_equal(c.faults.n, 2);
	assert_true(str_starts(c.faults.v[0], "a.conf:1: "));
	assert_true(str_starts(c.faults.v[1], "a.conf:3: count: "));
	assert_true(o.session.wall);
}

static void test_faults_are_bounded(void **state)
{
	_cleanup_str_ struct str text = {};

	for (int i = 0; i < 1000; i++)
		str_add(&text, "rte\n");
	read_text(str_cstr(&text));
	assert_int_equal(c.faults.n, CONFIG_FAULTS);
	assert_int_equal(c.more_faults, 1000 - CONFIG_FAULTS);
}

static void assert_origin(const char *name, const char *words)
{
	_cleanup_str_ struct str origin = {}, wanted = {};
	const struct option_row *row = command_record.rows;

	while (!streq(row->name, name))
		row++;
	config_origin(&c, row, &origin);
	if (strchr(words, ':'))
		str_addf(&wanted, "%s/", dir);
	str_add(&wanted, words);
	assert_string_equal(str_cstr(&origin), str_cstr(&wanted));
}

/*
 * The order of settings, where a later setting overrides an earlier one: the file, the files of the
 * directory sorted by name, the command line.
 */
static void test_order(void **state)
{
	char *argv[] = {"--comm", "c", "-d3", NULL};
	char name[128];

	write_text("agent.conf", "frequency 1\nwall\ncomm a\nduration 1\n");
	snprintf(name, sizeof(name), "%s.d", path);
	assert_int_equal(mkdir(name, 0755), 0);
	write_text("agent.conf.d/20-b.conf", "frequency 3\n");
	write_text("agent.conf.d/10-a.conf", "\nfrequency 2\ncomm b\n");
	write_text("agent.conf.d/30.conf~", "frequency 4\n");
	write_text("agent.conf.d/.hidden.conf", "frequency 5\n");
	again();
	assert_int_equal(load(argv), 0);
	assert_int_equal(o.session.freq_hz, 3);
	assert_int_equal(o.session.duration_ns, 3 * NSEC_PER_SEC);
	assert_int_equal(o.session.comms.n, 3);
	assert_string_equal(o.session.comms.v[1], "b");
	assert_string_equal(o.session.comms.v[2], "c");
	assert_origin("frequency", "agent.conf.d/20-b.conf:1");
	assert_origin("wall", "agent.conf:2");
	assert_origin("duration", "command line");
	assert_origin("count", "default");
}

static void test_missing_file(void **state)
{
	assert_int_equal(config_read_files(&c, "/tmp/krait-config-none/agent.conf", false), 0);
	assert_int_equal(c.faults.n, 0);
	assert_int_equal(config_read_files(&c, "/tmp/krait-config-none/agent.conf", true), 0);
	assert_int_equal(c.faults.n, 1);
	assert_string_equal(c.faults.v[0], "can't read /tmp/krait-config-none/agent.conf: No such "
					   "file or directory");
}

static void assert_refused(const char *words)
{
	again();
	assert_int_equal(load(NULL), -EINVAL);
	assert_int_equal(c.faults.n, 1);
	if (!strstr(c.faults.v[0], words))
		fail_msg("\"%s\" doesn't say \"%s\"", c.faults.v[0], words);
}

static void test_refused_files(void **state)
{
	static char big[CONFIG_BYTES + 1];

	memset(big, '\n', sizeof(big));
	write_file("agent.conf", big, CONFIG_BYTES, 0600);
	again();
	assert_int_equal(load(NULL), 0);
	write_file("agent.conf", big, sizeof(big), 0600);
	assert_refused("agent.conf is too big: it has 65537 bytes, and may have 65536");
	write_file("agent.conf", "wall\n", 5, 0646);
	assert_refused("agent.conf can be written by others");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused("agent.conf isn't a regular file");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_refused("agent.conf isn't a regular file");
	rmdir(path);
	write_text("agent.conf", "wall\n");
	assert_int_equal(chmod(dir, 0777), 0);
	assert_refused("where users other than root can replace it");
	assert_int_equal(chmod(dir, 01777), 0);
	again();
	assert_int_equal(load(NULL), 0);
	assert_int_equal(chmod(dir, 0700), 0);
}

static void test_other_owner(void **state)
{
	if (geteuid()) {
		print_message("SKIP test_other_owner: not root\n");
		return;
	}
	write_text("agent.conf", "wall\n");
	assert_int_equal(chown(path, 12345, 0), 0);
	assert_refused("agent.conf belongs to user 12345");
	assert_int_equal(chown(path, 0, 12345), 0);
	assert_int_equal(chmod(path, 0664), 0);
	assert_refused("agent.conf can be written by others");
}

/*
 * If two settings are valid alone but not together, the message says for each of them where it was
 * made.
 */
static void test_blame(void **state)
{
	char *argv[] = {"--count", "1M", NULL};
	_cleanup_str_ struct str wanted = {};

	write_text("agent.conf", "frequency 99\n");
	assert_int_equal(load(argv), 0);
	assert_int_equal(record_options_check(&o), -EINVAL);
	assert_int_equal(config_blame(&c), -EINVAL);
	str_addf(&wanted,
		 "--frequency and --count exclude each other; keep one (frequency: %s:1; "
		 "count: command line)",
		 path);
	assert_string_equal(c.faults.v[0], str_cstr(&wanted));
}

/* The printed configuration, read as a configuration file, has the same settings. */
static void test_print(void **state)
{
	_cleanup_free_ char *text = NULL, *copy = NULL;
	size_t n;
	FILE *out;

	read_text("comm \" a #b\\\\\"\nfrequency 5\nfrequency 7\nwall\ncomm x\n");
	out = open_memstream(&text, &n);
	config_print(&c, out);
	fclose(out);
	assert_non_null(strstr(text, "\nfrequency 7                      # a.conf:3\n"));
	assert_non_null(strstr(text, "\n# native: leaf                   # default\n"));
	copy = strdup(text);
	read_text(copy);
	assert_int_equal(c.faults.n, 0);
	assert_int_equal(c.settings.n, 4);
	assert_int_equal(o.session.freq_hz, 7);
	assert_string_equal(o.session.comms.v[0], " a #b\\");
	assert_string_equal(o.session.comms.v[1], "x");
}

static void note_change(void *ctx, const struct option_row *row)
{
	str_addf(ctx, "%s ", row->name);
}

static void assert_changes(const char *text, const char *names)
{
	_cleanup_(config_fini) struct config after;
	_cleanup_(record_options_fini) struct record_options fields;
	_cleanup_str_ struct str met = {};

	record_options_init(&fields);
	config_init(&after, &command_record, &fields);
	assert_int_equal(config_read_text(&after, "b.conf", text, strlen(text)), 0);
	config_changes(&c, &after, note_change, &met);
	assert_string_equal(str_cstr(&met), names);
}

static void test_changes(void **state)
{
	read_text("frequency 1\ncomm a\ncomm b\nwall\nfrequency 9\n");
	assert_changes("wall\ncomm a\nfrequency 9\ncomm b\n", "");
	assert_changes("frequency 9\ncomm b\ncomm a\nwall", "comm ");
	assert_changes("frequency 1\ncomm a\nwall", "comm frequency ");
	assert_changes("", "comm frequency wall ");
}

/*
 * Reading the configuration doesn't change the words of the command line, so they can be read
 * again.
 */
static void test_command_line_stays(void **state)
{
	char *argv[] = {"--wall", "-F", "5", NULL};

	assert_int_equal(load(argv), 0);
	again();
	assert_int_equal(load(argv), 0);
	assert_int_equal(o.session.freq_hz, 5);
	assert_true(o.session.wall);
	argv[0] = "--wll";
	again();
	assert_int_equal(load(argv), -EINVAL);
	assert_int_equal(c.faults.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_wrong, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_all_faults, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_faults_are_bounded, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_missing_file, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_refused_files, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_other_owner, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_blame, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_print, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_changes, setup_files, teardown),
		cmocka_unit_test_setup_teardown(test_command_line_stays, setup_files, teardown),
	};

	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
