/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In a krait that was built with `make BPF=no`, the commands that look at running programs only say
 * that they are missing. The commands that read files need neither BPF nor its build tools.
 */
#include "base/system/log.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/parts.h"

static const struct option_row no_options[] = {OPTION_HELP, {}};

static int run(const struct command *self, int argc, char **argv)
{
	log_error(
		"this krait was built without BPF (make BPF=no) and has no %s; it has report, diff "
		"and merge",
		self->name);
	return EXIT_RIGHTS;
}

void parts_add_recording(struct str *ret)
{
}

const char *const *parts_event_names(void)
{
	static const char *const none[] = {NULL};

	return none;
}

#define ABSENT(word) ABSENT_AS(word, #word)
#define ABSENT_AS(word, called)                                                                    \
	const struct command command_##word = {                                                    \
		.name = (called),                                                                  \
		.summary = "Not in this krait, which was built without BPF.",                      \
		.synopsis = (const char *const[]){called, NULL},                                   \
		.rows = no_options,                                                                \
		.takes_command = true,                                                             \
		.run = run,                                                                        \
	}

ABSENT(record);
ABSENT(top);
ABSENT(dump);
ABSENT(doctor);
ABSENT(agent);
ABSENT(man);
ABSENT_AS(py_spy, "py-spy");
ABSENT(attach);
ABSENT(mcp);
ABSENT(run);
