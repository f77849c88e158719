/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait agent serve`: answers queries of users who can't read the store, and of Prometheus.
 */
#include "agent/serve/serve.h"

#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/agent/agent.h"
#include "cli/exit.h"
#include "cli/options/values.h"
#include "query/query.h"
#include "store/store.h"

#define FIELD(f) offsetof(struct serve_options, f)

static int run(const struct command *self, int argc, char **argv)
{
	struct serve_options o = {.store = STORE_DIRECTORY, .socket = QUERY_SOCKET};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (!serve(&o))
		return EXIT_DONE;
	log_error("%s", error_words());
	return EXIT_FAILED;
}

static const struct option_row rows[] = {
	AGENT_ROW_STORE("The server", FIELD(store)),
	{.name = "socket",
	 .arg = "PATH",
	 .set = value_string,
	 .field = FIELD(socket),
	 .initial = QUERY_SOCKET,
	 .complete = COMPLETE_FILE,
	 .help = "the socket to listen at; its directory is made if it isn't there"},
	{.name = "idle",
	 .arg = "TIME",
	 .set = value_time,
	 .field = FIELD(idle_ns),
	 .initial = "0, never",
	 .help = "end if nobody asks for this long; for a server that systemd starts"},
	{.name = "metrics",
	 .arg = "ADDRESS:PORT",
	 .set = value_string,
	 .field = FIELD(metrics),
	 .help = "also answer GET /metrics at this address of the machine itself, such as "
		 "127.0.0.1:9873"},
	{.name = "token-file",
	 .arg = "FILE",
	 .set = value_string,
	 .field = FIELD(token_file),
	 .complete = COMPLETE_FILE,
	 .help = "clients that send the token in this file get all metrics, others only those of "
		 "the agent"},
	OPTION_HELP,
	{},
};

const struct command command_agent_serve = {
	.name = "agent serve",
	.summary = "Answer questions about the store. Root sees all; other users see their own.",
	.synopsis = (const char *const[]){"agent serve [OPTIONS]", NULL},
	.rows = rows,
	.run = run,
};
