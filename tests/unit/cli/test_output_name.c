/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the names of output files, which krait makes from the names of commands and processes. A
 * process's name may contain any bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "cli/record/output_name.h"
#include "format/format.h"

static void assert_name(char **cmd, const char *wanted)
{
	struct record_options o = {.session.cmd = cmd, .format = &render_formats[0]};
	_cleanup_free_ char *name = NULL, *whole = NULL;

	assert_int_equal(output_name(&o, 0, &name), 0);
	assert_true(asprintf(&whole, "krait-%s-19700101-000000%s", wanted,
			     render_formats[0].extensions[0]) > 0);
	assert_string_equal(name, whole);
}

static void test_names(void **state)
{
	setenv("TZ", "UTC", 1);
	assert_name(NULL, "python");
	assert_name((char *[]){"python", "app.py", NULL}, "app.py");
	assert_name((char *[]){"python3", "-m", "http.server", "80", NULL}, "http.server");
	assert_name((char *[]){"python3.13", "-c", "import this", NULL}, "python3.13-c");
	assert_name((char *[]){"/opt/my tool", NULL}, "my_tool");
	assert_name((char *[]){"**", NULL}, "python");
	assert_name((char *[]){"./a\nb/\x1b[31m;rm -rf *", NULL}, "31m_rm-rf");
	assert_name((char *[]){"", NULL}, "command");
}

static void test_long_name(void **state)
{
	char name[300];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	{
		struct record_options o = {.session.cmd = (char *[]){name, NULL},
					   .format = &render_formats[0]};
		_cleanup_free_ char *made = NULL;

		assert_int_equal(output_name(&o, 0, &made), 0);
		assert_true(strlen(made) < 120);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
