/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the options that choose what is shown; see view_options.h. */
#include "cli/options/view_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "unwind.h"
#include "view/waits/waits.h"
#include "view/wall.h"

int view_value_pattern(void *field, const char *text)
{
	pattern_texts *list = field;
	int r = *text ? pattern_check(text) : err_set(-EINVAL, "the value is empty");

	return r ? r : vec_push(list, text);
}

int view_value_label(void *field, const char *text)
{
	pattern_texts *list = field;
	const char *equals = strchr(text, '=');
	int r;

	if (!equals || equals == text)
		return err_set(-EINVAL,
			       "'%s' is not a label; write KEY=VALUE, KEY=GLOB or "
			       "KEY=/REGEX/",
			       text);
	r = pattern_check(equals + 1);
	return r ? r : vec_push(list, text);
}

int view_value_kind(void *field, const char *text)
{
	int kind = view_kind_by_word(text);

	if (kind < 0)
		return kind;
	*(unsigned *)field |= 1u << kind;
	return 0;
}

int view_value_state(void *field, const char *text)
{
	_cleanup_str_ struct str known = {};

	if (waits_is_state(text))
		return vec_push((pattern_texts *)field, text);
	waits_add_known(&known);
	return err_set(-EINVAL, "'%s' is not a state; there are %s", text, str_cstr(&known));
}

int view_value_package(void *field, const char *text)
{
	bool begins = true;

	for (const char *s = text; *s || begins; s++) {
		bool letter = isalpha((unsigned char)*s) || *s == '_' || *s & 0x80;

		if (!letter && (begins || (*s != '.' && !isdigit((unsigned char)*s))))
			return err_set(-EINVAL, "'%s' is not a package; write shop or company.shop",
				       text);
		begins = *s == '.';
	}
	return vec_push((pattern_texts *)field, text);
}

int view_value_lines(void *field, const char *text)
{
	*(enum view_grain *)field = VIEW_LINES;
	return 0;
}

int view_value_functions(void *field, const char *text)
{
	*(enum view_grain *)field = VIEW_FUNCTIONS;
	return 0;
}

int view_value_modules(void *field, const char *text)
{
	*(enum view_grain *)field = VIEW_MODULES;
	return 0;
}

int view_value_until(void *field, const char *text)
{
	int r = value_time(field, text);

	if (!r && !*(uint64_t *)field)
		return err_set(-EINVAL, "nothing is before the start of the recording; leave the "
					"option out to show all");
	return r;
}

int view_value_native(void *field, const char *text)
{
	static const enum view_native of[] = {[NATIVE_MODE_NONE] = VIEW_NATIVE_NONE,
					      [NATIVE_MODE_LEAF] = VIEW_NATIVE_LEAF,
					      [NATIVE_MODE_FULL] = VIEW_NATIVE_FULL};
	enum native_mode mode;
	int r = value_native(&mode, text);

	if (!r)
		*(enum view_native *)field = of[mode];
	return r;
}

int view_value_rows(void *field, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 1 || n > 1000000)
		return err_set(-EINVAL, "'%s' is not a number of rows from 1 to 1000000", text);
	*(unsigned *)field = (unsigned)n;
	return 0;
}

int view_options_check(const struct view_options *o)
{
	if (o->until_ns && o->until_ns <= o->since_ns)
		return err_set(-EINVAL, "--until is not later than --since; nothing is between");
	return 0;
}

void view_options_warn_of(const struct unmatched *u)
{
	for (size_t i = 0; i < u->list.n; i++) {
		_cleanup_str_ struct str words = {};

		if (unmatched_words(u, i, &words))
			log_warn("--%s", str_cstr(&words));
	}
}

int view_options_warn(const struct view_options *o, struct profile *p)
{
	_cleanup_(unmatched_fini) struct unmatched u = {};
	int r = unmatched_init(&u, o);

	r = r ? r : unmatched_look(&u, p);
	if (!r)
		view_options_warn_of(&u);
	return r;
}

void view_say_unknown(const char *package)
{
	if (package)
		log_warn("--mine %s: no code of such a package is in the profile", package);
}

const char *view_by_heading(const char *by, const char *value)
{
	if (streq(by, "waiter") && streq(value, "lock_blame"))
		return "waiter (threads that waited for a lock)";
	if (!streq(by, "gil"))
		return by;
	if (is_wall(value))
		return by;
	if (streq(value, "gil_blame"))
		return "gil (threads that others waited for)";
	return streq(value, "off_cpu") || streq(value, "gil_wait")
		       ? "gil (waiting threads)"
		       : "gil (running threads only; waiting threads have no samples)";
}
