/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the output of --help from the tables of options.h. */
#ifndef CLI_OPTIONS_HELP_H
#define CLI_OPTIONS_HELP_H

#include "cli/options/options.h"

void help_overview(FILE *out);
void help_command(FILE *out, const struct command *c);

/*
 * Returns the heading under which option @row stands in --help. The heading may be in an earlier
 * row, so call this for each row in order, with the same @group.
 */
const char *help_group(const struct option_row *row, const char **group);

#endif
