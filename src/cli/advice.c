/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds the names of options, and advice, to error messages of code that knows no options; see
 * advice.h.
 */
#include "cli/advice.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/self.h"
#include "base/text/str.h"

/*
 * What is put before and after an error message that concerns the user's choice called .about. In
 * these texts, % stands for what the user chose, and @ for the name by which sudo runs krait.
 */
static const struct advice {
	const char *about, *before, *after;
} advice[] = {
	{"extension", "", ", or --format"},
	{"format", "--format %: ", ""},
	{"grouping", "--by %: ", ""},
	{"number of a process", "", ": -p %"},
	{"part of the time", "--since and --until: ", ""},
	{"process to dump", "", "; `sudo @ dump -p %` shows it"},
	{"rights", "", ", or once `sudo @ doctor --grant` and then without sudo"},
	{"sides", "", ": --a version=1 --b version=2"},
	{"standard output", "", " with -o"},
	{"turning around", "--invert: ", "; --focus, --hide or --functions makes it smaller"},
	{"value", "--value %: ", ""},
};

static void fill_in(struct str *ret, const char *text, const char *choice)
{
	for (; *text; text++) {
		if (*text == '%')
			str_add(ret, choice);
		else if (*text == '@')
			str_add(ret, self_under_sudo());
		else
			str_add_c(ret, *text);
	}
}

const char *error_words(void)
{
	_cleanup_str_ struct str words = {};
	const char *choice, *about = err_subject(&choice);
	const struct advice *a = advice;

	if (!about)
		return err_msg();
	while (a < advice + ARRAY_SIZE(advice) && !streq(a->about, about))
		a++;
	if (a == advice + ARRAY_SIZE(advice))
		return err_msg();
	fill_in(&words, a->before, choice);
	str_add(&words, err_msg());
	fill_in(&words, a->after, choice);
	/*
	 * Stores the finished message as one that is about no option, so that a second call adds
	 * nothing to it.
	 */
	if (!words.failed)
		(void)err_set(0, "%s", str_cstr(&words));
	return err_msg();
}
