/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands that follow the words `krait agent`. Each is defined in a file of this folder. */
#ifndef CLI_AGENT_AGENT_H
#define CLI_AGENT_AGENT_H

#include "cli/commands.h"
#include "cli/options/values.h"
#include "store/store.h"

/* clang-format off */
/*
 * The row of option --store, for commands that read what the agent writes. @heading: the option's
 * group in the help.
 */
#define AGENT_ROW_STORE(heading, at)                                                               \
	{.group = (heading),                                                                       \
	 .name = "store", .arg = "DIR", .set = value_string, .field = (at),                        \
	 .initial = STORE_DIRECTORY, .complete = COMPLETE_FILE,                                    \
	 .help = "the directory that the agent writes to"}
/* clang-format on */

extern const struct command command_agent_check;
extern const struct command command_agent_export;
extern const struct command command_agent_mark;
extern const struct command command_agent_run;
extern const struct command command_agent_serve;
extern const struct command command_agent_status;

#endif
