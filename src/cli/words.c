/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes messages and the progress line to standard error; see words.h. */
#include "cli/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/system/log.h"

static bool progress_shown;

static void erase_progress(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	progress_shown = false;
}

static void say(enum log_level level, const char *text)
{
	static const char *const prefix[] = {"error: ", "warning: ", "", "", ""};

	/* locks stderr, so that lines of several threads don't mix */
	flockfile(stderr);
	erase_progress();
	fprintf(stderr, "krait: %s%s\n", prefix[level], text);
	funlockfile(stderr);
}

bool words_show_progress(void)
{
	const char *term = getenv("TERM"); /* a terminal with TERM=dumb can't erase a line */

	return isatty(STDERR_FILENO) && !(term && streq(term, "dumb"));
}

static void progress(const char *text)
{
	if (!words_show_progress())
		return;
	flockfile(stderr);
	erase_progress();
	if (text) {
		fputs(text, stderr);
		fflush(stderr);
		progress_shown = true;
	}
	funlockfile(stderr);
}

void words_begin(void)
{
	static const struct log_sink sink = {.say = say, .progress = progress};

	log_set_sink(&sink);
}
