/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what --help shows, from the tables of options.h. */
#ifndef CLI_OPTIONS_HELP_H
#define CLI_OPTIONS_HELP_H

#include "cli/options/options.h"

void help_overview(FILE *out);
void help_command(FILE *out, const struct command *c);

/*
 * Returns the heading of the group to which option @row belongs. The heading may be in an earlier
 * row, so call this for each row in order, with the same @group.
 */
const char *help_group(const struct option_row *row, const char **group);

#endif
