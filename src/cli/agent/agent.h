/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands that follow the word `krait agent`. Each is defined in a file of this folder. */
#ifndef CLI_AGENT_AGENT_H
#define CLI_AGENT_AGENT_H

#include "cli/commands.h"

extern const struct command command_agent_check;
extern const struct command command_agent_export;
extern const struct command command_agent_mark;
extern const struct command command_agent_run;
extern const struct command command_agent_serve;
extern const struct command command_agent_status;

#endif
