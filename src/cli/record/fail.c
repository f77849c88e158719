/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints error messages of recordings that failed, and chooses the exit codes; see fail.h. */
#include "cli/record/fail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/doctor/doctor.h"
#include "cli/exit.h"

_Static_assert((int)EXIT_FAILED == SPAWN_FAILED, "exit.h and spawn.h must have equal codes");
_Static_assert((int)EXIT_NOT_RUNNABLE == SPAWN_NOT_RUNNABLE,
	       "exit.h and spawn.h must have equal codes");
_Static_assert((int)EXIT_NOT_FOUND == SPAWN_NOT_FOUND, "exit.h and spawn.h must have equal codes");

int fail_code(int r)
{
	switch (-r) {
	case EPERM:
	case EACCES:
	case ENOSYS:
		return EXIT_RIGHTS;
	}
	return EXIT_FAILED;
}

static void say_with_advice(const struct session *s)
{
	if (s->advice == SESSION_ADVICE_CHILDREN)
		log_error("%s; leave out --no-children to record its child processes too",
			  error_words());
	else if (s->advice == SESSION_ADVICE_ANOTHER)
		log_error("%s; `krait record` without -p records all processes that run Python",
			  error_words());
	else if (s->spawn.advice == SPAWN_ADVICE_INTERPRETER)
		log_error("%s; write -- python3 %s", error_words(), s->spawn.name);
	else if (s->spawn.advice == SPAWN_ADVICE_PATH)
		log_error("%s; write its path after --", error_words());
	else
		log_error("%s", error_words());
}

int fail(const struct session *s, int code)
{
	say_with_advice(s);
	return code;
}

int fail_refused(const struct session *s, enum color_mode color, int code)
{
	(void)fail(s, code);
	if (code == EXIT_RIGHTS && (s->rights.uid == 0 || !rights_check(&s->rights)))
		doctor_explain(color);
	return code;
}

static void say_broken_off(void)
{
	log_error("%s; krait shows what it had recorded before that", error_words());
}

int fail_stop(struct session *s, int before)
{
	int r;

	if (before < 0)
		say_broken_off();
	r = session_stop(s);
	if (before >= 0 && r)
		say_broken_off();
	return before < 0 ? before : r;
}

int fail_exit_code(const struct session *s, int code)
{
	if (!session_hangs(s))
		return code;
	fflush(NULL);
	_exit(code);
}
