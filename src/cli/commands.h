/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of krait. Each is defined in the folder that is named after it. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options/options.h"

/*
 * These values of option_row.complete stand for lists of words. COMPLETE_FORMAT: the names of all
 * formats.
 */
#define COMPLETE_FORMAT "<format>"
/*
 * COMPLETE_REPORT_FORMAT: the names of all formats, and of the formats that only `krait report`
 * writes
 */
#define COMPLETE_REPORT_FORMAT "<report>"
#define COMPLETE_EVENT	       "<event>"

extern const struct command command_record;
extern const struct command command_top;
extern const struct command command_dump;
extern const struct command command_mcp;
extern const struct command command_agent;
extern const struct command command_attach;
extern const struct command command_run;
extern const struct command command_py_spy;
extern const struct command command_last;
extern const struct command command_report;
extern const struct command command_merge;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_completion;
extern const struct command command_help;
extern const struct command command_man;
extern const struct command command_version;
extern const struct command command_version_line; /* the command that `krait --version` runs */

#endif
