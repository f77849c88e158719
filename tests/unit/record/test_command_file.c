/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests which file krait expects a command to run in the end. The command is found by PATH; it may
 * be a script, start with env, or be missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "record/command/command_file.h"

struct tree {
	char root[64];
};

/* Makes a file called @name below the test's directory, with the contents @text. */
static void put(struct tree *t, const char *name, const char *text, mode_t mode)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", t->root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fchmod(fileno(f), mode);
	fclose(f);
}

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	char path[128], line[128];

	strcpy(t->root, "/tmp/krait-command-XXXXXX");
	if (!mkdtemp(t->root))
		return -1;
	for (const char *const *d = (const char *const[]){"a", "b", NULL}; *d; d++) {
		snprintf(path, sizeof(path), "%s/%s", t->root, *d);
		mkdir(path, 0755);
	}
	put(t, "b/python",
	    "\x7f"
	    "ELF of b",
	    0755);
	put(t, "a/plain", "no program", 0644);
	put(t, "b/plain",
	    "\x7f"
	    "ELF plain",
	    0755);
	snprintf(line, sizeof(line), "#!%s/b/python -u\nx\n", t->root);
	put(t, "a/script", line, 0755);
	put(t, "a/env", "#!/usr/bin/env python\n", 0755);
	put(t, "a/env-options", "#! /usr/bin/env -S A=b python -u\n", 0755);
	put(t, "a/env-nothing", "#!/usr/bin/env\n", 0755);
	put(t, "a/nothing", "#!\n", 0755);
	put(t, "a/gone", "#!/no/such/interpreter\n", 0755);
	snprintf(line, sizeof(line), "#!%s/a/loop\n", t->root);
	put(t, "a/loop", line, 0755);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;
	char command[128];
	int r;

	snprintf(command, sizeof(command), "rm -rf %s", t->root);
	r = system(command);
	free(t);
	return r;
}

/* Checks that the command @word leads to @file below the test's directory; NULL: to no file. */
static void assert_leads(struct tree *t, const char *word, const char *file)
{
	char search[256], path[PATH_MAX], wanted[256];
	_cleanup_close_ int fd = -1;

	snprintf(search, sizeof(search), "/no/such:%s/a:%s/b", t->root, t->root);
	fd = command_file_open(word, search, path);
	if (!file) {
		assert_true(fd < 0);
		return;
	}
	snprintf(wanted, sizeof(wanted), "%s/%s", t->root, file);
	assert_true(fd >= 0);
	assert_string_equal(path, wanted);
}

static void test_commands(void **state)
{
	struct tree *t = *state;
	char word[256];

	assert_leads(t, "python", "b/python");
	/* a directory earlier in PATH has a file of that name, but it isn't executable */
	assert_leads(t, "plain", "b/plain");
	assert_leads(t, "script", "b/python");
	assert_leads(t, "env", "b/python");
	assert_leads(t, "env-options", "b/python");
	snprintf(word, sizeof(word), "%s/a/script", t->root);
	assert_leads(t, word, "b/python");
}

static void test_nowhere(void **state)
{
	struct tree *t = *state;
	char long_word[PATH_MAX + 10];

	assert_leads(t, "none", NULL);
	assert_leads(t, "", NULL);
	assert_leads(t, "/", NULL);
	assert_leads(t, "env-nothing", NULL);
	assert_leads(t, "nothing", NULL);
	assert_leads(t, "gone", NULL);
	assert_leads(t, "loop", NULL);
	memset(long_word, 'x', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	assert_leads(t, long_word, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nowhere, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
