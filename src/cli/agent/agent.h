/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands behind `krait agent`. Each is defined in a file of this folder. */
#ifndef CLI_AGENT_AGENT_H
#define CLI_AGENT_AGENT_H

#include "cli/commands.h"

/* where the agent keeps what it records, unless --store names another directory */
#define AGENT_STORE "/var/lib/krait"

extern const struct command command_agent_status;

#endif
