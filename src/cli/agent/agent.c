/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait agent COMMAND`: finds the command that the word after `agent` names, and runs it. */
#include "cli/agent/agent.h"

#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/exit.h"

static const struct command *const agent_commands[] = {
	&command_agent_run,
	&command_agent_check,
	&command_agent_status,
	&command_agent_serve,
	&command_agent_mark,
	&command_agent_export,
	NULL,
};

static const struct command *find(const char *word)
{
	for (const struct command *const *c = agent_commands; *c; c++)
		if (streq(command_word(*c), word))
			return *c;
	return NULL;
}

static void list(struct str *b)
{
	for (const struct command *const *c = agent_commands; *c; c++)
		str_addf(b, "%s%s",
			 c == agent_commands ? ""
			 : c[1]		     ? ", "
					     : " or ",
			 command_word(*c));
}

static int run(const struct command *self, int argc, char **argv)
{
	const struct command *c = argc ? find(argv[0]) : NULL;
	_cleanup_str_ struct str names = {};
	struct operands operands;
	int r;

	if (c)
		return c->run(c, argc - 1, argv + 1);
	r = options_read(self, argc, argv, NULL, &operands);
	if (r >= 0)
		return r;
	list(&names);
	if (operands.operand)
		log_error("there is no command `krait agent %s`; the commands are %s",
			  operands.operand, str_cstr(&names));
	else
		log_error("say what the agent is to do: krait agent %s", str_cstr(&names));
	return EXIT_USAGE;
}

static const struct option_row rows[] = {OPTION_HELP, {}};

const struct command command_agent = {
	.name = "agent",
	.summary = "Record all the time, for questions that are asked afterwards.",
	.synopsis = (const char *const[]){"agent COMMAND", NULL},
	.rows = rows,
	.commands = agent_commands,
	.operand = "COMMAND",
	.run = run,
};
