/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the closing lines that say what a recording of waits lacks. The figures are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "cli/record/closing_lines.h"
#include "record/session.h"
#include "sampler/sources/source.h"

/* Returns how many of the closing lines that are printed without -v contain @words. */
static unsigned lines_with(const struct session_unread *unread, const char *words)
{
	const struct session_options options = {};
	const struct summary m = {};
	struct closing c = {.m = &m};
	struct session *s = calloc(1, sizeof(*s));
	unsigned n = 0;

	assert_non_null(s);
	s->options = &options;
	s->events = (struct session_events){.v = {{.source = &source_wait}}, .n = 1};
	s->unread = *unread;
	closing_add_waits(s, &c);
	vec_foreach(line, &c.lines)
		n += line->level <= LOG_WARN && strstr(line->text, words);
	closing_fini(&c);
	free(s);
	return n;
}

/* A closing line says how many waits that began before the recording couldn't be read. */
static void test_unread(void **state)
{
	static const struct session_unread none = {}, late = {.late = 7}, full = {.full = 1},
					   all = {.all = true};

	assert_int_equal(lines_with(&none, "missing"), 0);
	assert_int_equal(lines_with(&late, "7 threads waited already"), 1);
	assert_int_equal(lines_with(&late, "would have taken too long"), 1);
	assert_int_equal(lines_with(&full, "1 thread waited already"), 1);
	assert_int_equal(lines_with(&full, "the kernel's table had no room"), 1);
	assert_int_equal(lines_with(&all, "waits that had begun before the recording"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_unread)};

	return cmocka_run_group_tests_name("closing", tests, NULL, NULL);
}
