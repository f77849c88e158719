/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests what krait makes of the command lines of java: which interpreter for Python (such as
 * Jython) they run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/interp/image.h"

#define NAME_OF(words) java_python_in(words, sizeof(words) - 1)

static void test_named(void **state)
{
	assert_string_equal(NAME_OF("java\0-jar\0/usr/share/java/jython.jar\0-c\0pass\0"),
			    "Jython");
	assert_string_equal(NAME_OF("java\0-jar\0jython-standalone-2.7.4.jar\0"), "Jython");
	assert_string_equal(NAME_OF("java\0-cp\0a.jar:b.jar\0org.python.util.jython\0x.py"),
			    "Jython");
	assert_string_equal(NAME_OF("java\0com.oracle.graal.python.shell.GraalPythonMain\0"),
			    "GraalPy");
}

static void test_others(void **state)
{
	assert_null(NAME_OF(""));
	assert_null(NAME_OF("java"));
	assert_null(NAME_OF("java\0-jar\0server.jar\0\0"));
	assert_null(NAME_OF("java\0-jar\0server.jar\0jython.txt\0"));
	/* Jython is only in the class path, as in any program that may embed it */
	assert_null(NAME_OF("java\0-cp\0/opt/jython.jar:/opt/app.jar\0com.example.Main\0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests_name("java", tests, NULL, NULL);
}
