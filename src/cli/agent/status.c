/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait agent status`: what the agent keeps, costs and loses. */
#include "cli/agent/agent.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/values.h"

struct status_options {
	const char *store;
};

static int look(const struct status_options *o)
{
	struct stat st;

	if (!stat(o->store, &st))
		return 0;
	return errno == ENOENT ? err_set(-ENOENT, "no agent has recorded into %s", o->store)
			       : err_sys(-errno, "can't read %s", o->store);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct status_options o = {.store = AGENT_STORE};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (!look(&o))
		return EXIT_DONE;
	log_error("%s", error_words());
	return EXIT_FAILED;
}

static const struct option_row rows[] = {
	{.group = "The store",
	 .name = "store",
	 .arg = "DIR",
	 .set = value_string,
	 .field = offsetof(struct status_options, store),
	 .initial = AGENT_STORE,
	 .complete = COMPLETE_FILE,
	 .help = "the directory that the agent writes to"},
	OPTION_HELP,
	{},
};

const struct command command_agent_status = {
	.name = "agent status",
	.summary = "Say what the agent keeps, costs and loses.",
	.synopsis = (const char *const[]){"agent status [--store DIR]", NULL},
	.rows = rows,
	.run = run,
};
