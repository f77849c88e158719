/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait agent check`: checks the agent's configuration, and says where each setting was made. */
#include "base/system/log.h"
#include "cli/agent/agent.h"
#include "cli/agent/options.h"
#include "cli/exit.h"

static int run(const struct command *self, int argc, char **argv)
{
	_cleanup_(agent_options_fini) struct agent_run_options o;
	_cleanup_(config_fini) struct config c;
	int r;

	agent_options_init(&o);
	r = agent_options_read(&c, self, argc, argv, &o);
	if (r >= 0)
		return r;
	if (o.print)
		config_print(&c, stdout);
	else if (!o.record.quiet)
		log_note("nothing is wrong: %zu settings, from %zu files and the command line",
			 c.settings.n, c.files.n);
	return EXIT_DONE;
}

static const struct option_row rows[] = {
	{.group = "The check",
	 .name = "print",
	 .set = value_flag,
	 .field = AGENT_FIELD(print),
	 .in_file = OPTION_TYPED,
	 .help = "print the settings as a configuration file, each with where it was set"},
	CONFIG_ROW(AGENT_FIELD(config), AGENT_CONFIG),
	AGENT_ROWS,
	OPTION_HELP,
	{},
};

const struct command command_agent_check = {
	.name = "agent check",
	.summary = "Check the agent's configuration, and say where each setting is from.",
	.synopsis = (const char *const[]){"agent check [--print] [--config FILE] [OPTIONS]", NULL},
	.rows = rows,
	.run = run,
};
